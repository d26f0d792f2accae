import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from spacy_ontolink import row_files
from spacy_ontolink.errors import ConfigError, StateError
from spacy_ontolink.files import open_tensors, write_tensors
from spacy_ontolink.indexes import inverted, masking, postings
from spacy_ontolink.indexes.exact import make_exact_index
from spacy_ontolink.indexes.inverted import make_inverted_index
from spacy_ontolink.types import EntityRows, Index
from spacy_ontolink.vectors import Vectors, join

N_ENTITIES, N_NGRAMS = 3000, 400


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Several shards, and no mask so small that the exact index takes over."""
    monkeypatch.setattr(postings, "_SHARD", 1000)
    monkeypatch.setattr(postings, "_PIECE", 300)
    monkeypatch.setattr(masking, "FEW_ROWS", 0)


@pytest.fixture(scope="module")
def rows():
    """Rows of some ten n-grams, a few of which are in most rows, as in the names of an ontology."""
    rng = np.random.default_rng(0)
    owner = np.repeat(np.arange(N_ENTITIES), rng.integers(1, 4, N_ENTITIES)).astype(np.int32)
    share = 1 / np.arange(1, N_NGRAMS + 1) ** 0.9
    has = rng.random((len(owner), N_NGRAMS)) < np.minimum(share, 0.6)
    idf = np.log(len(owner) / (1 + has.sum(axis=0)))
    block = sp.csr_matrix((has * idf).astype(np.float32))
    return EntityRows(Vectors((block,)).normalised(), owner, np.arange(len(owner), dtype=np.int32))


@pytest.fixture
def queries(rows):
    rng = np.random.default_rng(1)
    block = rows.vectors.blocks[0][rng.choice(len(rows.owner), 70, replace=False)].copy()
    block.data *= rng.random(len(block.data)) > 0.3
    block.eliminate_zeros()
    return Vectors((block,)).normalised()


def built(rows, **settings):
    index = make_inverted_index(**settings)
    index.build(rows, N_ENTITIES)
    return index


def exact_hits(rows, queries, k, allowed=None):
    index = make_exact_index()
    index.build(rows, N_ENTITIES)
    return index.search(queries, k, allowed)


def assert_same(hits, expected):
    for mine, theirs in zip(hits, expected, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_with_all_postings_it_is_the_exact_index(rows, queries):
    index = built(rows, postings=10**7, rescored=10**5)
    assert isinstance(index, Index)
    assert index.describe()["recall"] == 1.0
    for k in (1, 5, 64, N_ENTITIES):
        assert_same(index.search(queries, k), exact_hits(rows, queries, k))


def test_few_postings_cost_recall_but_no_exactness_of_scores(rows, queries):
    index = built(rows, postings=300, rescored=100)
    hits, every = index.search(queries, 10), exact_hits(rows, queries, N_ENTITIES)
    found = [len(set(a) & set(b)) for a, b in zip(hits.entities, every.entities[:, :10], strict=True)]
    assert 0.5 < sum(found) / (10 * len(found)) < 1
    for number, entities in enumerate(hits.entities):
        score = dict(zip(every.entities[number], every.scores[number], strict=True))
        np.testing.assert_array_equal(hits.scores[number], [score[entity] for entity in entities])
        assert (rows.owner[hits.rows[number]] == entities).all()
    assert 0.3 < index.describe()["recall"] < 1


def test_a_query_reads_on_until_it_has_k_entities(rows, queries):
    index = built(rows, postings=1, rescored=1)
    hits, expected = index.search(queries, 40), exact_hits(rows, queries, 40)
    np.testing.assert_array_equal(hits.entities >= 0, expected.entities >= 0)


def test_only_allowed_entities(rows, queries):
    allowed = np.arange(N_ENTITIES) % 3 == 0
    index = built(rows, postings=10**7, rescored=10**5)
    assert_same(index.search(queries, 20, allowed), exact_hits(rows, queries, 20, allowed))
    assert (index.search(queries, 5, np.zeros(N_ENTITIES, bool)).entities == -1).all()


def test_few_allowed_rows_are_all_compared(rows, queries, monkeypatch):
    monkeypatch.setattr(masking, "FEW_ROWS", 10**6)
    allowed = np.arange(N_ENTITIES) < 50
    index = built(rows, postings=1, rescored=1)
    assert_same(index.search(queries, 20, allowed), exact_hits(rows, queries, 20, allowed))


def test_batches_change_nothing(rows, queries):
    index = built(rows, postings=500, rescored=200)
    together = index.search(queries, 8)
    for number in range(0, len(queries), 7):
        alone = index.search(queries.take(slice(number, number + 1)), 8)
        for one, all_of_them in zip(alone, together, strict=True):
            np.testing.assert_array_equal(one[0], all_of_them[number])


def test_lists_in_files_are_the_same(rows, queries, monkeypatch):
    in_memory = postings.Postings.of(rows.vectors.blocks[0])
    monkeypatch.setattr(row_files, "IN_MEMORY", 0)
    in_files = postings.Postings.of(rows.vectors.blocks[0])
    in_files.leave_pages()
    for one, other in zip(searched(in_memory, queries), searched(in_files, queries), strict=True):
        np.testing.assert_array_equal(one, other)


def searched(lists, queries, n_best=30, **settings):
    for rows, scores in lists.best_rows(queries.blocks[0], 2000, n_best, **settings):
        yield from (rows, scores)


def test_rows_of_highest_score_each_once(rows, queries):
    """By all n-grams, so that scores are the products with the rows, and rows asked for follow with theirs."""
    block, others = rows.vectors.blocks[0], [np.arange(0, len(rows.owner), 700, dtype=np.int32)] * len(queries)
    allowed = np.arange(len(rows.owner)) % 3 > 0
    lists = postings.Postings.of(block)
    found = lists.best_rows(queries.blocks[0], 10**7, 30, allowed, others)
    for (some, scores), query in zip(found, queries.blocks[0].toarray(), strict=True):
        expected = block @ query
        np.testing.assert_allclose(scores, expected[some], atol=0.01)  # weights are whole parts of 1
        best, n_best = some[: -len(others[0])], min(30, np.count_nonzero(expected[allowed]))
        assert len(best) == n_best == len(np.unique(best))
        assert allowed[best].all()
        assert scores[:n_best].min() >= np.sort(expected[allowed])[-n_best] - 0.01
        np.testing.assert_array_equal(some[n_best:], others[0])


def test_a_quarter_as_many_postings_as_rows_are_read_by_default(rows, queries, monkeypatch):
    read = []
    best_rows = postings.Postings.best_rows
    monkeypatch.setattr(inverted, "_LEAST_READ", 1)
    monkeypatch.setattr(
        postings.Postings,
        "best_rows",
        lambda self, given, budget, *rest: (read.append(budget), best_rows(self, given, budget, *rest))[1],
    )
    index = built(rows, checked=0)
    index.search(queries.take(slice(0, 1)), 3)
    assert read[0] == index.describe()["postings"] == len(rows.owner) // 4


def test_queries_of_nothing_find_nothing(rows):
    index = built(rows)
    empty = Vectors((sp.csr_matrix((3, N_NGRAMS), dtype=np.float32),))
    odd = Vectors((sp.csr_matrix(np.full((1, N_NGRAMS), np.nan, np.float32)),))
    assert (index.search(empty, 4).entities == -1).all()
    assert (index.search(odd, 4).entities == -1).all()
    assert index.search(empty.take(slice(0, 0)), 4).entities.shape == (0, 4)


def test_no_rows():
    none = EntityRows(Vectors((sp.csr_matrix((0, N_NGRAMS), dtype=np.float32),)), np.empty(0, np.int32), np.empty(0))
    index = make_inverted_index()
    index.build(none, 0)
    query = Vectors((sp.csr_matrix(np.ones((1, N_NGRAMS), np.float32)),))
    assert (index.search(query, 3).entities == -1).all()
    assert index.describe()["recall"] is None


def test_saved_opened_and_pickled(rows, queries, tmp_path):
    index = built(rows, postings=500, rescored=200)
    index.to_disk(tmp_path)
    opened = make_inverted_index(500, 200).from_disk(tmp_path, rows, N_ENTITIES)
    assert opened.describe() == index.describe()
    for other in (opened, pickle.loads(pickle.dumps(index))):
        assert_same(other.search(queries, 9), index.search(queries, 9))


def damaged(name, value, arrays):
    changed = {key: np.array(array) for key, array in arrays.items()}
    if value is None:
        changed.pop(name)
    else:
        changed[name].flat[len(changed[name].flat) // 2] = value
    return changed


@pytest.mark.parametrize(
    ("name", "value"), [("data", None), ("ends", 10**9), ("ends", -1), ("n_rows", 10**6), ("n_rows", 0)]
)
def test_damaged_lists_are_refused(rows, tmp_path, name, value):
    built(rows).to_disk(tmp_path)
    file = tmp_path / postings.FILE
    write_tensors(file, damaged(name, value, open_tensors(file)))
    with pytest.raises(StateError, match=postings.FILE):
        make_inverted_index().from_disk(tmp_path, rows, N_ENTITIES)


def test_lists_of_another_kind_of_weights_are_refused(rows, tmp_path):
    built(rows).to_disk(tmp_path)
    file = tmp_path / postings.FILE
    arrays = {key: np.array(array) for key, array in open_tensors(file).items()}
    write_tensors(file, {**arrays, "data": arrays["data"].astype(np.float16)})
    with pytest.raises(StateError, match="another kind"):
        make_inverted_index().from_disk(tmp_path, rows, N_ENTITIES)


@pytest.mark.parametrize("value", [-5, 10**8])
def test_rows_that_there_are_not_are_noticed_when_they_are_read(rows, queries, tmp_path, value):
    built(rows).to_disk(tmp_path)
    file = tmp_path / postings.FILE
    write_tensors(file, damaged("rows", value, open_tensors(file)))
    index = make_inverted_index().from_disk(tmp_path, rows, N_ENTITIES)
    with pytest.raises(StateError, match="rows that there are not"):
        index.search(queries, 5)


def test_recall_belongs_to_the_settings_it_was_measured_with(rows, tmp_path):
    built(rows, postings=500).to_disk(tmp_path)
    assert make_inverted_index(500).from_disk(tmp_path, rows, N_ENTITIES).describe()["recall"] is not None
    assert make_inverted_index(400).from_disk(tmp_path, rows, N_ENTITIES).describe()["recall"] is None


@pytest.mark.parametrize("name", [postings.FILE, inverted.FACTS])
def test_a_missing_file_is_named(rows, tmp_path, name):
    built(rows).to_disk(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(StateError, match=name):
        make_inverted_index().from_disk(tmp_path, rows, N_ENTITIES)


def test_dense_blocks_count_in_the_scores(rows, queries):
    """A projection of the n-grams beside them, as the default encoder makes it."""
    projection = np.random.default_rng(2).normal(size=(N_NGRAMS, 16)).astype(np.float32)

    def beside(sparse):
        dense = Vectors(((sparse.blocks[0] @ projection).astype(np.float32),)).normalised()
        return join((sparse, dense), (0.5, 0.5))

    both = rows._replace(vectors=beside(rows.vectors).half())
    hits = built(both, postings=10**7, rescored=10**5).search(beside(queries), 10)
    expected = exact_hits(both, beside(queries), 10)
    np.testing.assert_allclose(hits.scores, expected.scores, atol=3e-6)
    assert (hits.entities == expected.entities).mean() > 0.99


def test_low_recall_is_said(rows, caplog):
    built(rows, postings=1, rescored=1)
    assert "raise postings or rescored" in caplog.text


def test_dense_rows_are_refused(rows):
    dense = rows._replace(vectors=Vectors((np.ones((len(rows.owner), 4), np.float32),)))
    with pytest.raises(ConfigError, match="dense only"):
        make_inverted_index().build(dense, N_ENTITIES)


@pytest.mark.parametrize("settings", [{"postings": 0}, {"rescored": -1}, {"checked": -1}, {"seed": -1}])
def test_settings_that_make_no_sense(settings):
    with pytest.raises(ConfigError, match=r"a positive number|0 or more"):
        make_inverted_index(**settings)


def test_not_built(queries, tmp_path):
    with pytest.raises(StateError, match="not built"):
        make_inverted_index().search(queries, 3)
    with pytest.raises(StateError, match="not built"):
        make_inverted_index().to_disk(tmp_path)
