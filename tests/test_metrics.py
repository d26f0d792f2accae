import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ontolink.metrics import evaluate_ranking, overlap, rank_of_gold, summarise

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
