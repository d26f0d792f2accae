import json

import pytest
from made_outcomes import measured, outcome

from spacy_ontolink.evaluation import recall_by_depth

RIGHT = outcome(1)
WRONG = outcome(3, answer="T:1", label="", overlap="LO")
LOST = outcome(0, answer="NIL", overlap="NO")
UNKNOWN = outcome(0, gold=("X:9",), leads=("",), answer="T:1", overlap="NO")
NO_GOLD = outcome(0, gold=(), answer="NIL")
SPURIOUS = outcome(0, gold=(), answer="T:1")


def test_every_kind_of_mention_counts_once():
    found = measured([RIGHT, WRONG, LOST, UNKNOWN, NO_GOLD, SPURIOUS])
    assert (found["n"], found["n_without_gold"], found["n_unknown_gold"]) == (4, 2, 1)
    assert (found["recall_at_1"], found["recall_at_5"]) == (0.25, 0.5)
    assert found["mrr"] == pytest.approx((1 + 1 / 3) / 4)
    assert {name: part["n"] for name, part in found["by_overlap"].items()} == {"HO": 1, "LO": 1, "NO": 2}
    assert found["by_overlap"]["LO"]["recall_at_5"] == 1.0
    assert {name: part["n"] for name, part in found["by_label"].items()} == {"TRAIT": 3, "": 1}
    assert {name: part["n"] for name, part in found["by_namespace"].items()} == {"T": 3, "X": 1}
    json.dumps(found)


def test_verdicts():
    mentions = (RIGHT, WRONG, LOST, UNKNOWN, NO_GOLD, SPURIOUS)
    assert [one.verdict for one in mentions] == ["right", "wrong", "lost", "spurious", "nil", "spurious"]
    assert [one.is_right for one in mentions] == [True, False, False, False, True, False]
    assert outcome(1, answer="").verdict == "lost"  # found, but nobody looked: another component gave no id


def test_nil_is_over_all_mentions():
    nil = measured([RIGHT, WRONG, LOST, UNKNOWN, NO_GOLD, SPURIOUS])["nil"]
    assert (nil["n"], nil["n_nil"], nil["n_said_nil"]) == (6, 3, 2)
    assert (nil["nil_precision"], nil["nil_recall"]) == (0.5, pytest.approx(1 / 3))
    assert nil["accuracy"] == pytest.approx(2 / 6)
    assert nil["intervals"]["nil_precision"] is None  # of two mentions
    low, high = nil["intervals"]["accuracy"]
    assert 0 <= low < 2 / 6 < high <= 1


def test_a_mention_of_two_namespaces_counts_in_both():
    both = outcome(1, gold=("T:2", "U:5"))
    found = measured([both, RIGHT])["by_namespace"]
    assert {name: part["n"] for name, part in found.items()} == {"T": 2, "U": 1}


def test_intervals_are_by_document():
    mentions = [outcome(int(number % 3 > 0), number=number // 2) for number in range(60)]
    found = measured(mentions)
    assert (found["resampling"]["unit"], found["resampling"]["units"]) == ("document", 30)
    low, high = found["intervals"]["recall_at_1"]
    assert low < found["recall_at_1"] < high
    assert found["by_overlap"]["HO"]["intervals"]["recall_at_1"] == [low, high]
    assert found["by_overlap"]["LO"]["intervals"] == dict.fromkeys(found["intervals"])


def test_calibration_needs_probabilities():
    assert measured([RIGHT])["calibration"] is None
    sure, unsure = outcome(1, probability=0.9), outcome(2, answer="T:1", probability=0.4)
    found = measured([sure, unsure, NO_GOLD])["calibration"]
    assert found["n"] == 2
    assert found["expected_calibration_error"] == pytest.approx((0.1 + 0.4) / 2)
    assert found["brier"] == pytest.approx((0.01 + 0.16) / 2)
    assert [row["n"] for row in found["reliability"]] == [1, 1]


def test_relations_of_wrong_answers():
    assert measured([RIGHT, WRONG, LOST])["relations"] == {
        "parent": 0, "child": 0, "sibling": 1, "ancestor": 0, "descendant": 0, "far": 0,
    }  # fmt: skip


def test_what_is_odd_is_counted_and_named():
    old = outcome(1, gold=("T:22",), leads=("T:2",))
    found = measured([
        old, old, UNKNOWN, outcome(0, answer=""), outcome(1, fit="widened"), outcome(0, fit="none", answer="")
    ])  # fmt: skip
    assert (found["gold_ids_resolved"], found["gold_ids_unknown"]) == (1, 1)
    assert found["examples"] == {"unknown": ["X:9"], "resolved": [["T:22", "T:2"]]}
    assert (found["n_not_looked_up"], found["mentions_widened"], found["mentions_without_token"]) == (2, 1, 1)


def test_only_mentions_without_entity():
    found = measured([NO_GOLD, SPURIOUS])
    assert (found["n"], found["recall_at_1"], found["recall_curve"]) == (0, None, [])
    assert found["nil"]["accuracy"] == 0.5
    assert found["by_label"] == {"TRAIT": {**found["by_label"]["TRAIT"], "n": 0, "recall_at_1": None}}


def test_recall_by_depth():
    curve = recall_by_depth([1, 3, 0, 90])
    assert curve[:4] == [0.25, 0.25, 0.5, 0.5]
    assert len(curve) == 64
    assert curve[-1] == 0.5
    assert recall_by_depth([]) == []


def test_composite_mentions_are_measured_by_ids():
    two = {"gold": ("T:1", "T:2"), "composite": True}
    both = outcome(1, ids=("T:1", "T:2"), **two)
    one = outcome(1, ids=("T:2",), **two)
    wrong = outcome(0, ids=("T:7", "T:8"), answer="T:7", **two)
    either = outcome(1, gold=("T:1", "T:2"), ids=("T:2",))  # any of several ids is right: not composite
    found = measured([both, one, wrong, either, RIGHT])["composite"]
    assert found == {"n": 3, "id_precision": 3 / 5, "id_recall": 3 / 6, "all_found": 1 / 3}
    assert measured([RIGHT, either])["composite"] is None
