import logging

import numpy as np
import pytest
import scipy.sparse as sp

from spacy_ontolink.errors import ConfigError, StateError
from spacy_ontolink.indexes.auto import FACTS, make_auto_index
from spacy_ontolink.types import EntityRows, Index
from spacy_ontolink.vectors import Vectors, join

N = 300


def make_rows(kind):
    rng = np.random.default_rng(0)
    sparse = Vectors((sp.random(N, 50, 0.2, "csr", dtype=np.float32, rng=0),)).normalised()
    dense = Vectors((rng.normal(size=(N, 8)).astype(np.float32),)).normalised()
    vectors = {
        "sparse": sparse,
        "dense": dense,
        "hybrid": join((sparse, dense), (0.5, 0.5)),
    }[kind]
    return EntityRows(vectors.half(), np.arange(N, dtype=np.int32), np.arange(N, dtype=np.int32))


def built(kind, exact_rows):
    index = make_auto_index(exact_rows)
    index.build(make_rows(kind), N)
    return index


@pytest.mark.parametrize(
    ("kind", "exact_rows", "chosen"),
    [("sparse", N, "exact"), ("dense", N, "exact"), ("sparse", N - 1, "inverted"), ("dense", 0, "flat"),
     ("hybrid", 0, "flat")],
)  # fmt: skip
def test_chosen_by_number_and_kind_of_rows(kind, exact_rows, chosen, tmp_path, caplog):
    with caplog.at_level(logging.INFO):
        index = built(kind, exact_rows)
    assert isinstance(index, Index)
    assert index.describe()["kind"] == chosen  # so few rows are too few for lists of near ones
    assert ("set another to override" in caplog.text) == (chosen != "exact")
    index.to_disk(tmp_path)
    opened = make_auto_index().from_disk(tmp_path, make_rows(kind), N)
    queries = make_rows(kind).vectors.take(slice(0, 5))
    assert opened.describe() == index.describe()
    for mine, theirs in zip(opened.search(queries, 7), index.search(queries, 7), strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("dimensions", [8, 128, 136])
def test_large_dense_rows_get_lists_of_half_bytes(dimensions, tmp_path):
    rng = np.random.default_rng(0)
    vectors = Vectors((rng.normal(size=(6000, dimensions)).astype(np.float32),)).normalised().half()
    rows = EntityRows(vectors, np.arange(6000, dtype=np.int32), np.arange(6000, dtype=np.int32))
    index = make_auto_index(1000)
    index.build(rows, 6000)
    assert index.describe()["asked"] == "ivf,pq4"
    index.to_disk(tmp_path)
    assert make_auto_index().from_disk(tmp_path, rows, 6000).describe() == index.describe()


def test_damage_is_named(tmp_path):
    built("sparse", N).to_disk(tmp_path)
    (tmp_path / FACTS).write_text('{"kind": "other"}')
    with pytest.raises(StateError, match="names no index but 'other'"):
        make_auto_index().from_disk(tmp_path, make_rows("sparse"), N)


def test_not_built(tmp_path):
    with pytest.raises(StateError, match="not built"):
        make_auto_index().search(make_rows("sparse").vectors, 3)
    with pytest.raises(StateError, match="not built"):
        make_auto_index().to_disk(tmp_path)


def test_settings_that_make_no_sense():
    with pytest.raises(ConfigError, match="exact_rows"):
        make_auto_index(-1)
