"""``ontolink train retriever``: folders that encoders take, settings from the command line, and what is refused."""

import json
from pathlib import Path

import pytest
import spacy
from spacy.tokens import Doc, DocBin, Span

pytest.importorskip("torch")
pytest.importorskip("sentence_transformers")

from spacy_ontolink.encoders.bi_encoder import make_bi_encoder
from spacy_ontolink.files import read_json
from spacy_ontolink.types import Mention

CONFIGS = Path(__file__).parents[2] / "configs"
NAMES, TOWERS = CONFIGS / "train_retriever.cfg", CONFIGS / "train_bi_encoder.cfg"
SHORT = ["--model.mention_tokens", "40", "--model.entity_tokens", "40"]


@pytest.fixture
def trained(ontolink, bert, toy, tmp_path):
    """Run a training into ``tmp_path / "model"``."""

    def run(*arguments, config=NAMES, base=bert, out="model"):
        paths = ["--paths.ontology", toy, "--paths.base", base]
        return ontolink("train", "retriever", config, "--output", tmp_path / out, *paths, *arguments)

    return run


@pytest.fixture
def not_trained(trained):
    """Run what must be refused, and return what is said of it."""

    def run(*arguments, **more):
        result = trained(*arguments, **more)
        assert result.code == 2, result.err
        assert "Traceback" not in result.err
        line = result.err.splitlines()[-1]
        assert line.startswith("ontolink: ")
        return line

    return run


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def losses(path):
    return [line["loss"] for line in lines(path)]


def test_both_stages_and_a_pipeline(ontolink, trained, toy, corpus, tmp_path):
    result = trained("--pairs", corpus, "--training.epochs", "2", "--training.learning-rate=1e-3")
    assert result.code == 0, result.err
    out = tmp_path / "model"
    assert f"--encoder {out}" in result.out
    assert "corpus.jsonl: 3 pairs with 2 entities" in result.err
    assert "Left out: 1 mention without an id; 1 mention with ids that the ontology does not have" in result.err
    assert len(lines(out / "log.jsonl")) == 2
    assert len(lines(out / "alignment.jsonl")) == 1
    assert not [path for path in out.iterdir() if path.name.startswith(".")]
    text = (out / "training.cfg").read_text()
    assert "learning_rate = 0.001" in text
    assert 'ontology = "toy.obo"' in text
    assert str(tmp_path) not in text
    built = ontolink("build", toy, tmp_path / "pipeline", "--encoder", out)
    assert built.code == 0, built.err
    nlp = spacy.load(tmp_path / "pipeline")
    doc = nlp.make_doc("milk yield")
    doc.ents = [Span(doc, 0, 2, label="X")]
    assert nlp(doc).ents[0].kb_id_ == "T:2"


def test_alignment_alone(trained, tmp_path):
    result = trained("--alignment.epochs", "3")
    assert result.code == 0, result.err
    assert len(lines(tmp_path / "model" / "log.jsonl")) == 3
    assert (tmp_path / "model" / "modules.json").is_file()


def test_bi_encoder(trained, corpus, tmp_path):
    result = trained("--pairs", corpus, *SHORT, "--training.batch_size", "2", config=TOWERS)
    assert result.code == 0, result.err
    assert "4 pairs" not in result.err
    encoder = make_bi_encoder(str(tmp_path / "model"), 40, 40, device="cpu")
    assert encoder.encode_mentions([Mention("milk", "more ", " now")]).blocks[0].shape == (1, 32)


def test_pairs_of_a_docbin_and_several_files(trained, corpus, tmp_path):
    nlp = spacy.blank("en")
    doc = Doc(nlp.vocab, ["more", "milk", "today"])
    doc.ents = [Span(doc, 1, 2, label="TRAIT", kb_id="T:2")]
    DocBin(["ENT_IOB", "ENT_TYPE", "ENT_KB_ID"], docs=[doc]).to_disk(tmp_path / "more.spacy")
    result = trained("--pairs", corpus, tmp_path / "more.spacy", "--training.dtype", "float32")
    assert "corpus.jsonl, more.spacy: 4 pairs" in result.err
    again = trained("--pairs", corpus, "--pairs", tmp_path / "more.spacy", out="again")
    assert "corpus.jsonl, more.spacy: 4 pairs" in again.err


def test_a_pipeline_is_an_ontology(trained, pipeline, corpus, tmp_path):
    result = trained("--pairs", corpus, "--data.ontology", pipeline)
    assert result.code == 0, result.err
    assert 'ontology = "pipeline"' in (tmp_path / "model" / "training.cfg").read_text()


def test_weights(trained, not_trained, corpus, tmp_path):
    rows = lines(corpus)
    rows[0]["mentions"][0]["weight"] = 0.25
    corpus.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert trained("--pairs", corpus).code == 0
    rows[0]["mentions"][0]["weight"] = "much"
    corpus.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert "line 1: 'weight' of mention 0…14 is 'much'" in not_trained("--pairs", corpus, "--overwrite")


@pytest.mark.parametrize("stop", [("alignment", 2), ("training", 3)], ids=["first stage", "second stage"])
def test_a_training_goes_on(trained, corpus, stop, tmp_path, monkeypatch):
    from spacy_ontolink.training import loop

    stage, number = stop
    settings = ["--pairs", corpus, "--alignment.epochs", "3", "--training.epochs", "3", "--training.batch_size", "2"]
    kept = ["--alignment.checkpoint_minutes", "0", "--training.checkpoint_minutes", "0"]
    assert trained(*settings, out="straight").code == 0
    take = loop._Run._step

    def step(run, items, rate):
        if run.settings.block == stage and len(run.steps) == number:
            raise KeyboardInterrupt
        return take(run, items, rate)

    monkeypatch.setattr(loop._Run, "_step", step)
    stopped = trained(*settings, *kept)
    assert stopped.code == 130
    assert not (tmp_path / "model" / "modules.json").exists()
    monkeypatch.undo()
    again = trained(*settings, *kept)
    assert again.code == 0, again.err
    assert ("done before" in again.err) == (stage == "training")
    for name in ("log.jsonl", "alignment.jsonl"):
        assert losses(tmp_path / "model" / name) == losses(tmp_path / "straight" / name)


def test_nothing_is_replaced_unasked(trained, not_trained, corpus, tmp_path):
    assert trained().code == 0
    assert "give --overwrite to replace it" in not_trained()
    assert trained("--overwrite", "--alignment.epochs", "2").code == 0
    assert len(lines(tmp_path / "model" / "log.jsonl")) == 2
    for path in (tmp_path / "model").iterdir():
        path.unlink() if path.is_file() else None
    (tmp_path / "model" / "notes.txt").write_text("mine")
    assert "no model of 'ontolink train'" in not_trained("--overwrite")


def test_another_first_stage_is_refused(trained, not_trained, corpus, tmp_path, monkeypatch):
    from spacy_ontolink.training import retriever

    def fail(task, items):
        raise KeyboardInterrupt

    monkeypatch.setattr(retriever.MentionsAndNames, "loss", fail)
    assert trained("--pairs", corpus).code == 130
    monkeypatch.undo()
    assert "first stage" in not_trained("--pairs", corpus, "--alignment.seed", "1")
    result = trained("--pairs", corpus, "--alignment.seed", "1", "--overwrite")
    assert result.code == 0, result.err
    assert read_json(tmp_path / "model" / "modules.json")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--training.lerning_rate", "1"], ["[training] has no setting", "learning_rate"]),
        (["--training.epochs", "0"], ["training.epochs = 0 makes no sense"]),
        (["--epochs", "3"], ["--epochs is not understood"]),
        (["--model.base", "./nowhere"], ["No model folder at ./nowhere"]),
        (["--pairs", "nowhere.jsonl"], ["No such input file"]),
        (["--data.ontology", "nowhere.obo"], ["nowhere.obo"]),
        (["--data.lang", "qq"], ["qq"]),
        (["--logger.@loggers", "nobody.Logger.v1"], ["nobody.Logger.v1"]),
    ],
)
def test_refused(not_trained, arguments, words):
    line = not_trained(*arguments)
    for word in words:
        assert word in line


def test_refused_for_a_bi_encoder(not_trained, corpus):
    assert "Nothing to learn from" in not_trained(config=TOWERS)
    assert "no rows of names to align" in not_trained("--alignment.epochs", "1", "--pairs", corpus, config=TOWERS)
    line = not_trained("--pairs", corpus, config=TOWERS)  # 128 tokens, which this model cannot read
    assert "128" in line


def test_pairs_without_any_id_of_the_ontology(not_trained, tmp_path):
    path = tmp_path / "pairs.jsonl"
    path.write_text('{"text": "fat", "mentions": [{"start": 0, "end": 3, "kb_ids": ["X:7"]}]}\n')
    assert "no mention in it to learn from. It has 1 mention with ids" in not_trained("--pairs", path)


def test_ontology_without_synonyms(refused, bert, tmp_path):
    (tmp_path / "bare.jsonl").write_text('{"id": "T:1", "name": "milk"}\n')
    line = refused("train", "retriever", NAMES, "-o", tmp_path / "out", "--paths.ontology", tmp_path / "bare.jsonl",
                   "--paths.base", bert)  # fmt: skip
    assert "no entity has a second name" in line


def test_spacys_loggers(trained, tmp_path):
    told = []

    @spacy.registry.loggers("test_logger")
    def make_logger():
        def set_up(nlp, stdout, stderr):
            return told.append, lambda: told.append("end")

        return set_up

    assert trained("--alignment.epochs", "2", "--logger.@loggers", "test_logger").code == 0
    *steps, end = told
    assert end == "end"
    assert [info["step"] for info in steps] == [1, 2]
    assert [info["losses"]["loss"] for info in steps] == losses(tmp_path / "model" / "log.jsonl")
    console = trained("--overwrite", "--logger.@loggers", "spacy.ConsoleLogger.v1")
    assert console.code == 0, console.err
