"""Pairs with a real, small language model, on request: docs/development.md has the commands."""

import json

import pytest
from llama import llama_server, marks

from spacy_ontolink.cli import main
from spacy_ontolink.training.pairs import read_pairs

pytest.importorskip("openai")
pytestmark = marks

ENTITIES = [
    {"id": "T:0", "name": "trait"},
    {"id": "T:2", "name": "milk yield", "synonyms": ["milk production"], "parents": ["T:0"],
     "definition": "The amount of milk that a cow gives in one lactation."},
    {"id": "T:5", "name": "egg number", "synonyms": ["egg count"], "parents": ["T:0"],
     "definition": "The count of eggs laid by a hen in a given time."},
    {"id": "T:6", "name": "body weight", "synonyms": ["body mass"], "parents": ["T:0"],
     "definition": "The mass of the whole body of an animal."},
    {"id": "T:7", "name": "fever", "synonyms": ["pyrexia"], "parents": ["T:0"],
     "definition": "A body temperature above the normal range of the animal."},
    {"id": "T:8", "name": "backfat thickness", "synonyms": ["back fat depth"], "parents": ["T:0"],
     "definition": "The thickness of the layer of fat under the skin of the back."},
]  # fmt: skip
TEXT = "The milk yield, milk production, egg number, body mass, fever and backfat thickness of the animals rose."


def run(*arguments):
    with pytest.raises(SystemExit) as exit:
        main([str(argument) for argument in arguments])
    return exit.value.code


def test_from_a_text_to_pairs_and_again(tmp_path, capsys):
    (tmp_path / "traits.jsonl").write_text("".join(json.dumps(entity) + "\n" for entity in ENTITIES), "utf-8")
    (tmp_path / "notes.txt").write_text(TEXT + "\n", "utf-8")
    assert run("build", tmp_path / "traits.jsonl", tmp_path / "pipeline") == 0
    reports = []
    with llama_server(tmp_path, n_ctx=1024) as endpoint:
        for _ in range(2):
            capsys.readouterr()
            assert run("pairs", tmp_path / "pipeline", tmp_path / "notes.txt", tmp_path / "out", "--tau", "0.3",
                       "--setting", "gen+synonym", "--domain", "animal science",
                       "--llm", f"openai:gemma@{endpoint}") == 0  # fmt: skip
            reports.append(json.loads(capsys.readouterr().out))
    first, second = reports
    assert first["llm"]["calls"] == first["llm"]["answers"] == 5 and first["llm"]["input_tokens"] > 100
    assert second["llm"]["this_run"]["calls"] == 0 and second["aliases"] == first["aliases"]
    assert first["aliases"]["total"] > 0
    for line in (tmp_path / "out" / "answers.jsonl").read_text("utf-8").splitlines()[1:]:
        assert json.loads(line)["raw"]
    sources = {pair.source for pair in read_pairs(tmp_path / "out" / "pairs.jsonl")}
    assert {"p1", "synonym"} <= sources
