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
_SHARD = 1 << 19  # rows: sums over a shard stay in cache, which makes them over twice as fast
_ADDED = 3


class Postings:
    """The transpose of N sparse rows, shard by shard; a list holds the numbers of rows and their weights.

    Weights are in half precision, as they only propose rows. Lists are mapped, and checked as they are read.

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
        # As plain arrays, since slices of memory maps are slow to make; a negative number is then too large a one.
        self._data, self._rows, self._ends = (
            np.asarray(data),
            np.asarray(rows).view(np.uint32),
            np.asarray(ends).ravel(),
        )
        self._n_rows, self._n_shards = n_rows, len(ends)
        self.counts = np.zeros(ends.shape[1], np.int64)
        for number in range(self._n_shards):
            begins, stops = self._spans(number, np.arange(len(self.counts)))
            self.counts += stops - begins

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return Postings, (*(self._arrays[name] for name in ("data", "rows", "ends")), self._n_rows)

    def leave_pages(self) -> None:
        """Let go of mapped pages; see ``files.leave_pages``."""
        for array in self._arrays.values():
            leave_pages(array)

    @classmethod
    def of(cls, block: sp.csr_matrix) -> Postings:
        """Transpose rows, (N, n-grams)."""
        n_rows, n_ngrams = block.shape
        lists, mapped = RowFiles(), Vectors((block,))
        ends = np.empty((max(1, -(-n_rows // _SHARD)), n_ngrams), np.int64)
        at = 0
        for number in range(len(ends)):
            shard = block[number * _SHARD : (number + 1) * _SHARD].tocsc()
            lists.append(Vectors((shard.data.astype(np.float16)[:, None], shard.indices.astype(np.int32)[:, None])))
            ends[number] = at + shard.indptr[1:]
            at += shard.nnz
            mapped.leave_pages()
        made = lists.finish()
        data, rows = made.blocks if made else (np.empty(0, np.float16), np.empty(0, np.int32))
        return cls(data.ravel(), rows.ravel(), ends, n_rows)

    def best_rows(
        self,
        queries: sp.csr_matrix,
        budget: int,
        n_best: int,
        allowed: Bools1d | None = None,
        others: Sequence[Ints1d] | None = None,
    ) -> Iterator[tuple[Ints1d, Floats1d]]:
        """Yield for each query the rows of highest score by its rarest n-grams alone, in no order, and these scores.

        Rows come from the lists of the very rarest; those of some more are added to their scores, which costs half as
        much for each.

        Args:
            queries: B queries, (B, n-grams).
            budget: From how many postings of a query rows are taken, and ``_ADDED`` times as many are added up; those
                of its rarest n-gram are, however many there be.
            n_best: The most rows per query.
            allowed: Which rows count, (N,).
            others: Further rows per query, ascending, which follow the best ones whatever they score.

        Raises:
            StateError: The lists are damaged.
        """
        kept = self._rarest(queries, budget * _ADDED)
        sums = np.zeros(min(_SHARD, self._n_rows), np.float32)
        for query in range(queries.shape[0]):
            part = slice(kept.indptr[query], kept.indptr[query + 1])
            more = np.empty(0, np.int32) if others is None else others[query]
            ngrams = kept.indices[part]
            n_taken = max(1, int(np.searchsorted(np.cumsum(self.counts[ngrams]), budget, side="right")))
            rows, scores, scores_of_more = self._sums(ngrams, kept.data[part], n_taken, sums, more)
            if allowed is not None:
                scores, rows = scores[allowed[rows]], rows[allowed[rows]]
            rows, scores = _best(rows, scores, n_best, most=n_taken)
            yield np.concatenate([rows, more]), np.concatenate([scores, scores_of_more])

    def _sums(
        self, ngrams: Ints1d, weights: Floats1d, n_taken: int, sums: Floats1d, more: Ints1d
    ) -> tuple[Ints1d, Floats1d, Floats1d]:
        """Return the row of each posting of the first n-grams, that row's score, and the scores of ``more`` rows.

        Args:
            ngrams: Numbers of n-grams, (G,).
            weights: Their weights, (G,).
            n_taken: From how many of them rows are taken.
            sums: Zeros for the rows of a shard, and zeros again afterwards.
            more: Rows to look up, ascending.
        """
        found, scores, scores_of_more = [], [], []
        places = np.searchsorted(more, np.arange(self._n_shards + 1) * _SHARD)
        for number in range(self._n_shards):
            begins, stops = self._spans(number, ngrams)
            spans = list(zip(begins.tolist(), stops.tolist(), strict=True))
            rows = np.concatenate([self._rows[:0], *(self._rows[begin:stop] for begin, stop in spans)])
            values = np.concatenate([self._data[:0], *(self._data[begin:stop] for begin, stop in spans)])
            base, of_shard = number * _SHARD, sums[: self._n_rows - number * _SHARD]
            try:
                np.add.at(of_shard, rows, values * np.repeat(weights, stops - begins))
            except IndexError as error:
                raise _damaged(FILE, "it names rows that there are not") from error
            taken = rows[: (stops - begins)[:n_taken].sum()]
            found.append(taken.view(np.int32) + np.int32(base))
            scores.append(of_shard[taken])
            scores_of_more.append(of_shard[more[places[number] : places[number + 1]] - base])
            of_shard.fill(0)
        return np.concatenate(found), np.concatenate(scores), np.concatenate(scores_of_more)

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
            data, rows, ends, n_rows = (arrays[name] for name in ("data", "rows", "ends", "n_rows"))
        except KeyError as error:
            raise _damaged(path / FILE, f"no {error}") from error
        last = np.concatenate([[0], np.asarray(ends).ravel()])
        if (np.diff(last) < 0).any() or last[-1] != len(data) or len(data) != len(rows):
            raise _damaged(path / FILE, "its lists do not fit together")
        if n_rows.shape != (1,) or len(ends) != max(1, -(-int(n_rows[0]) // _SHARD)):
            raise _damaged(path / FILE, "its number of rows does not fit its lists")
        return cls(data, rows, ends, int(n_rows[0]))


def _best(rows: Ints1d, scores: Floats1d, n_best: int, most: int) -> tuple[Ints1d, Floats1d]:
    """Return the ``n_best`` rows of highest score, each once, of rows that are given up to ``most`` times."""
    if (least := len(rows) - n_best * most) > 0:
        high = scores >= np.partition(scores, least)[least]
        rows, scores = rows[high], scores[high]
    # Sorting numbers that hold both takes a fraction of sorting one of them and taking the other in its order.
    pairs = np.sort(rows.astype(np.uint64) << np.uint64(32) | scores.view(np.uint32))
    pairs = pairs[np.append(True, pairs[1:] != pairs[:-1])[: len(pairs)]]
    scores = pairs.astype(np.uint32).view(np.float32)
    if len(pairs) > n_best:
        best = np.argpartition(scores, len(pairs) - n_best)[-n_best:]
        pairs, scores = pairs[best], scores[best]
    return (pairs >> np.uint64(32)).astype(np.int32), scores


def _damaged(path: Path | str, reason: str) -> StateError:
    return StateError(Errors.FILE_DAMAGED.format(path=path, reason=reason, rebuild=REBUILD))
