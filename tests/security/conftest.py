import json

import pytest

from spacy_ontolink.cli import main

TERMS = [
    {"id": "T:1", "name": "body fat percentage", "synonyms": ["fat percentage", "BF"], "parents": ["T:3"],
     "definition": "Share of fat in the body."},
    {"id": "T:2", "name": "milk yield", "synonyms": ["amount of milk"], "parents": ["T:3"],
     "definition": "Milk that a cow gives in a day."},
    {"id": "T:3", "name": "trait"},
]  # fmt: skip
NOTE = "A high milk yield, and BF was low."
MENTIONS = [{"start": 7, "end": 17, "kb_ids": ["T:2"]}, {"start": 23, "end": 25, "kb_ids": ["T:1"]}]


def write_rows(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ONTOLINK_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def ontology(tmp_path):
    return write_rows(tmp_path / "terms.jsonl", TERMS)


@pytest.fixture
def notes(tmp_path):
    return write_rows(tmp_path / "notes.jsonl", [{"id": "1", "text": NOTE, "mentions": MENTIONS}])


@pytest.fixture
def run(capsys):
    """Run a command in this process; return its exit code and all that it printed."""

    def run(*arguments):
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit:
            main([str(argument) for argument in arguments])
        return exit.value.code, "".join(capsys.readouterr())

    return run
