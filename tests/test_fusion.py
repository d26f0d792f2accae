import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ontolink.errors import ConfigError
from spacy_ontolink.fusion import (
    EXACT_NAME,
    EXACT_SYNONYM,
    NOT_EXACT,
    batch_fuse,
    batch_order,
    batch_zscores,
    check_weights,
    fuse,
    rank,
    shares,
    ties,
    zscores,
)

NAN, INF = float("nan"), float("inf")
scores = st.lists(st.floats(allow_nan=True, allow_infinity=True, width=32), max_size=12)


def test_zscores_by_hand():
    np.testing.assert_allclose(zscores([2, 4, 4, 4, 5, 5, 7, 9]), [-1.5, -0.5, -0.5, -0.5, 0, 0, 1, 2])


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([0.1, 0.1, 0.1], [0, 0, 0]),
        ([7], [0]),
        ([], []),
        ([NAN, 1, 3], [0, -1, 1]),
        ([-INF, 1, 3], [-1, -1, 1]),
        ([INF, 1, 3], [1, -1, 1]),
        ([NAN, -INF, NAN], [0, 0, 0]),
        ([NAN, -INF, 5], [0, 0, 0]),
    ],
)
def test_zscores_of_what_has_no_deviation_or_is_not_finite(given, expected):
    np.testing.assert_array_equal(zscores(given), expected)


@given(scores)
def test_zscores_are_finite_and_keep_the_order(values):
    z = zscores(values)
    assert np.isfinite(z).all()
    numbers = np.array([v for v in values if not np.isnan(v)], np.float32)
    of_numbers = z[[i for i, v in enumerate(values) if not np.isnan(v)]]
    assert (np.diff(of_numbers[np.argsort(numbers, kind="stable")]) >= 0).all()


def test_fusion_is_a_weighted_sum_of_zscores():
    views = {"surface": [1, 2, 3], "context": [30, 10, 20]}
    expected = 0.7 * zscores([1, 2, 3]) + 0.3 * zscores([30, 10, 20])
    np.testing.assert_allclose(fuse(views, {"surface": 0.7, "context": 0.3}), expected, rtol=1e-6)
    np.testing.assert_allclose(fuse(views, {"surface": 7, "context": 3, "other": 10}), expected, rtol=1e-6)


@pytest.mark.parametrize("useless", [[NAN] * 3, [-INF] * 3])
def test_a_view_without_scores_leaves_its_weight_to_the_others(useless):
    views = {"surface": [1, 2, 3], "context": useless}
    for weights in ({"surface": 0.5, "context": 0.5}, {"surface": 0.0, "context": 1.0}):
        np.testing.assert_allclose(fuse(views, weights), zscores([1, 2, 3]))
    np.testing.assert_array_equal(fuse({"context": useless}, {"context": 1}), [0, 0, 0])
    assert len(fuse({}, {"context": 1})) == 0


def test_a_view_without_weight_counts_nothing():
    np.testing.assert_allclose(fuse({"a": [1, 2, 3], "b": [9, 1, 1]}, {"a": 1}), zscores([1, 2, 3]))


def test_batches_equal_single_pools():
    rng = np.random.default_rng(0)
    valid = np.arange(6) < np.array([6, 3, 1])[:, None]
    views = {name: np.where(valid, rng.normal(size=(3, 6)), -np.inf).astype(np.float32) for name in "ab"}
    views["b"][1] = np.nan
    fused = batch_fuse(views, {"a": 0.4, "b": 0.6}, valid)
    assert np.isneginf(fused[~valid]).all()
    for row, n in enumerate(valid.sum(axis=1)):
        single = fuse({name: table[row, :n] for name, table in views.items()}, {"a": 0.4, "b": 0.6})
        np.testing.assert_allclose(fused[row, :n], single, rtol=1e-6)
        np.testing.assert_allclose(batch_zscores(views["a"], valid)[row, :n], zscores(views["a"][row, :n]), rtol=1e-6)


def test_ties_go_to_the_exact_name_the_exact_synonym_and_the_first_so_far():
    exactness = [NOT_EXACT, NOT_EXACT, EXACT_SYNONYM, EXACT_NAME, EXACT_SYNONYM, NOT_EXACT]
    assert rank([1, 1, 1, 1, 1, 2], exactness).tolist() == [5, 3, 2, 4, 0, 1]
    order = batch_order(np.array([[1, 1, 1, 1, 1, 2]], np.float32), ties(exactness)[None])
    assert order.tolist() == [[5, 3, 2, 4, 0, 1]]


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=8))
def test_what_is_ranked_stays_as_it_is(candidates):
    def ranked(items):
        return [items[i] for i in rank(np.array([t[0] for t in items], np.float32), [t[1] for t in items])]

    once = ranked([(*item, place) for place, item in enumerate(candidates)])
    assert ranked(once) == once


def test_weights_pass_or_are_refused():
    assert check_weights({"surface": 0, "context": 2}) == {"surface": 0, "context": 2}
    for wrong in ({}, {"surface": 0}, {"surface": 1, "context": -1}, {"surface": NAN}, {"surface": INF}):
        with pytest.raises(ConfigError, match="weights by view, 0 or more"):
            check_weights(wrong)


def test_shares_are_those_that_fusion_uses():
    views = {"retriever": [1, 2, 3], "surface": [NAN, NAN, NAN], "context": [3, NAN, 1]}
    weights = {"surface": 0.5, "retriever": 0.1, "context": 0.4}
    found = shares(views, weights)
    assert found == pytest.approx({"retriever": 0.2, "context": 0.8})
    mixed = sum(share * zscores(views[view]) for view, share in found.items())
    np.testing.assert_allclose(fuse(views, weights), mixed, rtol=1e-6)
    assert shares(views, {"surface": 1.0}) == {"retriever": 0.5, "context": 0.5}
    assert shares({}, weights) == {}
