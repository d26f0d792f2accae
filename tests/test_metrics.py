import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ontolink.metrics import (
    auroc,
    evaluate_nil,
    evaluate_ranking,
    expected_calibration_error,
    overlap,
    rank_of_gold,
    reliability,
    summarise,
)

NAMES = {"T:1": "body fat percentage", "T:2": "milk yield", "T:3": "yield trait"}


@pytest.mark.parametrize(
    ("mention", "names", "expected"),
    [
        ("Fat Percentage", ["body fat percentage"], "HO"),
        ("percentage of fat", ["body fat percentage"], "LO"),
        ("adiposity", ["body fat percentage"], "NO"),
        ("milk", ["adiposity", "Milk yield"], "HO"),  # any gold entity may satisfy it
        ("yielding", ["milk yield"], "NO"),  # tokens, not stems
        ("(BF)", ["body fat"], "NO"),
        ("乳量減少", ["乳量"], "LO"),
        ("乳量", ["乳量減少"], "HO"),
        ("удой молока", ["молока жир"], "LO"),
        ("दूध उपज", ["दूध"], "LO"),
        ("удой", ["жир"], "NO"),
        ("", ["anything"], "NO"),
        ("--", ["a--b"], "HO"),
    ],
)
def test_overlap(mention, names, expected):
    assert overlap(mention, names) == expected


def test_rank_of_gold_is_the_best_of_several():
    assert rank_of_gold(["a", "b", "c"], ["c", "b"]) == 2
    assert rank_of_gold(["a"], ["z"]) == 0


def test_summary_by_hand():
    result = summarise([1, 2, 0, 6], at=(1, 5, 64))
    assert result == {
        "n": 4,
        "recall_at_1": 0.25,
        "recall_at_5": 0.5,
        "recall_at_64": 0.75,
        "mrr": pytest.approx((1 + 1 / 2 + 1 / 6) / 4),
    }


def test_no_mention_has_no_measure():
    assert summarise([], at=(1,)) == {"n": 0, "recall_at_1": None, "mrr": None}


def test_evaluation_counts_every_kind_of_mention():
    lives = {"T:1": "T:1", "T:2": "T:2", "OLD:2": "T:2"}
    result = evaluate_ranking(
        ["fat percentage", "the yield of milk", "nothing", "lost", "milk yield"],
        [["T:1"], ["OLD:2"], [], ["X:9"], ["X:9", "T:2"]],
        [["T:1", "T:2"], ["T:1", "T:2"], ["T:1"], ["X:9"], ["T:2"]],
        resolve=lives.get,
        name_of=NAMES.__getitem__,
    )
    assert result["n"] == 4
    assert result["n_without_gold"] == 1
    assert result["n_unknown_gold"] == 1  # an id outside the KB is wrong, whatever was ranked
    assert result["gold_ids_unknown"] == 1
    assert result["gold_ids_resolved"] == 1
    assert result["recall_at_1"] == 0.5
    assert result["recall_at_5"] == 0.75
    assert result["mrr"] == pytest.approx((1 + 0.5 + 0 + 1) / 4)
    assert {name: part["n"] for name, part in result["by_overlap"].items()} == {"HO": 2, "LO": 1, "NO": 1}
    assert result["by_overlap"]["LO"]["recall_at_1"] == 0


def test_nothing_to_evaluate():
    result = evaluate_ranking([], [], [])
    assert result["n"] == 0
    assert result["mrr"] is None
    assert result["by_overlap"]["HO"]["recall_at_64"] is None


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="shorter"):
        evaluate_ranking(["a", "b"], [["x"]], [["x"], ["y"]])


@given(st.lists(st.integers(0, 100), min_size=1, max_size=50))
def test_recall_never_falls_with_depth(ranks):
    result = summarise(ranks)
    recalls = [result[f"recall_at_{k}"] for k in (1, 5, 50, 64)]
    assert recalls == sorted(recalls)
    assert recalls[0] <= result["mrr"] <= np.mean(np.asarray(ranks) > 0) + 1e-9


def test_auroc_by_hand():
    assert auroc([0.1, 0.4, 0.35, 0.8], [False, False, True, True]) == 0.75
    assert auroc([1, 2, 3], [False, True, True]) == 1.0
    assert auroc([1, 1, 1, 1], [False, True, True, False]) == 0.5  # a tie says nothing
    assert auroc([2, 1, 1], [True, False, True]) == 0.75  # one of two pairs won, the other tied
    assert auroc([1, 2], [True, True]) is None


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1, max_size=30))
def test_auroc_counts_pairs(items):
    wins = [(p > n) + (p == n) / 2 for p, yes in items if yes for n, no in items if not no]
    expected = pytest.approx(sum(wins) / len(wins)) if wins else None
    assert auroc([score for score, _ in items], [positive for _, positive in items]) == expected


def test_reliability_and_calibration_error_by_hand():
    rows = reliability([0.05, 0.95, 0.95, 1.0], [True, True, True, False])
    assert rows == [
        {"from": 0.0, "to": 0.1, "n": 1, "probability": pytest.approx(0.05), "accuracy": 1.0},
        {"from": 0.9, "to": 1.0, "n": 3, "probability": pytest.approx(2.9 / 3), "accuracy": pytest.approx(2 / 3)},
    ]
    error = expected_calibration_error([0.05, 0.95, 0.95, 1.0], [True, True, True, False])
    assert error == pytest.approx((0.95 + 3 * 0.3) / 4)
    assert expected_calibration_error([0.5, 0.5], [True, False]) == 0
    assert expected_calibration_error([], []) is None


def test_nil_by_hand():
    # right link; wrong link; link lost to NIL; NIL found; NIL missed
    result = evaluate_nil(
        [False, False, False, True, True], [False, False, True, True, False], [True, False, True, False, False]
    )
    assert result == {
        "n": 5, "n_nil": 2, "nil_precision": 0.5, "nil_recall": 0.5, "nil_f1": 0.5, "accuracy": 0.4,
    }  # fmt: skip


def test_nil_of_nothing():
    assert evaluate_nil([False], [False], [True])["nil_precision"] is None
    assert evaluate_nil([False], [False], [True])["nil_f1"] is None
    assert evaluate_nil([], [], [])["accuracy"] is None
