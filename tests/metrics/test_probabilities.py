import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ontolink.metrics import auroc, expected_calibration_error, reliability


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
