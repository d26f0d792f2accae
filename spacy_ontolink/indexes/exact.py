"""Exact search: every row is scored, in blocks; nothing is built and nothing can be missed.

Rows times a narrow dense matrix of queries is the fast order for sparse rows too: each stored weight meets a whole
batch of queries at once. ``ranking`` then finds the best entities without sorting more than a handful per query.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..errors import Errors, StateError
from ..types import Bools1d, EntityRows, Floats2d, Hits, Ints1d, Ints2d
from ..vectors import Vectors
from .ranking import best_per_query, no_hits, search_in_batches
from .recent import RecentMasks

_ROWS = 1 << 16
_QUERIES = 64
_PASSING = 1 << 20  # rows; so many are read for a check of another index, not to be kept in memory


class _View(NamedTuple):
    """The rows of the entities that a search may return."""

    vectors: Vectors
    owner: Ints1d
    row: Ints1d | None  # row numbers in the whole index; None where they are the same


class ExactIndex:
    """Compare each query with every row.

    Memory during a search is about ``block_rows · 64 · 4`` bytes, and the rows of the last few masks asked for.
    """

    def __init__(self, block_rows: int = _ROWS) -> None:
        self.block_rows = block_rows
        self._whole: _View | None = None
        self._masked: RecentMasks[_View] = RecentMasks()

    def build(self, rows: EntityRows, n_entities: int) -> None:
        """Keep a reference to the rows."""
        self._whole = _View(rows.vectors, np.asarray(rows.owner), None)
        self._masked.clear()

    def search(self, queries: Vectors, k: int, allowed: Bools1d | None = None) -> Hits:
        """Find the best ``k`` entities per query; see ``types.Index``."""
        view = self._view(allowed)
        if len(view.owner) <= self.block_rows:  # else each block is converted when it is scored
            view = view._replace(vectors=view.vectors.single())
        return search_in_batches(lambda batch: self._search(batch, k, view), queries, _QUERIES, k)

    def _view(self, allowed: Bools1d | None) -> _View:
        whole = self._built()
        if allowed is None or allowed.all():
            return whole
        return self._masked.get(allowed, self._mask)

    def _mask(self, allowed: Bools1d) -> _View:
        whole = self._built()
        rows = np.flatnonzero(allowed[whole.owner]).astype(np.int32)
        return _View(whole.vectors.take(rows), whole.owner[rows], rows)

    def _built(self) -> _View:
        if self._whole is None:
            raise StateError(Errors.NOT_BUILT)
        return self._whole

    def _search(self, queries: Vectors, k: int, view: _View) -> Hits:
        columns = _columns(queries)
        found = []
        start = 0
        while start < len(view.owner):
            stop = _entity_end(view.owner, start + self.block_rows)
            scores = _scores(view.vectors, start, stop, columns)
            hits = best_per_query(scores, view.owner[start:stop], k)
            found.append(hits._replace(rows=_row_numbers(hits.rows, start, view.row)))
            start = stop
            if len(view.owner) > _PASSING:
                view.vectors.leave_pages()
        if len(found) == 1:
            return found[0]
        return _merge(found, k) if found else no_hits(len(queries), k)

    def to_disk(self, path: Path) -> None:
        """Write nothing: the rows are the index."""

    def from_disk(self, path: Path, rows: EntityRows, n_entities: int) -> ExactIndex:
        """Take the rows again."""
        self.build(rows, n_entities)
        return self

    def describe(self) -> dict[str, object]:
        """Kind and recall, which is 1 by construction."""
        return {"kind": "exact", "recall": 1.0}


def _columns(queries: Vectors) -> list[np.ndarray]:
    """Turn queries into one C-ordered (D, B) float32 matrix per block."""
    return [
        np.ascontiguousarray((block.toarray() if sp.issparse(block) else block.astype(np.float32)).T)
        for block in queries.blocks
    ]


def _scores(vectors: Vectors, start: int, stop: int, columns: list[np.ndarray]) -> Floats2d:
    """Dot products of some rows with all queries, (rows, B)."""
    total: Floats2d | None = None
    for block, queries in zip(vectors.blocks, columns, strict=True):
        part = block if start == 0 and stop == block.shape[0] else block[start:stop]
        product = part @ queries if sp.issparse(part) else part.astype(np.float32, copy=False) @ queries
        total = product if total is None else np.add(total, product, out=total)
    if total is None:
        return np.zeros((stop - start, 0), np.float32)
    return total


def _entity_end(owner: Ints1d, stop: int) -> int:
    """The first row at or after ``stop`` that begins another entity."""
    if stop >= len(owner):
        return len(owner)
    return int(np.searchsorted(owner, owner[stop - 1], side="right"))


def _row_numbers(rows: Ints2d, start: int, row: Ints1d | None) -> Ints2d:
    """Turn positions in a block into row numbers of the index; padding stays -1."""
    numbers = rows + start if row is None else row[rows + start]
    return np.where(rows < 0, -1, numbers).astype(np.int32)


def _merge(found: list[Hits], k: int) -> Hits:
    entities, scores, rows = (np.concatenate(columns, axis=1) for columns in zip(*found, strict=True))
    order = np.lexsort((np.where(rows < 0, np.iinfo(np.int32).max, rows), -scores), axis=1)[:, :k]
    return Hits(*(np.take_along_axis(array, order, axis=1) for array in (entities, scores, rows)))


def make_exact_index(block_rows: int = _ROWS) -> ExactIndex:
    """Make an ``ExactIndex``, which compares each query with every row.

    Args:
        block_rows: Rows compared at a time, which bounds memory.
    """
    return ExactIndex(block_rows)
