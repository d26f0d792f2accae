"""``ontolink train retriever`` with ``kind = "ngrams"``: no model to start from, and pipelines that need no torch."""

import json
from pathlib import Path

import pytest
import spacy

pytest.importorskip("torch")

from spacy_ontolink.encoders.learned import make_ngram_encoder

CONFIG = Path(__file__).parents[2] / "configs" / "train_ngrams.cfg"


@pytest.fixture
def train(ontolink, toy, tmp_path):
    """Train on the toy ontology into a folder of ``tmp_path``."""

    def run(*arguments, out="model"):
        paths = ["--output", tmp_path / out, "--paths.ontology", toy, "--model.dimensions", "16"]
        return ontolink("train", "retriever", CONFIG, *paths, *arguments)

    return run


@pytest.mark.parametrize("hybrid", [[], ["--hybrid"]], ids=["alone", "hybrid"])
def test_from_nothing_to_a_pipeline(ontolink, train, toy, tmp_path, hybrid):
    result = train()
    assert result.code == 0, result.err
    assert f"--encoder {tmp_path / 'model'}" in result.out
    result = ontolink("build", toy, tmp_path / "out", "--encoder", tmp_path / "model", *hybrid)
    assert result.code == 0, result.err
    nlp = spacy.load(tmp_path / "out")
    doc = nlp.make_doc("percentage of fat")
    doc.ents = [doc.char_span(0, 17, label="X")]
    assert nlp(doc).ents[0].kb_id_ == "T:1"
    config = (tmp_path / "out" / "config.cfg").read_text("utf-8")
    assert "spacy-ontolink.NgramEncoder.v1" in config
    assert str(tmp_path) not in config


def test_pairs_go_on_from_names(train, corpus, tmp_path):
    result = train("--pairs", corpus)
    assert result.code == 0, result.err
    assert make_ngram_encoder(str(tmp_path / "model")).load().size
    assert (tmp_path / "model" / "alignment.jsonl").is_file()
    result = train("--model.base", tmp_path / "model", out="more")
    assert result.code == 0, result.err


def test_annotated_mentions_can_be_learned_as_names(train, tmp_path):
    names = tmp_path / "names.jsonl"
    names.write_text('{"text": "zzyzx", "id": "T:1"}\n', "utf-8")
    sizes = []
    for out, given in (("plain", ()), ("named", ("--data.names", json.dumps([str(names)])))):
        result = train(*given, out=out)
        assert result.code == 0, result.err
        sizes.append(make_ngram_encoder(str(tmp_path / out)).load().size)
    assert sizes[0] < sizes[1]
    config = (tmp_path / "named" / "training.cfg").read_text("utf-8")
    assert '"names.jsonl"' in config
    assert str(tmp_path) not in config
    result = train("--data.names", '["nowhere.jsonl"]', out="none")
    assert result.code == 2
    assert "nowhere.jsonl" in result.err.splitlines()[-1]


def test_a_base_of_another_kind(train, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "config.json").write_text("{}")
    (tmp_path / "other" / "model.safetensors").write_bytes(b"")
    result = train("--model.base", tmp_path / "other")
    assert result.code == 2
    assert "ontolink-ngrams" in result.err.splitlines()[-1]


def test_settings_are_checked(train):
    result = train("--model.dropout", "1")
    assert result.code == 2
    assert "model.dropout" in result.err.splitlines()[-1]
