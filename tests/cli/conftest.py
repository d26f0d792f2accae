import json

import pytest
import spacy
from toy import BF, FAT, TRAIT, below, obo, term

from spacy_ontolink.cli import main

OBO = obo(
    term(*FAT, BF, below("T:0")),
    term("T:2", "milk yield", "alt_id: T:22", below("T:3")),
    term("T:3", "yield trait", below("T:0")),
    TRAIT,
    term("T:8", "amount of milk", "is_obsolete: true", "replaced_by: T:2"),
)


@pytest.fixture
def refused(ontolink):
    """Run what must be refused: exit code 2 and one line on standard error; return the line."""

    def run(*arguments):
        result = ontolink(*arguments)
        assert result.code == 2, result.err
        *before, line = result.err.splitlines()
        assert all(step.endswith(" s") or "passed over" in step for step in before)  # what was done until then
        assert line.startswith("ontolink: ")
        assert "Traceback" not in result.err
        assert result.out == ""
        return line

    return run


@pytest.fixture(scope="session")
def toy(tmp_path_factory):
    path = tmp_path_factory.mktemp("ontology") / "toy.obo"
    path.write_text(OBO, encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def pipeline(toy):
    """A saved pipeline without anything that finds mentions."""
    return built(toy, "pipeline")


@pytest.fixture(scope="session")
def ner_pipeline(toy):
    """A saved pipeline with a component that finds entities."""
    base = spacy.blank("en")
    ruler = base.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": "TRAIT", "pattern": "fat percentage"}, {"label": "TRAIT", "pattern": "milk yields"}])
    base.to_disk(toy.parent / "base")
    return built(toy, "ner", "--base-model", str(toy.parent / "base"))


@pytest.fixture
def make_pipeline(toy):
    """Build a pipeline of the toy ontology with further options."""
    return lambda path, *options: built(toy, path, *map(str, options))


def built(toy, name, *options):
    with pytest.raises(SystemExit) as exit:
        main(["build", str(toy), str(toy.parent / name), *options])
    assert exit.value.code == 0
    return toy.parent / name


@pytest.fixture
def corpus(tmp_path):
    """Two documents with gold mentions: current, old, several, unknown and no ids."""
    first = "Fat percentage and amount of milk; BF rose."
    second = "The yield was low."
    rows = [
        {"id": "a", "text": first, "mentions": [
            {"start": 0, "end": 14, "text": "Fat percentage", "label": "TRAIT", "kb_ids": ["T:1"]},
            {"start": 19, "end": 33, "text": "amount of milk", "label": "TRAIT", "kb_ids": ["T:8"]},
            {"start": 35, "end": 37, "text": "BF", "label": "TRAIT", "kb_ids": ["X:1", "T:1"]},
        ]},
        {"id": "b", "text": second, "mentions": [
            {"start": 4, "end": 9, "text": "yield", "label": "TRAIT", "kb_ids": ["T:9"]},
            {"start": 14, "end": 17, "text": "low", "label": "", "kb_ids": []},
        ]},
    ]  # fmt: skip
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def two_retrievers(pipeline, tmp_path):
    """A saved pipeline with two retrievers; the second one knows other entities."""
    path = tmp_path / "other.jsonl"
    path.write_text('{"id": "X:1", "name": "fat percentage"}\n{"id": "X:2", "name": "yield"}\n', "utf-8")
    nlp = spacy.load(pipeline)
    nlp.add_pipe("ontolink_retriever", "second", config={"ontology": str(path)})
    nlp.to_disk(tmp_path / "two")
    return tmp_path / "two"
