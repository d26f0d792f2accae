"""Exact scores of a few proposed entities per query, over all their rows."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from ..types import Floats1d, Hits, Ints1d, Ints2d
from ..vectors import Block, Vectors
from .ranking import rank_pairs


class EntityScorer:
    """Scores entities by their best row; scores are rounded like those of the exact index, so that ties stay ties."""

    def __init__(self, vectors: Vectors, owner: Ints1d, n_entities: int) -> None:
        self.n_entities = max(1, n_entities)
        self._blocks, self._owner = [_plain(block) for block in vectors.blocks], owner
        self._entities = n_entities

    @functools.cached_property
    def _first(self) -> np.ndarray:
        """Where each entity's rows begin, and the last one's end, (E + 1,); made at the first search."""
        return np.searchsorted(self._owner, np.arange(self._entities + 1))

    def rank(self, queries: Vectors, proposed: Ints2d, k: int) -> Hits:
        """Return the best ``k`` of the entities proposed for each query, (B, P), -1 where none is proposed.

        Only scores above 0 count; ties are broken by row number.
        """
        entities = np.sort(proposed, axis=1)
        query, column = np.nonzero((entities >= 0) & (np.diff(entities, axis=1, prepend=-1) != 0))
        entity = entities[query, column]
        counts = self._first[entity + 1] - self._first[entity]
        query, entity, counts = query[counts > 0], entity[counts > 0], counts[counts > 0]
        starts = np.cumsum(counts) - counts
        rows = np.arange(counts.sum()) - np.repeat(starts - self._first[entity], counts)
        of_row = np.repeat(query, counts)
        scores = self._score(queries, of_row, rows)
        best = np.maximum.reduceat(scores, starts) if len(starts) else scores
        top = (scores > 0) & (scores >= _kth_best(best, query, k, len(queries))[of_row])
        return rank_pairs(of_row[top], np.repeat(entity, counts)[top], scores[top], rows[top], (len(queries), k))

    def scores_of(self, queries: Vectors, rows: Ints1d) -> Floats1d:
        """Score one row per query, (B,); row -1 scores -inf."""
        known = np.flatnonzero(rows >= 0)
        scores = np.full(len(rows), -np.inf, np.float32)
        scores[known] = self._score(queries, known, rows[known])
        return scores

    def _score(self, queries: Vectors, query: np.ndarray, rows: np.ndarray) -> Floats1d:
        """Score pairs of a query and a row; ``query`` ascends, so that each query meets all its rows at once."""
        scores = np.zeros(len(rows), np.float32)
        starts = np.flatnonzero(np.diff(query, prepend=-1))
        stops = np.append(starts, len(query))[1:]
        for block, given in zip(self._blocks, queries.blocks, strict=True):
            weights = np.zeros(block.shape[1], np.float32)
            for start, stop in zip(starts, stops, strict=True):
                some, one = rows[start:stop], query[start]
                if sp.issparse(block):
                    part = slice(given.indptr[one], given.indptr[one + 1])
                    weights[given.indices[part]] = given.data[part]
                    scores[start:stop] += block[some] @ weights
                    weights[given.indices[part]] = 0
                else:
                    scores[start:stop] += dense_products(block, some, given[one])
        return np.round(scores, 6)


def _kth_best(scores: Floats1d, query: np.ndarray, k: int, n_queries: int) -> Floats1d:
    """Return the K-th best score of each query, (n_queries,), or 0 where there are fewer; ``query`` ascends.

    Sorting only what can be among the K best takes a fraction of sorting all.
    """
    kth = np.zeros(n_queries, np.float32)
    ends = np.searchsorted(query, np.arange(n_queries + 1))
    for number in np.flatnonzero(np.diff(ends) > k):
        some = scores[ends[number] : ends[number + 1]]
        kth[number] = np.partition(some, len(some) - k)[len(some) - k]
    return kth


def dense_products(block: np.ndarray, rows: Ints1d, query: Floats1d) -> Floats1d:
    """Dot products of some rows of a dense block with one query."""
    products: Floats1d = block.take(rows, axis=0).astype(np.float32) @ np.asarray(query, np.float32)
    return products


def owners_of(rows: Sequence[Ints1d], owner: Ints1d) -> Ints2d:
    """Return the entities of some rows per query, (B, most rows), padded with -1."""
    owners = np.full((len(rows), max(map(len, rows), default=0)), -1, np.int32)
    for query, some in enumerate(rows):
        owners[query, : len(some)] = owner[some]
    return owners


def _plain(block: Block) -> Block:
    """The same block without ``np.memmap``, whose slices are slow to make."""
    if sp.issparse(block):
        arrays = (np.asarray(block.data), np.asarray(block.indices), np.asarray(block.indptr))
        return sp.csr_matrix(arrays, shape=block.shape, copy=False)
    return np.asarray(block)
