import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ontolink.metrics import overlap, rank_of_gold, summarise


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


@given(st.lists(st.integers(0, 100), min_size=1, max_size=50))
def test_recall_never_falls_with_depth(ranks):
    result = summarise(ranks)
    recalls = [result[f"recall_at_{k}"] for k in (1, 5, 50, 64)]
    assert recalls == sorted(recalls)
    assert recalls[0] <= result["mrr"] <= np.mean(np.asarray(ranks) > 0) + 1e-9
