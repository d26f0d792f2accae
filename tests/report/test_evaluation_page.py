import hashlib
import json
import re
from base64 import b64encode
from pathlib import Path

import pytest
from made_outcomes import measured, outcome
from test_page import Checker

from spacy_ontolink.documents import link_pattern
from spacy_ontolink.evaluation import Run, compare_runs
from spacy_ontolink.metrics import Resampling
from spacy_ontolink.report import write_evaluation
from spacy_ontolink.report.evaluation_rows import COLUMNS

LINK = link_pattern("bioregistry")
CURVE = {"views": ["retriever", "context"], "alpha": 0.5, "curve": [
    {"alpha": alpha, "recall_at_1": value} for alpha, value in ((0, 0.5), (0.5, 0.75), (1, 0.7))
]}  # fmt: skip
HOSTILE = "</script><script>alert('1')</script><img src=x onerror=alert(2)>&lt;"


@pytest.fixture
def page(tmp_path):
    """Write a page; return its source, what a parser makes of it, and the data of its table."""

    def page(outcomes, ranks=None, **others):
        path = tmp_path / "report.html"
        write_evaluation(path, measured(outcomes, **others), outcomes, LINK, ranks)
        source, checker = path.read_text("utf-8"), Checker()
        checker.feed(source)
        assert checker.open == []
        return source, checker, json.loads(re.search(r'id="data">(.*?)</script>', source, re.DOTALL)[1])

    return page


def several(n=12):
    """Outcomes of all kinds in several documents."""
    kinds = [
        outcome(1, probability=0.9),
        outcome(3, answer="T:1", probability=0.4, overlap="LO", label="CELL"),
        outcome(0, answer="NIL", overlap="NO", probability=0.1),
        outcome(0, gold=("X:9",), leads=("",), answer="T:1", overlap="NO"),
        outcome(0, gold=(), answer="NIL"),
    ]
    return [
        outcome(number=number, **{key: getattr(kind, key) for key in (
            "rank", "gold", "leads", "answer", "probability", "overlap", "label")})
        for number in range(n) for kind in kinds
    ]  # fmt: skip


def test_all_parts_are_there(page):
    source, seen, data = page(several(), alpha_curve=CURVE)
    text = " ".join("".join(seen.texts).split())
    for part in (
        "How well pipe links data.jsonl", "48 mentions with a gold id in 12 documents", "accuracy with NIL",
        "12 documents, seed 0", "Recall by depth", "Recall by overlap of wording", "Reliability",
        "Weight in the fusion", "by label", "by ontology or namespace",
        "Mentions without an entity (NIL)", "How far wrong answers are",
        "another child of one of its parents", "12 mention(s) without gold id",
        "unknown to the knowledge base, such as X:9",
    ):  # fmt: skip
        assert part in text, part
    assert source.count("<svg ") == 4
    assert len(data["rows"]) == 60
    assert not list(re.findall(r'(?:src|href)="(?!https://bioregistry)', source))


def test_parts_without_anything_to_show_are_left_out(page):
    source, seen, _ = page([outcome(1), outcome(1)])
    text = "".join(seen.texts)
    for part in (
        "Reliability",
        "Weight in the fusion",
        "by label",
        "NIL)",
        "How far wrong",
        "About the data",
        "Beside pipe",
    ):
        assert part not in re.sub(r"<script.*", "", text, flags=re.DOTALL)
    assert source.count("<svg ") == 2


def test_nothing_but_mentions_without_entity(page):
    source, seen, _ = page([outcome(0, gold=(), answer="NIL")] * 2)
    assert "0 mentions with a gold id" in "".join(seen.texts)
    assert "<svg" not in source


def test_two_runs(page):
    outcomes = several()
    rows = [one.to_json() | {"rank": 2} if one.rank == 1 else one.to_json() for one in outcomes]
    found = compare_runs(outcomes, Run("theirs", Path("run.json"), rows), Resampling(range(60), 100))
    source, seen, data = page(outcomes, found.ranks, comparison=found.facts)
    text = " ".join("".join(seen.texts).split())
    assert "Beside theirs (run.json)" in text
    assert "only here for 12 mentions, only there for 0" in text
    assert "Dashed: theirs." in text
    assert 'class="other"' in source
    assert {row[COLUMNS.index("before")] for row in data["rows"]} == {0, 2, 3}


def test_text_is_never_markup(page):
    one = outcome(1, text=HOSTILE, left=HOSTILE, label=HOSTILE, document=HOSTILE, gold=(HOSTILE,), leads=("",),
                  answer=HOSTILE)  # fmt: skip
    source, seen, data = page([one, one], pipeline=HOSTILE, data=HOSTILE)
    assert source.count("<script") == 2
    assert "img" not in seen.tags
    assert data["rows"][0][COLUMNS.index("mention")] == HOSTILE
    assert f"How well {HOSTILE}" in "".join(seen.texts)


def test_only_its_own_script_may_run(page):
    source, _, _ = page([outcome(1)])
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', source)[1]
    (script,) = re.findall(r"<script>(.*?)</script>", source, re.DOTALL)
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"


def test_of_very_many_mentions_the_wrong_ones_come_first(page, monkeypatch):
    monkeypatch.setattr("spacy_ontolink.report.evaluation_rows.MOST_ROWS", 24)
    monkeypatch.setattr("spacy_ontolink.report.evaluation_page.MOST_ROWS", 24)
    _, seen, data = page(several())
    verdicts = [row[COLUMNS.index("verdict")] for row in data["rows"]]
    assert len(verdicts) == 24
    assert set(verdicts) == {"wrong", "lost", "spurious"}
    assert "Of 60 mentions the table has 24" in "".join(seen.texts)


def test_ids_as_the_file_has_them_are_in_the_table(page):
    _, _, data = page([outcome(gold=("T:22", "X:9"), leads=("T:2", ""))])
    gold = data["rows"][0][COLUMNS.index("gold")]
    assert [(entry[0], entry[4]) for entry in gold] == [("T:2", ["T:22"]), ("X:9", [])]


def test_without_a_known_id_it_says_so(page):
    for one in (outcome(0, gold=(), answer="NIL"), outcome(0, gold=("X:9",), leads=("",), answer="NIL")):
        assert "No mention has a gold id that the knowledge base knows" in "".join(page([one])[1].texts)


def test_half_characters_do_not_stop_it(page):
    assert page([outcome(1, text="a\ud83d")])[2]["rows"][0][COLUMNS.index("mention")].startswith("a")
