import json

import pytest
from made_outcomes import outcome

from spacy_ontolink.errors import DataError
from spacy_ontolink.evaluation import compare_runs, read_run
from spacy_ontolink.metrics import Resampling

HERE = [outcome(1, number=0), outcome(1, number=1), outcome(2, number=2, answer="T:1"), outcome(0, gold=(), number=3)]
THERE = [outcome(2, number=0, answer="T:1"), *HERE[1:]]


@pytest.fixture
def written(tmp_path):
    """Write a run as the command does, with other rows or without some keys."""

    def write(outcomes, rows=None):
        path = tmp_path / "other.json"
        rows = [one.to_json() for one in outcomes] if rows is None else rows
        path.write_text(json.dumps({"pipeline": "theirs", "mentions": rows}), "utf-8")
        return path

    return write


def beside(here, path):
    return compare_runs(here, read_run(path), Resampling([one.number for one in here], resamples=100))


def test_two_runs(written):
    found = beside(HERE, written(THERE))
    facts = found.facts
    assert (facts["with"], facts["file"], facts["n"]) == ("theirs", "other.json", 3)
    assert (facts["recall_at_1"]["here"], facts["recall_at_1"]["there"]) == (pytest.approx(2 / 3), pytest.approx(1 / 3))
    assert facts["recall_at_5"]["difference"] == 0
    assert facts["mcnemar"] == {"only_here": 1, "only_there": 0, "p_value": 1.0}
    assert facts["accuracy"]["difference"] == pytest.approx(1 / 4)  # over all four, NIL included
    assert found.ranks == [2, 1, 2, 0]
    json.dumps(facts)


def test_documents_may_come_in_another_order(written):
    assert beside(HERE, written(THERE[::-1])).ranks == [2, 1, 2, 0]


def test_equal_mentions_keep_their_order(written):
    here = [outcome(1), outcome(1)]
    assert beside(here, written([outcome(1), outcome(3, answer="T:1")])).ranks == [1, 3]


@pytest.mark.parametrize(
    ("there", "words"),
    [
        (HERE[:2], "2 mention(s) are only here and 0 only there, such as 4…14 in document d2"),
        ([*HERE[:3], outcome(0, gold=(), number=9)], "1 mention(s) are only here and 1 only there"),
        ([outcome(1, gold=("T:2", "T:5")), *HERE[1:]], "the gold ids of 1 of its 4 mention(s) are others"),
    ],
)
def test_other_data_is_refused(written, there, words):
    with pytest.raises(DataError, match="measured on other data") as error:
        beside(HERE, written(there))
    assert words in str(error.value)


def test_a_gold_id_may_lead_elsewhere_in_another_release(written):
    path = written([outcome(1, leads=("T:5",), answer="T:5", number=one.number, gold=one.gold) for one in HERE])
    assert beside(HERE, path).facts["n"] == 3


def test_the_unit_is_that_of_the_run_for_every_row(written):
    here = [outcome(1 + number % 2, number=number) for number in range(9)]
    here += [outcome(0, gold=(), number=number, answer="NIL") for number in range(9, 12)]
    there = [outcome(1, number=one.number, gold=one.gold, answer=one.answer) for one in here]
    resampling = Resampling([one.number for one in here], resamples=100)
    facts = compare_runs(here, read_run(written(there)), resampling).facts
    assert facts["resampling"] == resampling.facts()
    assert (facts["n"], facts["resampling"]["unit"], facts["resampling"]["units"]) == (9, "document", 12)
    assert facts["recall_at_1"]["difference"] == pytest.approx(-4 / 9)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "No such input file"),
        ("{", "not JSON"),
        ("[]", "it does not say what became of each mention"),
        ('{"n": 4, "recall_at_1": 0.5}', "it does not say what became of each mention"),
        ('{"mentions": [{"document": "a"}]}', "mention 1 of it lacks one of document, start"),
        ('{"mentions": [7]}', "mention 1 of it lacks"),
        *(
            (json.dumps({"mentions": [outcome(rank).to_json()]}), "mention 1 of it has an impossible rank")
            for rank in (-1, 2**31, 10**30)
        ),
    ],
)
def test_files_that_are_no_run(tmp_path, content, words):
    path = tmp_path / "run.json"
    if content is not None:
        path.write_text(content, "utf-8")
    with pytest.raises(DataError) as error:
        read_run(path)
    assert words in str(error.value)
