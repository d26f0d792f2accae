import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_ontolink.indexes.exact import ExactIndex, make_exact_index
from spacy_ontolink.types import EntityRows, Index
from spacy_ontolink.vectors import Vectors


def random_rows(n_entities, most_rows, kind, seed=0):
    rng = np.random.default_rng(seed)
    owner = np.repeat(np.arange(n_entities), rng.integers(1, most_rows + 1, n_entities)).astype(np.int32)
    dense = np.abs(rng.normal(size=(len(owner), 5))).astype(np.float32)
    sparse = sp.random(len(owner), 7, 0.5, "csr", dtype=np.float32, rng=seed)
    blocks = {"dense": (dense,), "sparse": (sparse,), "both": (sparse, dense)}[kind]
    return EntityRows(Vectors(blocks).normalised(), owner, np.arange(len(owner), dtype=np.int32))


def by_hand(scores, owner, k):
    """The best row of every entity, sorted; ties by row number."""
    best = {}
    for row in np.lexsort((np.arange(len(owner)), -np.round(scores, 6))):
        if scores[row] > 1e-6:
            best.setdefault(int(owner[row]), int(row))
    return list(best.items())[:k]


@pytest.mark.parametrize("kind", ["dense", "sparse", "both"])
@pytest.mark.parametrize(("n_entities", "most_rows"), [(1, 1), (30, 3), (3000, 4), (40, 200)])
@pytest.mark.parametrize("block_rows", [64, 1 << 16])
def test_the_same_as_sorting_everything(kind, n_entities, most_rows, block_rows):
    rows = random_rows(n_entities, most_rows, kind)
    index = ExactIndex(block_rows)
    index.build(rows, n_entities)
    queries = rows.vectors.take(np.arange(0, len(rows.owner), max(1, len(rows.owner) // 70)))
    hits = index.search(queries, 10)
    scores = rows.vectors.dot(queries)
    for number in range(len(queries)):
        expected = by_hand(scores[:, number], rows.owner, 10)
        found = hits.entities[number][hits.entities[number] >= 0].tolist()
        np.testing.assert_allclose(
            hits.scores[number, : len(found)], [scores[row, number] for _, row in expected], atol=2e-6
        )
        assert len(set(found)) == len(found) == len(expected)
        assert (rows.owner[hits.rows[number, : len(found)]] == found).all()


@settings(deadline=None)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=40), st.integers(1, 12), st.sampled_from([1, 4, 100]))
def test_ties_go_to_the_first_row_however_rows_are_cut(values, k, block_rows):
    owner = np.repeat(np.arange((len(values) + 1) // 2), 2)[: len(values)].astype(np.int32)
    vectors = Vectors((np.array(values, np.float32)[:, None],))
    index = ExactIndex(block_rows)
    index.build(EntityRows(vectors, owner, owner), int(owner[-1]) + 1)
    hits = index.search(Vectors((np.ones((1, 1), np.float32),)), k)
    expected = by_hand(np.array(values, np.float32), owner, k)
    assert [
        pair for pair in zip(hits.entities[0].tolist(), hits.rows[0].tolist(), strict=True) if pair[0] >= 0
    ] == expected


def test_only_allowed_entities_are_found_with_their_own_row_numbers():
    rows = random_rows(50, 3, "both")
    index = ExactIndex()
    index.build(rows, 50)
    allowed = np.zeros(50, bool)
    allowed[[3, 7, 20]] = True
    everything, some = index.search(rows.vectors, 50), index.search(rows.vectors, 50, allowed)
    for number in range(len(rows.owner)):
        keep = np.isin(everything.entities[number], [3, 7, 20])
        count = keep.sum()
        assert some.entities[number, :count].tolist() == everything.entities[number, keep].tolist()
        assert some.rows[number, :count].tolist() == everything.rows[number, keep].tolist()
        assert (some.entities[number, count:] == -1).all()


def test_results_do_not_depend_on_the_batch():
    rows = random_rows(200, 3, "both")
    index = ExactIndex()
    index.build(rows, 200)
    whole = index.search(rows.vectors, 20)
    singles = [index.search(rows.vectors.take(slice(n, n + 1)), 20) for n in range(len(rows.owner))]
    np.testing.assert_array_equal(whole.entities, np.vstack([hits.entities for hits in singles]))
    np.testing.assert_allclose(whole.scores, np.vstack([hits.scores for hits in singles]), atol=1e-6)


def test_queries_of_zeros_or_nan_find_nothing():
    rows = random_rows(300, 3, "dense")
    index = ExactIndex()
    index.build(rows, 300)
    hits = index.search(Vectors((np.array([[0] * 5, [np.nan] * 5], np.float32),)), 4)
    assert (hits.entities == -1).all()
    assert (hits.scores == -np.inf).all()


def test_no_queries_and_the_protocol(tmp_path):
    rows = random_rows(5, 2, "sparse")
    index = make_exact_index()
    assert isinstance(index, Index)
    assert index.from_disk(tmp_path, rows, 5).search(rows.vectors.take(slice(0, 0)), 3).entities.shape == (0, 3)
    assert index.describe() == {"kind": "exact", "recall": 1.0}
