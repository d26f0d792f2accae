"""The configs that come with the project work with ``ontolink build --config`` and with ``spacy assemble``."""

from pathlib import Path

import pytest
import spacy
from spacy.cli.assemble import assemble_cli
from spacy.util import load_config

CONFIGS = Path(__file__).parent.parent / "configs"


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.cfg")), ids=lambda path: path.stem)
def test_every_name_is_registered(path):
    config = load_config(path)
    block = config["components"]["ontolink_retriever"]
    nlp = spacy.blank("en")
    assert nlp.add_pipe("ontolink_retriever", config={key: block[key] for key in block if key != "factory"})
    known = nlp.get_pipe_meta("ontolink_retriever").default_config
    assert set(block) - {"factory"} <= set(known)


def test_assemble(tmp_path, caplog):
    ontology = tmp_path / "toy.jsonl"
    ontology.write_text('{"id": "T:1", "name": "milk yield"}\n', "utf-8")
    config = load_config(CONFIGS / "lexical.cfg", overrides={"paths.ontology": str(ontology)}, interpolate=False)
    config.to_disk(tmp_path / "own.cfg")

    class Context:
        args: tuple = ()

    assemble_cli(Context(), tmp_path / "own.cfg", tmp_path / "out", code_path=None, verbose=False)
    ontology.unlink()
    nlp = spacy.load(tmp_path / "out")
    nlp.initialize()
    assert "kept as it was built" in caplog.text
    doc = nlp.make_doc("Milk yield")
    doc.ents = [spacy.tokens.Span(doc, 0, 2, label="X")]
    assert [ent.kb_id_ for ent in nlp(doc).ents] == ["T:1"]
    assert str(tmp_path) not in (tmp_path / "out" / "config.cfg").read_text("utf-8")
