"""A real LanceDB store in a temporary folder; there is no server to start."""

import json
import multiprocessing
import shutil

import numpy as np
import pytest
import scipy.sparse as sp

from spacy_ontolink.errors import ConfigError, StateError
from spacy_ontolink.indexes import lance_store, masking
from spacy_ontolink.indexes.exact import make_exact_index
from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.types import Entity, EntityRows, Index, Synonym
from spacy_ontolink.vectors import Vectors, join

pytest.importorskip("lancedb", reason="needs the extra lance")
from spacy_ontolink.indexes.lance_index import make_lance_index

N_ENTITIES, DIMENSION = 1200, 32
TYPES = ("disease", "finding", "patient's wish")


def entities(n=N_ENTITIES, prefix="T"):
    for number in range(n):
        yield Entity(
            f"{prefix}:{number:05}",
            f"name {number}",
            (Synonym(f"synonym {number}"),) if number % 2 else (),
            types=(TYPES[number % 3],),
        )


def vector_of(text):
    random = np.random.default_rng(abs(hash_of(text)))
    return centres[int(random.integers(0, 30))] + 0.7 * random.normal(size=DIMENSION)


def hash_of(text):
    return int.from_bytes(text.encode()[-7:], "little")


centres = np.random.default_rng(0).normal(size=(30, DIMENSION))


def rows_of(kb, changed=()):
    """A row for each name, made of its text; of the entities in ``changed``, another one."""
    texts = kb.name_texts()
    dense = np.array([vector_of(text) for text in texts]).reshape(-1, DIMENSION)
    owner = np.asarray(kb.name_owner)
    dense[np.isin(owner, changed)] += 1
    vectors = Vectors((dense.astype(np.float32),)).normalised().half()
    return EntityRows(vectors, owner, np.arange(len(owner), dtype=np.int32))


def kb_of(some):
    return KnowledgeBase.from_entities(some, name="test")


def index_at(folder, kb, encoder="encoder", **settings):
    index = make_lance_index(str(folder / "store"), **{"indexed_from": 100, **settings})
    index.introduce(kb, encoder)
    return index


def built(folder, kb, rows=None, **settings):
    index = index_at(folder, kb, **settings)
    index.build(rows or rows_of(kb), len(kb))
    return index


def exact_hits(rows, n_entities, queries, k, allowed=None):
    index = make_exact_index()
    index.build(rows, n_entities)
    return index.search(queries, k, allowed)


def some_queries(rows, n=70):
    random = np.random.default_rng(3)
    taken = rows.vectors.take(random.choice(len(rows.owner), n, replace=False))
    noisy = [b if sp.issparse(b) else b + 0.1 * random.normal(size=b.shape).astype(np.float32) for b in taken.blocks]
    return Vectors(tuple(noisy)).normalised()


def recall(hits, expected):
    found = [set(a) & set(b) - {-1} for a, b in zip(hits.entities, expected.entities, strict=True)]
    return sum(map(len, found)) / (expected.entities >= 0).sum()


def data_files(folder):
    return {file.name: file.stat().st_mtime_ns for file in (folder / "store" / "ontolink.lance" / "data").iterdir()}


@pytest.fixture(scope="module")
def kb():
    return kb_of(entities())


@pytest.mark.parametrize("quantiser", ["none", "sq8"])
@pytest.mark.parametrize("indexed_from", [100, 10**6])
@pytest.mark.parametrize("hybrid", [False, True])
def test_scores_of_exact_search(tmp_path, kb, quantiser, indexed_from, hybrid):
    rows = rows_of(kb)
    if hybrid:
        sparse = Vectors((sp.random(len(rows.owner), 200, 0.05, "csr", dtype=np.float32, rng=0),)).normalised()
        rows = rows._replace(vectors=join((sparse, rows.vectors), (0.5, 0.5)).half())
    index = built(tmp_path, kb, rows, quantiser=quantiser, indexed_from=indexed_from)
    assert isinstance(index, Index)
    assert index.describe()["recall"] > 0.95
    queries = some_queries(rows)
    hits, expected = index.search(queries, 10), exact_hits(rows, len(kb), queries, 10)
    assert recall(hits, expected) > 0.95
    every = exact_hits(rows, len(kb), queries, len(kb))
    for number in range(len(queries)):
        assert len(set(hits.entities[number])) == 10
        assert (rows.owner[hits.rows[number]] == hits.entities[number]).all()
        score = dict(zip(every.entities[number], every.scores[number], strict=True))
        np.testing.assert_allclose(hits.scores[number], [score[e] for e in hits.entities[number]], atol=3e-6)


def test_one_query_and_none(tmp_path, kb):
    rows = rows_of(kb)
    index = built(tmp_path, kb, rows)
    queries = some_queries(rows, 1)
    np.testing.assert_array_equal(index.search(queries, 5).entities, exact_hits(rows, len(kb), queries, 5).entities)
    assert index.search(queries.take(slice(0, 0)), 5).entities.shape == (0, 5)


@pytest.mark.parametrize("types", [["disease"], ["finding", "patient's wish"]])
def test_a_filter_is_applied_by_the_store(tmp_path, kb, types, monkeypatch):
    monkeypatch.setattr(masking, "FEW_ROWS", 0)
    rows = rows_of(kb)
    index = built(tmp_path, kb, rows)
    asked = []
    search = lance_store.Store.search

    def watched(self, queries, fetch, nprobe, where):
        keys, known = search(self, queries, fetch, nprobe, where)
        asked.append((where, keys[known]))
        return keys, known

    monkeypatch.setattr(lance_store.Store, "search", watched)
    allowed = kb.mask(types=types)
    queries = some_queries(rows)
    hits, expected = index.search(queries, 8, allowed), exact_hits(rows, len(kb), queries, 8, allowed)
    assert recall(hits, expected) > 0.95
    assert allowed[hits.entities].all()
    held = index._store.open().search().select(["key", "kind"]).limit(None).to_arrow().to_pydict()
    kind = dict(zip(held["key"], held["kind"], strict=True))
    assert asked
    for where, keys in asked:
        assert where.startswith("kind IN (")
        assert {kind[key] for key in keys.tolist()} == {f"T | {name}" for name in types}


def test_a_filter_that_the_store_does_not_know_is_seen_to_here(tmp_path, kb, monkeypatch):
    monkeypatch.setattr(masking, "FEW_ROWS", 0)
    rows = rows_of(kb)
    index = built(tmp_path, kb, rows)
    allowed = np.random.default_rng(5).random(len(kb)) < 0.4
    queries = some_queries(rows)
    hits, expected = index.search(queries, 8, allowed), exact_hits(rows, len(kb), queries, 8, allowed)
    assert allowed[hits.entities[hits.entities >= 0]].all()
    assert recall(hits, expected) > 0.95


def test_only_what_changed_is_written(tmp_path, kb):
    old = built(tmp_path, kb)
    old.to_disk(tmp_path / "old")
    assert old.describe()["added"] == kb.n_names
    before, held = data_files(tmp_path), _row_ids(old)
    # One goes, one is renamed, one gets another vector, three come, the first of which moves all numbers.
    now = [Entity("A:1", "first of all"), *(one for one in entities(N_ENTITIES + 2) if one.id != "T:00500")]
    now[1] = Entity("T:00000", "renamed", types=(TYPES[0],))
    new_kb = kb_of(now)
    number = new_kb.number_of("T:00010")
    rows = rows_of(new_kb, changed=[number])
    new = built(tmp_path, new_kb, rows)
    facts = new.describe()
    assert (facts["added"], facts["changed"], facts["deleted"]) == (5, 1, 2)
    assert facts["left"] == new_kb.n_names - 6
    assert before.items() <= data_files(tmp_path).items()
    after = _row_ids(new)
    gone = _keys(old, "T:00500") | _keys(old, "T:00000")
    changed = _keys(new, "T:00010")
    assert {key: held[key] for key in held.keys() - gone - changed} == {
        key: after[key] for key in held.keys() - gone - changed
    }
    queries = some_queries(rows)
    assert recall(new.search(queries, 10), exact_hits(rows, len(new_kb), queries, 10)) > 0.95
    assert facts["recall"] > 0.95


def _row_ids(index):
    """Where LanceDB has each row: it moves when it is written again."""
    found = index._store.open().search().select(["key"]).with_row_id(True).limit(None).to_arrow()
    return dict(zip(found["key"].to_pylist(), found["_rowid"].to_pylist(), strict=True))


def _keys(index, id):
    return set(index._store.open().search().where(f"id = '{id}'").select(["key"]).to_arrow()["key"].to_pylist())


def test_nothing_is_written_where_nothing_changed(tmp_path, kb):
    first = built(tmp_path, kb)
    before = data_files(tmp_path)
    again = built(tmp_path, kb)
    assert again.describe()["version"] == first.describe()["version"]
    assert again.describe()["left"] == kb.n_names
    assert data_files(tmp_path) == before


def test_a_pipeline_keeps_its_view_while_others_write(tmp_path, kb):
    rows = rows_of(kb)
    old = built(tmp_path, kb, rows)
    old.to_disk(tmp_path / "old")
    queries = some_queries(rows)
    before = old.search(queries, 10)
    built(tmp_path, kb_of(list(entities())[::2]))
    opened = index_at(tmp_path, kb).from_disk(tmp_path / "old", rows, len(kb))
    for index in (old, opened):
        np.testing.assert_array_equal(index.search(queries, 10).entities, before.entities)
        np.testing.assert_array_equal(index.search(queries, 10).scores, before.scores)
    assert opened.describe() == old.describe()


def test_a_saved_version_is_not_cleaned_up(tmp_path, kb):
    from datetime import timedelta

    rows = rows_of(kb)
    built(tmp_path, kb, rows).to_disk(tmp_path / "old")
    new = built(tmp_path, kb_of(list(entities())[::2]))
    table = lance_store._open(new.table)
    with pytest.raises(RuntimeError, match="ontolink-"):
        table.optimize(cleanup_older_than=timedelta(milliseconds=1), delete_unverified=True)
    opened = index_at(tmp_path, kb).from_disk(tmp_path / "old", rows, len(kb))
    queries = some_queries(rows)
    assert recall(opened.search(queries, 10), exact_hits(rows, len(kb), queries, 10)) > 0.95


def test_a_version_that_was_cleaned_up_is_missed(tmp_path, kb):
    from datetime import timedelta

    rows = rows_of(kb)
    old = built(tmp_path, kb, rows)
    old.to_disk(tmp_path / "old")
    new = built(tmp_path, kb_of(list(entities())[::2]))
    table = lance_store._open(new.table)
    for tag in table.tags.list():
        table.tags.delete(tag)
    table.optimize(cleanup_older_than=timedelta(milliseconds=1), delete_unverified=True)
    with pytest.raises(StateError, match=rf"no version {old.describe()['version']} any more"):
        index_at(tmp_path, kb).from_disk(tmp_path / "old", rows, len(kb))


def test_a_missing_or_replaced_store(tmp_path, kb):
    rows = rows_of(kb)
    built(tmp_path, kb, rows).to_disk(tmp_path / "index")
    shutil.move(tmp_path / "store", tmp_path / "moved")
    with pytest.raises(StateError, match=r"the table 'ontolink' in .*store is not there"):
        index_at(tmp_path, kb).from_disk(tmp_path / "index", rows, len(kb))
    assert not (tmp_path / "store").exists()
    built(tmp_path, kb, rows)
    with pytest.raises(StateError, match="not the one that this pipeline was built with"):
        index_at(tmp_path, kb).from_disk(tmp_path / "index", rows, len(kb))
    moved = make_lance_index(str(tmp_path / "moved"))
    moved.introduce(kb, "encoder")
    assert moved.from_disk(tmp_path / "index", rows, len(kb)).describe()["recall"] > 0.95


def test_a_table_of_another_kind(tmp_path, kb):
    built(tmp_path, kb)
    narrow = rows_of(kb)
    narrow = narrow._replace(vectors=Vectors((narrow.vectors.blocks[0][:, :16],)))
    with pytest.raises(StateError, match="vectors of 32 dimensions, and those to be written have 16"):
        built(tmp_path, kb, narrow)
    with pytest.raises(StateError, match=r"of the encoder encoder, and those .* are of another.*--keep-idf"):
        built(tmp_path, kb, encoder="another")
    other = kb_of(entities(prefix="OTHER"))
    with pytest.raises(StateError, match="no name in common with"):
        built(tmp_path, other)
    assert built(tmp_path, other, table="other").describe()["added"] == other.n_names
    lance_store.load_lancedb().connect(str(tmp_path / "store")).create_table("foreign", data=[{"x": 1}])
    with pytest.raises(StateError, match=r"'foreign' in .* was not made by spacy-ontolink"):
        built(tmp_path, kb, table="foreign")


def test_a_store_that_is_a_file(tmp_path, kb):
    (tmp_path / "store").write_text("no folder")
    with pytest.raises(StateError, match="cannot be used"):
        built(tmp_path, kb)


def test_another_writer_in_between_is_noticed(tmp_path, kb, monkeypatch):
    built(tmp_path, kb)
    renew = lance_store._renew_index

    def disturbed(handle, *rest):
        lance_store._open(lance_store.Table(str(tmp_path / "store"), "ontolink")).delete("name = 'name 7'")
        handle.checkout_latest()
        renew(handle, *rest)

    monkeypatch.setattr(lance_store, "_renew_index", disturbed)
    now = kb_of([*entities(), Entity("T:new", "a new one")])
    with pytest.raises(StateError, match="another process at the same time"):
        built(tmp_path, now)
    monkeypatch.undo()
    assert built(tmp_path, now).describe()["added"] == 1  # "name 7"; what was written before has stayed


def _write(folder, n, ready, results):
    kb = kb_of(entities(n))
    rows = rows_of(kb)
    index = index_at(folder, kb)
    ready.wait()
    try:
        index.build(rows, len(kb))
        queries = some_queries(rows, 20)
        results.put(("done", float(recall(index.search(queries, 10), exact_hits(rows, n, queries, 10)))))
    except StateError as error:
        results.put(("refused", str(error)))


def test_two_processes_write_at_once(tmp_path, kb):
    built(tmp_path, kb)
    context = multiprocessing.get_context("spawn")
    ready, results = context.Barrier(2), context.Queue()
    writers = [context.Process(target=_write, args=(tmp_path, n, ready, results)) for n in (N_ENTITIES + 40, 900)]
    for writer in writers:
        writer.start()
    outcomes = [results.get(timeout=120) for _ in writers]
    for writer in writers:
        writer.join()
    for outcome, value in outcomes:
        assert value > 0.95 if outcome == "done" else "another process at the same time" in value
    assert built(tmp_path, kb).describe()["recall"] > 0.95


def test_searches_in_forked_children(tmp_path, kb):
    rows = rows_of(kb)
    index = built(tmp_path, kb, rows)
    queries = some_queries(rows, 20)
    expected = index.search(queries, 10).entities
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    child = context.Process(target=lambda: results.put(index.search(queries, 10).entities.tolist()))
    child.start()
    found = results.get(timeout=60)
    child.join()
    assert found == expected.tolist()


def test_many_new_rows_are_indexed(tmp_path, kb):
    built(tmp_path, kb_of(entities(600)))
    index = built(tmp_path, kb)
    assert index._store.open().index_stats("vector_idx").num_unindexed_rows == 0


def test_damaged_files(tmp_path, kb):
    rows = rows_of(kb)
    built(tmp_path, kb, rows).to_disk(tmp_path / "index")
    facts = tmp_path / "index" / "lance.json"
    facts.write_text(json.dumps({"version": 1}))
    with pytest.raises(StateError, match="facts are missing"):
        index_at(tmp_path, kb).from_disk(tmp_path / "index", rows, len(kb))


def test_settings(tmp_path, kb):
    rows = rows_of(kb)
    built(tmp_path, kb, rows).to_disk(tmp_path / "index")
    with pytest.raises(StateError, match=r"none lance.*sq8 lance"):
        index_at(tmp_path, kb, quantiser="sq8").from_disk(tmp_path / "index", rows, len(kb))
    for settings in ({"quantiser": "pq"}, {"nprobe": 0}, {"table": ""}, {"indexed_from": -1}):
        with pytest.raises(ConfigError):
            make_lance_index("store", **settings)
    with pytest.raises(StateError, match="introduce"):
        make_lance_index(str(tmp_path / "new")).build(rows, len(kb))
