"""Inverted lists of sparse rows: for each n-gram the rows that have it, in shards that fit the processor's cache."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from ..errors import Errors, StateError
from ..files import REBUILD, open_tensors, write_tensors
from ..types import Bools1d, Ints1d

FILE = "postings.safetensors"
_SHARD = 1 << 18  # rows: sums over a shard stay in cache, which makes them over twice as fast


class Postings:
    """The transpose of N sparse rows, shard by shard; each shard is (n-grams, rows of the shard).

    Attributes:
        counts: In how many rows each n-gram is, (n-grams,).
    """

    def __init__(self, data: np.ndarray, rows: np.ndarray, ends: np.ndarray, n_rows: int) -> None:
        """Take the lists of all shards one after the other.

        Args:
            data: The weight of each posting, (P,).
            rows: Its row, counted from the beginning of its shard, (P,).
            ends: Where in these each list of each shard ends, (shards, n-grams).
            n_rows: N.
        """
        self._arrays = {"data": data, "rows": rows, "ends": ends, "n_rows": np.asarray([n_rows], np.int64)}
        n_ngrams, self._shards, self.counts = ends.shape[1], [], np.zeros(ends.shape[1], np.int64)
        self._checked = False
        start = 0
        for number, stops in enumerate(ends):
            indptr = np.concatenate([[0], np.asarray(stops) - start])
            part = slice(start, start + int(indptr[-1]))
            shape = (n_ngrams, min(_SHARD, n_rows - number * _SHARD))
            self._shards.append(sp.csr_matrix((data[part], rows[part], indptr.astype(np.int32)), shape=shape))
            self.counts += np.diff(indptr)
            start = part.stop

    @classmethod
    def of(cls, block: sp.csr_matrix) -> Postings:
        """Transpose rows, (N, n-grams)."""
        n_rows, n_ngrams = block.shape
        data, rows = np.empty(block.nnz, np.float32), np.empty(block.nnz, np.int32)
        ends = np.empty((max(1, -(-n_rows // _SHARD)), n_ngrams), np.int64)
        at = 0
        for number in range(len(ends)):
            shard = block[number * _SHARD : (number + 1) * _SHARD].tocsc()
            data[at : at + shard.nnz], rows[at : at + shard.nnz] = shard.data, shard.indices
            ends[number] = at + shard.indptr[1:]
            at += shard.nnz
        return cls(data, rows, ends, n_rows)

    def best_rows(
        self, queries: sp.csr_matrix, budget: int, n_best: int, allowed: Bools1d | None = None
    ) -> Iterator[Ints1d]:
        """Yield for each query the rows of highest score, by its rarest n-grams alone; in no order.

        Raises:
            StateError: The lists are damaged.

        Args:
            queries: B queries, (B, n-grams).
            budget: How many postings of a query are read; its rarest n-gram is, whatever it takes.
            n_best: The most rows per query.
            allowed: Which rows count, (N,).
        """
        self._check()
        kept = self._rarest(queries, budget)
        parts = [kept @ shard for shard in self._shards]
        for query in range(queries.shape[0]):
            spans = [slice(part.indptr[query], part.indptr[query + 1]) for part in parts]
            scores = np.concatenate([part.data[span] for part, span in zip(parts, spans, strict=True)])
            rows = np.concatenate(
                [part.indices[span] + n * _SHARD for n, (part, span) in enumerate(zip(parts, spans, strict=True))]
            )
            if allowed is not None:
                scores, rows = scores[allowed[rows]], rows[allowed[rows]]
            if len(rows) > n_best:
                rows = rows[np.argpartition(scores, len(rows) - n_best)[-n_best:]]
            yield rows

    def _check(self) -> None:
        """Look at all row numbers once, before the first search: scipy follows whatever it reads."""
        if self._checked:
            return
        for shard in self._shards:
            if shard.nnz and not (shard.indices.min() >= 0 and shard.indices.max() < shard.shape[1]):
                raise _damaged(FILE, "it names rows that there are not")
        self._checked = True

    def needed(self, queries: sp.csr_matrix) -> Ints1d:
        """Return how many postings the n-grams of each query have in all, (B,)."""
        sums: Ints1d = np.diff(np.append(0, np.cumsum(self.counts[queries.indices]))[queries.indptr])
        return sums

    def _rarest(self, queries: sp.csr_matrix, budget: int) -> sp.csr_matrix:
        """Leave out of each query the common n-grams that its budget has nothing left for."""
        n_queries = queries.shape[0]
        query, cost = np.repeat(np.arange(n_queries), np.diff(queries.indptr)), self.counts[queries.indices]
        order = np.lexsort((queries.indices, cost, query))
        spent = np.cumsum(cost[order])
        before = np.append(0, spent)[queries.indptr[:-1]]
        keep = spent - before[query] <= budget
        keep[queries.indptr[:-1][np.diff(queries.indptr) > 0]] = True
        columns, values = queries.indices[order[keep]], queries.data[order[keep]]
        return sp.csr_matrix((values, (query[keep], columns)), shape=queries.shape)

    def to_disk(self, path: Path) -> None:
        """Write one file into a folder."""
        write_tensors(path / FILE, self._arrays)

    @classmethod
    def from_disk(cls, path: Path) -> Postings:
        """Open what ``to_disk`` wrote, memory-mapped.

        Raises:
            StateError: The file is missing or damaged.
        """
        arrays = open_tensors(path / FILE)
        try:
            data, rows, ends, n_rows = (arrays[name] for name in ("data", "rows", "ends", "n_rows"))
        except KeyError as error:
            raise _damaged(path / FILE, f"no {error}") from error
        last = np.concatenate([[0], np.asarray(ends).ravel()])
        if (np.diff(last) < 0).any() or last[-1] != len(data) or len(data) != len(rows):
            raise _damaged(path / FILE, "its lists do not fit together")
        if n_rows.shape != (1,) or len(ends) != max(1, -(-int(n_rows[0]) // _SHARD)):
            raise _damaged(path / FILE, "its number of rows does not fit its lists")
        return cls(data, rows, ends, int(n_rows[0]))


def _damaged(path: Path | str, reason: str) -> StateError:
    return StateError(Errors.FILE_DAMAGED.format(path=path, reason=reason, rebuild=REBUILD))
