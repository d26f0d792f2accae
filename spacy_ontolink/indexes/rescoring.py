"""Exact scores of a few proposed entities per query, over all their rows."""

from __future__ import annotations

import functools

import numpy as np
import scipy.sparse as sp

from ..types import Floats1d, Hits, Ints1d, Ints2d
from ..vectors import Block, Vectors
from .ranking import rank_pairs


class EntityScorer:
    """Scores entities by their best row; scores are rounded like those of the exact index, so that ties stay ties."""

    def __init__(self, vectors: Vectors, owner: Ints1d, n_entities: int) -> None:
        self.n_entities = max(1, n_entities)
        self._vectors, self._owner = vectors, owner
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
        for start, stop in zip(starts, stops, strict=True):
            for block, given in zip(self._vectors.blocks, queries.blocks, strict=True):
                scores[start:stop] += _products(block[rows[start:stop]], given[query[start]])
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


def _products(rows: Block, query: Block) -> Floats1d:
    """Dot products of one block of some rows with one query."""
    if sp.issparse(rows):
        return np.asarray(rows @ query.toarray().ravel(), np.float32)
    return np.asarray(rows, np.float32) @ np.asarray(query, np.float32)
