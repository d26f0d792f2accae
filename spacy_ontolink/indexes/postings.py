"""Inverted lists of sparse rows: for each n-gram the rows that have it, in shards that fit the processor's cache."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import Errors, StateError
from ..files import REBUILD, leave_pages, open_tensors, write_tensors
from ..row_files import RowFiles
from ..types import Bools1d, Floats1d, Ints1d
from ..vectors import Vectors

FILE = "postings.safetensors"
_ARRAYS = ("data", "rows", "ends", "n_rows", "longest")
_SHARD = 1 << 20  # rows: sums over a shard stay in cache, which makes them over twice as fast
_UNIT = (
    160  # weights are counted in parts of this, so that the sums of unit vectors fit into 16 bits with room to spare
)
_PIECE = 1 << 17  # rows whose sums are compared with the least of the best so far at a time


class Postings:
    """The transpose of N sparse rows, shard by shard; a list holds the numbers of rows and their weights.

    Weights are whole numbers of 16 bits, as they only propose rows: sums take half the room and half the time of
    floating point ones. Lists are mapped, and checked as they are read.

    Attributes:
        counts: In how many rows each n-gram is, (n-grams,).
    """

    def __init__(self, data: np.ndarray, rows: np.ndarray, ends: np.ndarray, n_rows: int, longest: float) -> None:
        """Take the lists of all shards one after the other.

        Args:
            data: The weight of each posting, in parts of ``longest / _UNIT``, (P,).
            rows: Its row, counted from the beginning of its shard, (P,).
            ends: Where in these each list of each shard ends, (shards, n-grams).
            n_rows: N.
            longest: The length of the longest row.
        """
        self._arrays: dict[str, np.ndarray] = {
            "data": data,
            "rows": rows,
            "ends": ends,
            "n_rows": np.asarray([n_rows], np.int64),
            "longest": np.asarray([longest], np.float32),
        }
        # As plain arrays, since slices of memory maps are slow to make.
        self._data, self._rows, self._ends = np.asarray(data), np.asarray(rows), np.asarray(ends).ravel()
        self._n_rows, self._n_shards, self._longest = n_rows, len(ends), longest
        self.counts = np.zeros(ends.shape[1], np.int64)
        for number in range(self._n_shards):
            begins, stops = self._spans(number, np.arange(len(self.counts)))
            self.counts += stops - begins

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return Postings, (*(self._arrays[name] for name in _ARRAYS[:3]), self._n_rows, self._longest)

    def leave_pages(self) -> None:
        """Let go of mapped pages; see ``files.leave_pages``."""
        for array in self._arrays.values():
            leave_pages(array)

    @classmethod
    def of(cls, block: sp.csr_matrix) -> Postings:
        """Transpose rows, (N, n-grams)."""
        n_rows, n_ngrams = block.shape
        lists, mapped = RowFiles(), Vectors((block,))
        longest = max(float(Vectors((part,)).norms().max(initial=0)) for part in _shards(block)) or 1.0
        ends = np.empty((max(1, -(-n_rows // _SHARD)), n_ngrams), np.int64)
        at = 0
        for number, part in enumerate(_shards(block)):
            shard = part.tocsc()
            lists.append(Vectors((_whole(shard.data / longest)[:, None], shard.indices.astype(np.int32)[:, None])))
            ends[number] = at + shard.indptr[1:]
            at += shard.nnz
            mapped.leave_pages()
        made = lists.finish()
        data, rows = made.blocks if made else (np.empty(0, np.int16), np.empty(0, np.int32))
        return cls(data.ravel(), rows.ravel(), ends, n_rows, longest)

    def best_rows(
        self,
        queries: sp.csr_matrix,
        budget: int,
        n_best: int,
        allowed: Bools1d | None = None,
        others: Sequence[Ints1d] | None = None,
    ) -> Iterator[tuple[Ints1d, Floats1d]]:
        """Yield for each query the rows of highest score by its rarest n-grams alone, in no order, and these scores.

        Args:
            queries: B queries, (B, n-grams).
            budget: How many postings of a query are read; those of its rarest n-gram are, however many there be.
            n_best: The most rows per query.
            allowed: Which rows count, (N,).
            others: Further rows per query, ascending, which follow the best ones whatever they score.

        Raises:
            StateError: The lists are damaged.
        """
        kept = self._rarest(queries, budget)
        for query in range(queries.shape[0]):
            part = slice(kept.indptr[query], kept.indptr[query + 1])
            unit = float(np.linalg.norm(kept.data[part])) or 1.0
            weights = _whole(kept.data[part] / unit)
            more = np.empty(0, np.int32) if others is None else others[query]
            best, sums_of_more = _Best(n_best), []
            for start, sums in self._sums(kept.indices[part], weights):
                stop = start + len(sums)
                sums_of_more.append(sums[more[slice(*np.searchsorted(more, (start, stop)))] - start])
                if allowed is not None:
                    sums *= allowed[start:stop]
                best.take(start, sums)
            rows, found = best.finish()
            scores = np.concatenate([found, *sums_of_more]) * np.float32(unit * self._longest / _UNIT**2)
            yield np.concatenate([rows, more]), scores

    def _sums(self, ngrams: Ints1d, weights: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """Yield for each shard its first row, and the sums of its rows.

        Args:
            ngrams: Numbers of n-grams, (G,).
            weights: Their weights, (G,).
        """
        for number in range(self._n_shards):
            begins, stops = self._spans(number, ngrams)
            spans = list(zip(begins.tolist(), stops.tolist(), strict=True))
            rows = np.concatenate([self._rows[:0], *(self._rows[begin:stop] for begin, stop in spans)])
            values = np.concatenate([self._data[:0], *(self._data[begin:stop] for begin, stop in spans)])
            start = number * _SHARD
            size = min(_SHARD, self._n_rows - start)
            if len(rows) and int(rows.view(np.uint32).max()) >= size:  # as a negative number is then too large a one
                raise _damaged(FILE, "it names rows that there are not")
            ends = np.append(0, np.cumsum(stops - begins)).astype(np.int32)
            yield start, sp.csc_matrix((values, rows, ends), shape=(size, len(ngrams)), copy=False) @ weights

    def _spans(self, shard: int, ngrams: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return where the lists of some n-grams begin and stop in a shard."""
        places = shard * len(self.counts) + ngrams.astype(np.int64)
        return np.where(places > 0, self._ends[places - 1], 0), self._ends[places]

    def needed(self, queries: sp.csr_matrix) -> Ints1d:
        """Return how many postings the n-grams of each query have in all, (B,)."""
        sums: Ints1d = np.diff(np.append(0, np.cumsum(self.counts[queries.indices]))[queries.indptr])
        return sums

    def _rarest(self, queries: sp.csr_matrix, budget: int) -> sp.csr_matrix:
        """Leave out of each query the common n-grams that its budget has nothing left for; the rarest come first."""
        n_queries = queries.shape[0]
        query, cost = np.repeat(np.arange(n_queries), np.diff(queries.indptr)), self.counts[queries.indices]
        order = np.lexsort((queries.indices, cost, query))
        spent = np.cumsum(cost[order])
        before = np.append(0, spent)[queries.indptr[:-1]]
        keep = spent - before[query] <= budget
        keep[queries.indptr[:-1][np.diff(queries.indptr) > 0]] = True
        columns, values = queries.indices[order[keep]], queries.data[order[keep]]
        indptr = np.append(0, np.cumsum(np.bincount(query[keep], minlength=n_queries)))
        return sp.csr_matrix((values, columns, indptr), shape=queries.shape)

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
            data, rows, ends, n_rows, longest = (arrays[name] for name in _ARRAYS)
        except KeyError as error:
            raise _damaged(path / FILE, f"no {error}") from error
        last = np.concatenate([[0], np.asarray(ends).ravel()])
        if (np.diff(last) < 0).any() or last[-1] != len(data) or len(data) != len(rows):
            raise _damaged(path / FILE, "its lists do not fit together")
        if n_rows.shape != (1,) or len(ends) != max(1, -(-int(n_rows[0]) // _SHARD)):
            raise _damaged(path / FILE, "its number of rows does not fit its lists")
        if data.dtype != np.int16 or rows.dtype != np.int32 or longest.shape != (1,):
            raise _damaged(path / FILE, "its weights are of another kind")
        return cls(data, rows, ends, int(n_rows[0]), float(longest[0]))


class _Best:
    """The rows of highest sums, as sums come in, piece by piece: what is below the best so far is not even looked at.

    Args:
        n: How many.
    """

    def __init__(self, n: int) -> None:
        self._n, self._least = n, 1
        self._rows: list[np.ndarray] = []
        self._sums: list[np.ndarray] = []
        self._found = 0

    def take(self, start: int, sums: np.ndarray) -> None:
        """Take the sums of rows from ``start`` on."""
        for begin in range(0, len(sums), _PIECE):
            piece = sums[begin : begin + _PIECE]
            high = np.flatnonzero(piece >= self._least)
            self._rows.append(high + (start + begin))
            self._sums.append(piece[high])
            self._found += len(high)
            if self._found > 2 * self._n:
                sums_so_far = np.concatenate(self._sums)
                self._least = int(np.partition(sums_so_far, self._found - self._n)[self._found - self._n])
                kept = sums_so_far >= self._least
                self._rows, self._sums = [np.concatenate(self._rows)[kept]], [sums_so_far[kept]]
                self._found = len(self._sums[0])

    def finish(self) -> tuple[Ints1d, np.ndarray]:
        """Return the rows and their sums."""
        rows = np.concatenate([np.empty(0, np.int64), *self._rows])
        sums = np.concatenate([np.empty(0, np.int16), *self._sums])
        if len(rows) > self._n:
            best = np.argpartition(sums, len(rows) - self._n)[-self._n :]
            rows, sums = rows[best], sums[best]
        return rows.astype(np.int32), sums


def _whole(weights: Floats1d) -> np.ndarray:
    """Return weights in whole parts; what is not 0 does not become 0, so that all that is shared finds something."""
    parts = np.rint(weights * np.float32(_UNIT))
    return np.where(parts == 0, np.sign(weights), parts).astype(np.int16)


def _shards(block: sp.csr_matrix) -> Iterator[sp.csr_matrix]:
    for start in range(0, max(1, block.shape[0]), _SHARD):
        yield block[start : start + _SHARD]


def _damaged(path: Path | str, reason: str) -> StateError:
    return StateError(Errors.FILE_DAMAGED.format(path=path, reason=reason, rebuild=REBUILD))
