"""The parts of the race that decide what is measured and what is said of it."""

import ast
import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(scope="module")
def load():
    """Import a module of benchmarks/, as its scripts do."""
    sys.path.insert(0, str(BENCHMARKS))
    yield importlib.import_module
    sys.path.remove(str(BENCHMARKS))


def test_difference_tells_ahead_from_level(load):
    difference = load("racing.scoring").difference
    theirs, apart = np.array([True, False] * 200), range(400)
    assert difference(theirs, theirs, apart) == {"difference": 0.0, "low": 0.0, "high": 0.0}
    better = difference(np.ones(400, bool), theirs, apart)
    assert better["difference"] == 0.5
    assert 0.4 < better["low"] < 0.5 < better["high"] < 0.6
    swapped = difference(~theirs, theirs, apart)  # as good, on other mentions
    assert swapped["low"] < 0 < swapped["high"]


def test_hits_count_the_first_candidates_only(load):
    hit = load("racing.scoring").hits([["a", "b"], ["b"], []], [{"b"}, {"b", "c"}, set()])
    assert hit[1].tolist() == [False, True, False]
    assert hit[64].tolist() == [True, True, False]


def test_every_method_of_a_peer_has_a_file(load):
    methods, peers = load("race").METHODS, load("racing.environments").PEERS
    assert set(methods) == {path.stem for path in peers.glob("*.py")}
    for peer in methods:
        defined = {
            target.id
            for node in ast.parse((peers / f"{peer}.py").read_text("utf-8")).body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        assert {"METHODS", "PACKAGES"} <= defined


def test_a_peer_without_its_python_is_told_so(load, tmp_path):
    environments = load("racing.environments")
    peer = tmp_path / "peer.py"
    peer.write_text('# /// script\n# requires-python = "==2.6.*"\n# dependencies = ["nothing"]\n# ///\n')
    with pytest.raises(environments.CannotInstall, match=r"python2\.6 is not installed"):
        environments.python_of(peer, tmp_path / "environments")
    peer.write_text('"""No header."""\n')
    assert environments.python_of(peer, tmp_path / "environments") == Path(sys.executable)


def test_a_race_between_two_runs_and_is_laid_out(load, tmp_path):
    race, page = load("race"), load("race_page")
    text_of = [0, 1, 1] * 10
    gold = [{"ab"[text]} for text in text_of]
    race_set = load("racing.sets").RaceSet(tmp_path, 3, ["x", "y"], text_of, gold, [*range(30)], [*range(30)])
    common = {"after": None, "documents": False, "build_cpu": 2.0, "search_cpu": 0.5, "peak_mb": 10.0, "versions": {}}
    results = {
        "ontolink lexical": {**common, "found": [["a"], ["b"]]},
        "ontolink lexical + surface": {**common, "after": "ontolink lexical", "found": [["b", "a"], ["c", "b"]]},
        "gilda": {**common, "found": [["a"], []], "versions": {"gilda-slim": "1"}},
        "bm25s stems": {"problem": "would not install: no | wheel"},
    }
    rows = race.rows_of("qtldb_vt", race_set, results)
    assert [row.get("recall_at_1") for row in rows] == [1.0, 0.0, pytest.approx(1 / 3), None]
    assert [row.get("build_cpu") for row in rows] == [2.0, 4.0, 2.0, None]
    text = "\n".join(page.race({"rows": json.loads(json.dumps(rows)), "limit": 600}))
    assert "| ontolink lexical + surface | 1 | 0 / 0 / 1 | 1 / 0 / 0 |" in text
    assert "| gilda | ontolink lexical | 1 | 1 / 0 / 0 | 0 / 0 / 1 | 1 / 0 / 0 | 1.00 | 0.50 | 1.00 | 1.00 |" in text
    behind = next(line for line in text.splitlines() if line.startswith("| qtldb_vt | gilda | R@1 | 33.3 | +66.7"))
    assert behind.endswith(" behind |")
    assert "would not install: no / wheel" in text


def test_a_run_far_over_the_limit_is_not_started(load, tmp_path):
    race, race_set = load("race"), load("racing.sets").RaceSet
    then = race_set(tmp_path, 10, ["x"], [0], [{"a"}], [0], [0])
    now = race_set(tmp_path, 1000, ["x"], [0], [{"a"}], [0], [0])
    assert "build over the limit" in race.foreseen((then, {"build_cpu": 90.0, "search_cpu": 0.0}), now, 600)
    assert race.foreseen((then, {"build_cpu": 1.0, "search_cpu": 1.0}), now, 600) == ""


def test_what_was_not_built_is_not_opened(load):
    race, failed = load("race"), {"problem": "over the limit"}
    for base, endings in (("ontolink lexical", (" + surface", ", in documents", " + surface, in documents")),
                          ("scispaCy", (", opened", ", in documents"))):  # fmt: skip
        known = {"ontolink lexical": failed, "scispaCy, new index": failed}
        assert all(race.attempt("", base + ending, None, None, known, None) == failed for ending in endings)
