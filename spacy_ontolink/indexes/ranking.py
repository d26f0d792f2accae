"""From scores of rows to the best K unique entities, exactly and without sorting what cannot win."""

from __future__ import annotations

import numpy as np

from ..types import Floats2d, Hits, Ints1d

_GROUP = 64


def no_hits(n_queries: int, k: int) -> Hits:
    """Padding: nothing found."""
    shape = (n_queries, k)
    return Hits(np.full(shape, -1, np.int32), np.full(shape, -np.inf, np.float32), np.full(shape, -1, np.int32))


def best_per_query(scores: Floats2d, owner: Ints1d, k: int) -> Hits:
    """Rank entities by their best row.

    Args:
        scores: Scores of N rows for B queries, (N, B). A score that is not above 0 or not finite never wins.
        owner: The entity number of each row, ascending, (N,).
        k: How many entities per query.

    Returns:
        The best entities, ties by row number; rows are positions in ``owner``.
    """
    hits = no_hits(scores.shape[1], k)
    if not scores.size:
        return hits
    starts = np.flatnonzero(np.diff(owner, prepend=owner[0] - 1))
    best = np.maximum.reduceat(scores, starts, axis=0) if len(starts) < len(owner) else scores
    entity, query = np.nonzero(best >= _thresholds(best, k))
    score = best[entity, query]
    order = np.lexsort((entity, -score, query))
    entity, query, score = entity[order], query[order], score[order]
    rank = np.arange(len(query)) - np.searchsorted(query, query)
    top = rank < k
    entity, query, score, rank = entity[top], query[top], score[top], rank[top]
    hits.entities[query, rank] = owner[starts[entity]]
    hits.scores[query, rank] = score
    hits.rows[query, rank] = _first_best_row(scores, starts, entity, query, score)
    return hits


def _thresholds(best: Floats2d, k: int) -> np.ndarray:
    """A lower bound of each query's K-th best score, (B,), at least the smallest score that counts.

    The K-th best of the maxima of disjoint groups is one, since each maximum is the score of another entity.
    """
    least = np.float32(np.finfo(np.float32).tiny)
    groups = np.maximum.reduceat(best, np.arange(0, len(best), _GROUP), axis=0)
    if len(groups) <= k:
        groups = best
    if len(groups) <= k:
        return np.full(best.shape[1], least)
    return np.maximum(np.partition(groups, len(groups) - k, axis=0)[len(groups) - k], least)


def _first_best_row(scores: Floats2d, starts: np.ndarray, entity: np.ndarray, query: np.ndarray, score: np.ndarray) -> np.ndarray:
    """The first row of each (entity, query) pair that reaches its score."""
    ends = np.append(starts[1:], len(scores))
    counts = (ends - starts)[entity]
    pair = np.repeat(np.arange(len(entity)), counts)
    row = np.arange(len(pair)) - np.repeat(np.cumsum(counts) - counts, counts) + starts[entity][pair]
    reached = np.flatnonzero(scores[row, query[pair]] >= score[pair])
    _, first = np.unique(pair[reached], return_index=True)
    return row[reached[first]]
