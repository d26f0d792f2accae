"""The configs that come with the project work with ``ontolink build --config`` and with ``spacy assemble``."""

import re
import shutil
import string
from pathlib import Path

import pytest
import spacy
from spacy.cli.assemble import assemble_cli
from spacy.util import load_config
from tiny_models import NEEDS_TORCH, save_model
from toy import FAT, below, obo, term

from spacy_ontolink.errors import ConfigError

HERE = Path(__file__).parent
CONFIGS = HERE.parent / "configs"
ALL = [path for path in sorted(CONFIGS.glob("*.cfg")) if not path.name.startswith("train_")]
WITHOUT_TORCH = ("lexical", "light")
TERMS = obo(
    term(*FAT),
    term("T:2", "milk yield", below("T:3")),
    term("T:3", "yield trait"),
    term("T:4", "egg yield", below("T:3")),
)
TEXT = "Cows with a high milk yield have a low percentage of fat ."


@pytest.fixture
def ontology(tmp_path):
    path = tmp_path / "toy.obo"
    path.write_text(TERMS, "utf-8")
    return path


@pytest.fixture
def assemble(tmp_path, ontology, monkeypatch):
    """Assemble a config as ``spacy assemble`` does, with these paths; open the result from another folder.

    What it was made of is gone by then. Returns that pipeline, and all links by the one that was saved.
    """
    monkeypatch.setenv("ONTOLINK_CACHE", str(tmp_path / "cache"))
    made = []

    def load(*args, **kwargs):
        made.append(spacy.util.load_model_from_config(*args, **kwargs))
        return made[-1]

    monkeypatch.setattr("spacy.cli.assemble.load_model_from_config", load)

    class Context:
        args: tuple = ()

    def assemble(config, **paths):
        overrides = {f"paths.{name}": str(path) for name, path in {"ontology": ontology, **paths}.items()}
        load_config(config, overrides=overrides, interpolate=False).to_disk(tmp_path / "own.cfg")
        assemble_cli(Context(), tmp_path / "own.cfg", tmp_path / "out", code_path=None, verbose=False)
        expected = link(made[-1])
        ontology.unlink()
        for name, path in paths.items():
            shutil.move(path, tmp_path / f"gone-{name}")
        shutil.move(tmp_path / "out", tmp_path / "elsewhere")
        assert str(tmp_path) not in (tmp_path / "elsewhere" / "config.cfg").read_text("utf-8")
        return spacy.load(tmp_path / "elsewhere"), expected

    return assemble


def link(nlp):
    """Link two mentions; return all that is said of them."""
    doc = nlp.make_doc(TEXT)
    doc.ents = [doc.char_span(TEXT.index(text), TEXT.index(text) + len(text), label="X") for text in MENTIONS]
    return [(ent.kb_id_, ent._.ontolink) for ent in nlp(doc).ents]


MENTIONS = ("milk yield", "percentage of fat")


def scored(links, views):
    """Whether every candidate has a score by each of these views and no other."""
    return all(
        set(row["scores"]) == set(views) and None not in row["scores"].values() for _, rows in links for row in rows
    )


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, id=path.stem, marks=() if path.stem in WITHOUT_TORCH else NEEDS_TORCH) for path in ALL],
)
def test_every_name_is_registered(path):
    config = load_config(path)
    assert list(config["components"]) == config["nlp"]["pipeline"]
    nlp = spacy.blank("en")
    for name, block in config["components"].items():
        assert nlp.add_pipe(block["factory"], name, config={key: block[key] for key in block if key != "factory"})
        assert set(block) - {"factory", "reranker"} <= set(nlp.get_pipe_meta(name).default_config)


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_every_path_is_used(path):
    text = path.read_text("utf-8")
    for name in load_config(path)["paths"]:
        assert f"${{paths.{name}}}" in text


def test_assemble_lexical(assemble, caplog):
    nlp, expected = assemble(CONFIGS / "lexical.cfg")
    nlp.initialize()
    assert "kept as it was built" in caplog.text
    assert link(nlp) == expected
    assert [id for id, _ in expected] == ["T:2", "T:1"]


def test_assemble_light(assemble):
    nlp, links = assemble(CONFIGS / "light.cfg")
    assert link(nlp) == links
    assert [id for id, _ in links] == ["T:2", "T:1"]
    assert scored(links, {"retriever", "surface", "fused"})


def save_bert(folder):
    """A folder with a random BERT that reads letters, 512 at most."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    folder.mkdir()
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *string.ascii_lowercase]
    words += [f"##{letter}" for letter in string.ascii_lowercase]
    (folder / "vocab.txt").write_text("\n".join(words))
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(words), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=512, initializer_range=0.5,
    )  # fmt: skip
    transformers.BertModel(config).eval().save_pretrained(folder)
    transformers.BertTokenizerFast(str(folder / "vocab.txt"), model_max_length=512).save_pretrained(folder)
    return folder


def test_assemble_pilot(assemble, tmp_path):
    nlp, links = assemble(
        CONFIGS / "pilot.cfg",
        encoder=save_bert(tmp_path / "bert"),
        instruct=save_model(tmp_path / "instruct", "Qwen3", max_position_embeddings=2048),
        reranker=save_model(tmp_path / "reranker", "Qwen3", seed=1, max_position_embeddings=2048),
    )
    assert link(nlp) == links
    assert scored(links, {"retriever", "surface", "context", "fused"})
    assert {len(rows) for _, rows in links} == {4}


def test_assemble_scizsel(assemble, tmp_path):
    from spacy_ontolink.encoders.bi_encoder import BiEncoder
    from spacy_ontolink.rerankers.cross_encoder import CrossEncoder

    base = save_bert(tmp_path / "bert")
    BiEncoder.untrained(str(base), tmp_path / "bi")
    CrossEncoder.untrained(str(base), tmp_path / "cross")
    nlp, links = assemble(CONFIGS / "scizsel.cfg", bi_encoder=tmp_path / "bi", cross_encoder=tmp_path / "cross")
    assert link(nlp) == links
    assert scored(links, {"retriever", "context", "fused"})
    for id, rows in links:  # the cross-encoder alone decides
        assert id == max(rows, key=lambda row: row["scores"]["context"])["id"]


def test_the_other_reranker_of_scizsel(assemble, tmp_path):
    from spacy_ontolink.encoders.bi_encoder import BiEncoder
    from spacy_ontolink.rerankers.read_and_select import ReadAndSelect

    base = save_bert(tmp_path / "bert")
    BiEncoder.untrained(str(base), tmp_path / "bi")
    ReadAndSelect.untrained(str(base), tmp_path / "select")
    text = (CONFIGS / "scizsel.cfg").read_text("utf-8")
    one, other = re.search(r"(@ontolink_rerankers.*?)\n\n#[^\n]*\n((?:# [^\n]*\n)+)", text, re.DOTALL).groups()
    (tmp_path / "other.cfg").write_text(text.replace(one, re.sub("^# ", "", other, flags=re.MULTILINE)), "utf-8")
    nlp, links = assemble(tmp_path / "other.cfg", bi_encoder=tmp_path / "bi", cross_encoder=tmp_path / "select")
    assert nlp.get_pipe_config("ontolink_context_rerank")["reranker"]["mention_tokens"] == 256
    assert link(nlp) == links
    assert scored(links, {"retriever", "context", "fused"})


def test_models_that_are_not_given_are_asked_for(ontology):
    with pytest.raises((ConfigError, ValueError), match="model"):
        spacy.util.load_model_from_config(
            load_config(CONFIGS / "scizsel.cfg", overrides={"paths.ontology": str(ontology)}), auto_fill=True
        )
