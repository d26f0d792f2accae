"""What holds of the hits of every index, whatever the rows: exact search knows each of them, by the same score."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from spacy_ontolink.indexes import approximate, masking, postings
from spacy_ontolink.indexes.auto import make_auto_index
from spacy_ontolink.indexes.exact import make_exact_index
from spacy_ontolink.indexes.faiss_index import make_faiss_index
from spacy_ontolink.indexes.inverted import make_inverted_index
from spacy_ontolink.types import EntityRows
from spacy_ontolink.vectors import Vectors, join

INDEXES = {
    "auto": lambda: make_auto_index(50),
    "inverted": lambda: make_inverted_index(50, 20, checked=8),
    "ivf,pq4": lambda: make_faiss_index("ivf", "pq4", flat_below=100, checked=8),
    "ivf,sq8": lambda: make_faiss_index("ivf", "sq8", flat_below=100, checked=8),
    "hnsw": lambda: make_faiss_index("hnsw", flat_below=100, checked=8),
}
SHAPES = {
    "one entity": lambda random: np.array([3]),
    "one name each": lambda random: np.ones(300, int),
    "entities without rows": lambda random: random.integers(0, 3, 400),
    "many names": lambda random: random.integers(1, 30, 60),
    "one entity of many names": lambda random: np.append(np.ones(200, int), 900),
}


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Small enough that lists have shards, and that nothing is left to the exact index."""
    monkeypatch.setattr(postings, "_SHARD", 97)
    monkeypatch.setattr(masking, "FEW_ROWS", 0)
    monkeypatch.setattr(approximate, "INVERTED_ROWS", 50)


def make_rows(counts, kind, random):
    """Rows some of which are zero, and many of which are equal."""
    owner = np.repeat(np.arange(len(counts)), counts).astype(np.int32)
    sparse = sp.random(len(owner), 300, 0.03, "csr", dtype=np.float32, rng=random)
    dense = random.normal(size=(len(owner), 16)).astype(np.float32)
    dense[random.random(len(owner)) < 0.1] = 0
    same = np.where(random.random(len(owner)) < 0.3, random.integers(0, len(owner), len(owner)), np.arange(len(owner)))
    parts = {"sparse": Vectors((sparse[same],)).normalised(), "dense": Vectors((dense[same],)).normalised()}
    vectors = join(tuple(parts.values()), (0.5, 0.5)) if kind == "both" else parts[kind]
    return EntityRows(vectors.half(), owner, np.arange(len(owner), dtype=np.int32))


def make_queries(rows, random):
    """Rows that are written a little differently; of the first, nothing is left."""
    blocks = []
    for block in rows.vectors.take(random.integers(0, len(rows.owner), 20)).blocks:
        block = block.astype(np.float32)
        if sp.issparse(block):
            block.data *= random.random(len(block.data)) > 0.3
            block.data[: block.indptr[1]] = 0
        else:
            block = block + 0.2 * random.normal(size=block.shape).astype(np.float32)
            block[0] = 0
        blocks.append(block)
    return Vectors(tuple(blocks))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("name", "kind"),
    [("auto", "sparse"), ("auto", "both"), ("auto", "dense"), ("inverted", "sparse"), ("inverted", "both"),
     ("ivf,pq4", "both"), ("ivf,sq8", "dense"), ("hnsw", "both")],
)  # fmt: skip
def test_hits_are_sound(name, kind, shape, tmp_path):
    random = np.random.default_rng(len(shape))
    counts = SHAPES[shape](random)
    rows, n_entities = make_rows(counts, kind, random), len(counts)
    queries = make_queries(rows, random)
    index, exact = INDEXES[name](), make_exact_index()
    exact.build(rows, n_entities)
    index.build(rows, n_entities)
    index.to_disk(tmp_path)
    index = pickle.loads(pickle.dumps(INDEXES[name]().from_disk(tmp_path, rows, n_entities)))
    for allowed in (None, random.random(n_entities) < 0.4, np.zeros(n_entities, bool)):
        every = exact.search(queries, n_entities, allowed)
        for k in (1, 7, n_entities + 5):
            hits = index.search(queries, k, allowed)
            assert hits.entities.shape == (len(queries), k)
            for number in range(len(queries)):
                check_one(hits, every, number, rows, allowed)
            if kind == "sparse":  # and dense vectors alone propose nothing to inverted lists
                np.testing.assert_array_equal((hits.entities >= 0).sum(axis=1), np.minimum(found_in(every), k))


def found_in(hits):
    return (hits.entities >= 0).sum(axis=1)


def check_one(hits, every, number, rows, allowed):
    """Each entity once, best first, by a row of its own, with the score that exact search gives it; then padding."""
    found = hits.entities[number] >= 0
    entities, scores = hits.entities[number][found], hits.scores[number][found]
    assert not (np.diff(found.astype(int)) > 0).any()
    assert (hits.rows[number][~found] == -1).all() and np.isneginf(hits.scores[number][~found]).all()
    assert len(np.unique(entities)) == len(entities)
    assert allowed is None or allowed[entities].all()
    assert (rows.owner[hits.rows[number][found]] == entities).all()
    assert (np.diff(scores) <= 0).all()
    known = dict(zip(every.entities[number].tolist(), every.scores[number].tolist(), strict=True))
    np.testing.assert_allclose(scores, [known[entity] for entity in entities.tolist()], atol=5e-6)
