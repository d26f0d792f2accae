import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from spacy_ontolink.errors import ConfigError, StateError
from spacy_ontolink.indexes import approximate, faiss_index
from spacy_ontolink.indexes.exact import make_exact_index
from spacy_ontolink.indexes.faiss_index import make_faiss_index
from spacy_ontolink.types import EntityRows, Index
from spacy_ontolink.vectors import Vectors, join

N_ENTITIES = 1500
KINDS = [(kind, quantiser) for kind in ("flat", "hnsw", "ivf") for quantiser in ("none", "sq8", "pq")]
KINDS += [("flat", "pq4"), ("ivf", "pq4")]


def make_rows(kind="dense", n_entities=N_ENTITIES, seed=0):
    """Clustered rows, one to three for each entity; a hybrid has a sparse block first."""
    rng = np.random.default_rng(seed)
    owner = np.repeat(np.arange(n_entities), rng.integers(1, 4, n_entities)).astype(np.int32)
    centres = rng.normal(size=(30, 32))
    dense = centres[rng.integers(0, 30, len(owner))] + 0.7 * rng.normal(size=(len(owner), 32))
    vectors = Vectors((dense.astype(np.float32),)).normalised().half()
    if kind == "hybrid":
        sparse = Vectors((sp.random(len(owner), 200, 0.05, "csr", dtype=np.float32, rng=seed),)).normalised()
        vectors = join((sparse, vectors), (0.5, 0.5)).half()
    return EntityRows(vectors, owner, np.arange(len(owner), dtype=np.int32))


def some_queries(rows, n=70, seed=3):
    rng = np.random.default_rng(seed)
    taken = rows.vectors.take(rng.choice(len(rows.owner), n, replace=False))
    noisy = [b if sp.issparse(b) else b + 0.1 * rng.normal(size=b.shape).astype(np.float32) for b in taken.blocks]
    return Vectors(tuple(noisy)).normalised()


def exact_hits(rows, queries, k, allowed=None, n_entities=N_ENTITIES):
    index = make_exact_index()
    index.build(rows, n_entities)
    return index.search(queries, k, allowed)


def built(rows, kind="hnsw", quantiser="none", n_entities=N_ENTITIES, **settings):
    index = make_faiss_index(kind, quantiser, **{"flat_below": 100, **settings})
    index.build(rows, n_entities)
    return index


def recall(hits, expected):
    found = [set(a) & set(b) - {-1} for a, b in zip(hits.entities, expected.entities, strict=True)]
    return sum(map(len, found)) / (expected.entities >= 0).sum()


@pytest.mark.parametrize("block", ["dense", "hybrid"])
@pytest.mark.parametrize(("kind", "quantiser"), KINDS)
def test_unique_entities_with_the_scores_of_exact_search(kind, quantiser, block):
    rows = make_rows(block)
    index = built(rows, kind, quantiser)
    assert isinstance(index, Index)
    queries = some_queries(rows)
    hits, expected = index.search(queries, 10), exact_hits(rows, queries, 10)
    assert recall(hits, expected) > 0.9
    every = exact_hits(rows, queries, N_ENTITIES)
    for number in range(len(queries)):
        found = hits.entities[number]
        assert len(set(found)) == 10
        assert (rows.owner[hits.rows[number]] == found).all()
        score = dict(zip(every.entities[number], every.scores[number], strict=True))
        np.testing.assert_allclose(hits.scores[number], [score[entity] for entity in found], atol=3e-6)
    assert (np.diff(hits.scores, axis=1) <= 0).all()


@pytest.mark.parametrize("k", [1, 5, 64])
def test_flat_is_exact(k):
    rows = make_rows()
    queries = some_queries(rows)
    hits, expected = built(rows, "flat").search(queries, k), exact_hits(rows, queries, k)
    np.testing.assert_array_equal(hits.entities, expected.entities)
    np.testing.assert_array_equal(hits.rows, expected.rows)
    np.testing.assert_allclose(hits.scores, expected.scores, atol=3e-6)


@pytest.mark.parametrize("block", ["dense", "hybrid"])
@pytest.mark.parametrize(("kind", "quantiser"), KINDS)
@pytest.mark.parametrize("share", [0.5, 0.02, 0.0])
def test_only_allowed_entities(kind, quantiser, share, block, monkeypatch):
    monkeypatch.setattr("spacy_ontolink.indexes.masking.FEW_ROWS", 0)
    rows = make_rows(block)
    queries = some_queries(rows)
    allowed = np.random.default_rng(5).random(N_ENTITIES) < share
    index = built(rows, kind, quantiser)
    hits, expected = index.search(queries, 8, allowed), exact_hits(rows, queries, 8, allowed)
    assert allowed[hits.entities[hits.entities >= 0]].all()
    assert ((hits.entities >= 0).sum(axis=1) == (expected.entities >= 0).sum(axis=1)).all()
    if share:
        assert recall(hits, expected) > 0.9
    np.testing.assert_array_equal(
        index.search(queries, 8, np.ones(N_ENTITIES, bool)).rows, index.search(queries, 8).rows
    )


def test_few_allowed_rows_are_scored_exactly():
    rows = make_rows()
    queries = some_queries(rows)
    allowed = np.random.default_rng(5).random(N_ENTITIES) < 0.3
    hits = built(rows, "ivf", "pq", nprobe=1).search(queries, 20, allowed)
    np.testing.assert_array_equal(hits.entities, exact_hits(rows, queries, 20, allowed).entities)


@pytest.mark.parametrize(("kind", "quantiser"), KINDS)
def test_one_name_on_500_entities_comes_in_order_of_rows(kind, quantiser):
    rows = make_rows(n_entities=2500)
    block = rows.vectors.blocks[0].copy()
    same = np.flatnonzero(np.diff(rows.owner, prepend=-1))[200:700]
    block[same] = block[same[0]]
    rows = rows._replace(vectors=Vectors((block,)))
    index = built(rows, kind, quantiser, 2500)
    hits = index.search(rows.vectors.take(same[:1]), 64)
    assert hits.rows[0].tolist() == same[:64].tolist()


def test_more_than_there_is():
    rows = make_rows(n_entities=200)
    queries = some_queries(rows, 5)
    hits = built(rows, "hnsw", n_entities=200).search(queries, 300)
    expected = exact_hits(rows, queries, 300, n_entities=200)
    np.testing.assert_array_equal(hits.entities, expected.entities)
    assert (hits.entities[:, 200:] == -1).all()
    assert (hits.rows[:, 200:] == -1).all()
    assert (hits.scores[:, 200:] == -np.inf).all()


@pytest.mark.parametrize("block", ["dense", "hybrid"])
@pytest.mark.parametrize(("kind", "quantiser"), KINDS)
def test_queries_of_nothing_find_nothing(kind, quantiser, block):
    rows = make_rows(block)
    queries = some_queries(rows, 3)
    dense = queries.blocks[-1]
    dense[0, 1], dense[2] = np.nan, 0
    if block == "hybrid":
        queries.blocks[0].data[queries.blocks[0].indptr[2] :] = 0
    hits = built(rows, kind, quantiser).search(queries, 4)
    assert (hits.entities[[0, 2]] == -1).all()
    assert (hits.rows[[0, 2]] == -1).all()
    assert (hits.scores[[0, 2]] == -np.inf).all()
    assert (hits.entities[1] >= 0).all()


@pytest.mark.parametrize("quantiser", ["sq8", "pq4"])
def test_a_batch_changes_nothing(quantiser):
    rows = make_rows()
    queries = some_queries(rows, 130)
    index = built(rows, "ivf", quantiser)
    together = index.search(queries, 7)
    alone = [index.search(queries.take(slice(n, n + 1)), 7) for n in range(130)]
    np.testing.assert_array_equal(together.entities, np.vstack([hits.entities for hits in alone]))
    assert index.search(queries.take(slice(0, 0)), 7).entities.shape == (0, 7)


def test_sparse_rows_alone_are_refused_with_the_way_out():
    rows = make_rows("hybrid")
    with pytest.raises(ConfigError, match=r"sparse only \(dimensions \(200,\)\), .* Use the auto index"):
        built(rows._replace(vectors=Vectors(rows.vectors.blocks[:1])))


def test_queries_of_other_dimensions_are_refused_with_both():
    with pytest.raises(StateError, match=r"dimensions \(31,\), the rows \(32,\)"):
        built(make_rows()).search(Vectors((np.ones((1, 31), np.float32),)), 3)


def test_search_before_build():
    with pytest.raises(StateError, match="not built yet"):
        make_faiss_index().search(Vectors((np.ones((1, 2), np.float32),)), 1)


@pytest.mark.parametrize(
    "settings",
    [{"kind": "lsh"}, {"quantiser": "sq4"}, {"nlist": 0}, {"nprobe": 0}, {"ef_search": 0}, {"links": 0}, {"pq_m": 0}],
)
def test_senseless_settings(settings):
    with pytest.raises(ConfigError, match=next(iter(settings))):
        make_faiss_index(**settings)


def test_a_graph_of_half_bytes_is_refused():
    with pytest.raises(ConfigError, match=r"kind = 'hnsw' .* with quantiser 'pq4'"):
        make_faiss_index("hnsw", "pq4")


def test_parts_must_divide_the_dimensions():
    with pytest.raises(ConfigError, match=r"pq_m = 5 .* a divisor of the 32 dimensions"):
        built(make_rows(), "ivf", "pq", pq_m=5)


@pytest.mark.parametrize(("kind", "quantiser"), KINDS)
def test_round_trip(kind, quantiser, tmp_path):
    rows = make_rows("hybrid")
    queries = some_queries(rows)
    index = built(rows, kind, quantiser)
    index.to_disk(tmp_path / "index")
    rows.vectors.to_disk(tmp_path / "rows.safetensors")
    mapped = rows._replace(vectors=Vectors.from_disk(tmp_path / "rows.safetensors"))
    opened = make_faiss_index(kind, quantiser).from_disk(tmp_path / "index", mapped, N_ENTITIES)
    for mine, other in zip(index.search(queries, 9), opened.search(queries, 9), strict=True):
        np.testing.assert_array_equal(mine, other)
    assert opened.describe()["recall"] == index.describe()["recall"]
    again = pickle.loads(pickle.dumps(opened))
    np.testing.assert_array_equal(again.search(queries, 9).rows, index.search(queries, 9).rows)


def test_search_settings_count_when_built_and_when_opened(tmp_path):
    rows = make_rows()
    queries = some_queries(rows, 200)
    expected = exact_hits(rows, queries, 20)
    few, all_lists = built(rows, "ivf", nlist=40, nprobe=1), built(rows, "ivf", nlist=40, nprobe=40)
    all_lists.to_disk(tmp_path)
    opened = make_faiss_index("ivf", nprobe=1).from_disk(tmp_path, rows, N_ENTITIES)
    assert recall(all_lists.search(queries, 20), expected) == 1
    assert recall(few.search(queries, 20), expected) < 0.99
    assert recall(opened.search(queries, 20), expected) < 0.99
    assert opened.describe()["nprobe"] == 1
    assert make_faiss_index("ivf", nprobe=40).from_disk(tmp_path, rows, N_ENTITIES).describe()["nprobe"] == 40


def test_the_beam_is_never_narrower_than_set():
    rows = make_rows()
    index = built(rows, "hnsw", ef_search=333, checked=0)
    engine, seen = index._engine, []
    search = engine.search
    engine.search = lambda queries, fetch, ef, nprobe, mask: seen.append(ef) or search(queries, fetch, ef, nprobe, mask)
    index.search(some_queries(rows, 2), 5)
    assert min(seen) == 333


def test_facts_for_the_manifest(caplog):
    caplog.set_level("INFO")
    facts = built(make_rows(), "ivf", "sq8").describe()
    assert json.loads(json.dumps(facts)) == facts
    assert facts["kind"] == "ivf"
    assert facts["dimension"] == 32
    assert 0.95 <= facts["recall"] <= 1
    assert not [record for record in caplog.records if record.name.startswith("spacy_ontolink")]


def test_low_recall_is_said(caplog):
    rng = np.random.default_rng(0)
    noise = Vectors((rng.normal(size=(4000, 16)).astype(np.float32),)).normalised()
    numbers = np.arange(4000, dtype=np.int32)
    facts = built(EntityRows(noise, numbers, numbers), "ivf", nlist=100, nprobe=1, n_entities=4000).describe()
    assert facts["recall"] < 0.95
    assert "raise nprobe" in caplog.text


@pytest.mark.parametrize(("kind", "quantiser"), KINDS[1:])
def test_few_rows_are_all_searched(kind, quantiser, caplog, tmp_path):
    caplog.set_level("INFO")
    rows = make_rows(n_entities=30)
    index = built(rows, kind, quantiser, 30)
    assert "too few" in caplog.text
    assert (index.describe()["kind"], index.describe()["recall"]) == ("flat", 1.0)
    index.to_disk(tmp_path)
    opened = make_faiss_index(kind, quantiser).from_disk(tmp_path, rows, 30)
    queries = some_queries(rows, 5)
    np.testing.assert_array_equal(opened.search(queries, 5).rows, exact_hits(rows, queries, 5, n_entities=30).rows)


def test_no_rows_at_all(tmp_path):
    rows = EntityRows(Vectors((np.empty((0, 4), np.float16),)), np.empty(0, np.int32), np.empty(0, np.int32))
    index = built(rows, n_entities=0)
    index.to_disk(tmp_path)
    index = make_faiss_index().from_disk(tmp_path, rows, 0)
    assert (index.search(Vectors((np.ones((2, 4), np.float32),)), 3).entities == -1).all()


def test_an_index_over_other_rows_is_refused(tmp_path):
    built(make_rows()).to_disk(tmp_path)
    other = make_rows(seed=1)
    with pytest.raises(StateError, match=rf"index\.faiss is damaged.*but the saved rows are {len(other.owner)} of 32"):
        make_faiss_index().from_disk(tmp_path, other, N_ENTITIES)


def test_an_index_of_another_kind_is_refused_with_both(tmp_path):
    rows = make_rows()
    built(rows, "ivf", "pq").to_disk(tmp_path)
    with pytest.raises(StateError, match="holds a ivf,pq index, but the config asks for hnsw"):
        make_faiss_index("hnsw").from_disk(tmp_path, rows, N_ENTITIES)


def test_damage_is_named(tmp_path):
    rows = make_rows()
    built(rows).to_disk(tmp_path)
    file = tmp_path / "index.faiss"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 255
    for damaged in (content, content[:100], b""):
        file.write_bytes(damaged)
        with pytest.raises(StateError, match=r"index\.faiss is damaged"):
            make_faiss_index().from_disk(tmp_path, rows, N_ENTITIES)
    file.unlink()
    with pytest.raises(StateError, match=r"index\.faiss is damaged \(missing"):
        make_faiss_index().from_disk(tmp_path, rows, N_ENTITIES)
    for facts in ("[]", '{"asked": "hnsw"}', "{"):
        (tmp_path / "index.json").write_text(facts)
        with pytest.raises(StateError, match=r"index\.(json|faiss) is damaged"):
            make_faiss_index().from_disk(tmp_path, rows, N_ENTITIES)


@pytest.mark.parametrize("quantiser", ["pq", "pq4"])
def test_the_same_seed_makes_the_same_index(quantiser):
    rows = make_rows()
    queries = some_queries(rows)
    one, two = (built(rows, "ivf", quantiser, nprobe=2).search(queries, 30) for _ in range(2))
    np.testing.assert_array_equal(one.rows, two.rows)


FORKED = """
import os, sys, numpy as np
from spacy_ontolink.indexes.faiss_index import make_faiss_index
from spacy_ontolink.types import EntityRows
from spacy_ontolink.vectors import Vectors
dense = np.random.default_rng(0).normal(size=(3000, 16)).astype(np.float32)
rows = EntityRows(Vectors((dense,)), np.arange(3000, dtype=np.int32),
                  np.arange(3000, dtype=np.int32))
index = make_faiss_index("ivf", flat_below=10)
import faiss; faiss.omp_set_num_threads(2)
index.build(rows, 3000)
queries = rows.vectors.take(slice(0, 300))
expected = index.search(queries, 5).entities
child = os.fork()
if not child:
    os._exit(0 if (index.search(queries, 5).entities == expected).all() else 3)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_searches_after_its_parent_did():
    command = [sys.executable, "-W", "ignore", "-c", FORKED]
    assert subprocess.run(command, timeout=60, check=False).returncode == 0


@pytest.mark.parametrize(("kind", "quantiser"), [("flat", "none"), ("ivf", "sq8"), ("ivf", "pq4")])
def test_many_sparse_rows_beside_are_inverted(tmp_path, monkeypatch, kind, quantiser):
    monkeypatch.setattr(approximate, "INVERTED_ROWS", 100)
    rows = make_rows("hybrid")
    queries = some_queries(rows)
    index = built(rows, kind, quantiser)
    index.to_disk(tmp_path / "index")
    assert (tmp_path / "index" / approximate.BESIDE / "postings.safetensors").exists()
    opened = make_faiss_index(kind, quantiser).from_disk(tmp_path / "index", rows, N_ENTITIES)
    for one in (index, opened):
        assert recall(one.search(queries, 10), exact_hits(rows, queries, 10)) > 0.99


def test_few_of_the_proposed_rows_are_scored_exactly(monkeypatch):
    """Those that are best by the n-grams that were looked up plus the dense part, which here are all that there are."""
    monkeypatch.setattr(approximate, "INVERTED_ROWS", 100)
    rows = make_rows("hybrid")
    index = built(rows, "flat", checked=0)
    rank, scored = index._scorer.rank, []
    index._scorer.rank = lambda queries, proposed, k: scored.append(proposed.shape[1]) or rank(queries, proposed, k)
    queries = some_queries(rows)
    assert recall(index.search(queries, 10), exact_hits(rows, queries, 10)) == 1
    assert scored
    assert max(scored) < len(rows.owner) / 10


@pytest.mark.parametrize("block", ["dense", "hybrid"])
@pytest.mark.parametrize("quantiser", ["sq8", "pq4"])  # faiss maps no lists of the latter
def test_large_lists_stay_on_disk(tmp_path, monkeypatch, block, quantiser):
    monkeypatch.setattr("spacy_ontolink.indexes.faiss_engine._MAPPED", 0)
    rows = make_rows(block)
    queries = some_queries(rows)
    index = built(rows, "ivf", quantiser)
    index.to_disk(tmp_path / "one")
    opened = make_faiss_index("ivf", quantiser).from_disk(tmp_path / "one", rows, N_ENTITIES)
    opened.to_disk(tmp_path / "two")
    assert (tmp_path / "two" / "index.faiss").read_bytes() == (tmp_path / "one" / "index.faiss").read_bytes()
    again = make_faiss_index("ivf", quantiser).from_disk(tmp_path / "two", rows, N_ENTITIES)
    for one in (opened, again, pickle.loads(pickle.dumps(opened))):
        np.testing.assert_array_equal(one.search(queries, 9).rows, index.search(queries, 9).rows)


def test_large_files_are_told_by_their_size(tmp_path, monkeypatch):
    monkeypatch.setattr("spacy_ontolink.indexes.faiss_index.ALWAYS", 0)
    rows = make_rows()
    built(rows, "ivf").to_disk(tmp_path)
    make_faiss_index("ivf").from_disk(tmp_path, rows, N_ENTITIES)
    with (tmp_path / "index.faiss").open("ab") as file:
        file.write(b"more")
    with pytest.raises(StateError, match="not as it was saved"):
        make_faiss_index("ivf").from_disk(tmp_path, rows, N_ENTITIES)


def test_as_many_lists_are_visited_as_recall_takes():
    rows = make_rows(n_entities=4000)
    random = np.random.default_rng(0)
    noise = Vectors((random.normal(size=(len(rows.owner), 32)).astype(np.float32),)).normalised().half()
    easy, hard = (built(some, "ivf", nlist=100, n_entities=4000) for some in (rows, rows._replace(vectors=noise)))
    assert 16 <= easy.describe()["nprobe"] < hard.describe()["nprobe"]
    assert hard.describe()["recall"] >= 0.99


def test_no_more_lists_are_visited_than_add_to_recall(monkeypatch):
    """What n-grams miss, for instance, no number of lists finds."""
    recalls = {16: 0.9, 32: 0.95, 64: 0.9501}
    monkeypatch.setattr(faiss_index.RecallCheck, "recall", lambda self, index: recalls[index._visited])
    facts = built(make_rows(), "ivf", nlist=80).describe()
    assert (facts["nprobe"], facts["recall"]) == (32, 0.95)
