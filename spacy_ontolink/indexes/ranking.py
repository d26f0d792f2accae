"""From scores of rows to the best K unique entities, exactly and without sorting what cannot win."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..types import Floats1d, Floats2d, Hits, Ints1d
from ..vectors import Vectors

_GROUP = 64
_DIGITS = 6
_LEAST = np.float32(10.0**-_DIGITS)
_ROW_BITS = 26
_SPARSE = 50


def no_hits(n_queries: int, k: int) -> Hits:
    """Padding: nothing found."""
    shape = (n_queries, k)
    return Hits(np.full(shape, -1, np.int32), np.full(shape, -np.inf, np.float32), np.full(shape, -1, np.int32))


def search_in_batches(search: Callable[[Vectors], Hits], queries: Vectors, size: int, k: int) -> Hits:
    """Search ``size`` queries at a time and put the hits below one another."""
    parts = [search(queries.take(slice(start, start + size))) for start in range(0, len(queries), size)]
    return Hits(*(np.concatenate(columns) for columns in zip(*parts, strict=True))) if parts else no_hits(0, k)


def best_per_query(scores: Floats2d, owner: Ints1d, k: int) -> Hits:
    """Rank entities by their best row.

    Scores are rounded to 1e-6, which hides the last bits that differ with the size of a batch, so that ties stay ties.

    Args:
        scores: Scores of N rows for B queries, (N, B). One that is not positive, or not a number, never counts.
        owner: The entity number of each row, ascending, (N,).
        k: How many entities per query.

    Returns:
        The best entities, ties by row number; rows are positions in ``owner``.
    """
    n_queries = scores.shape[1]
    if not scores.size:
        return no_hits(n_queries, k)
    with np.errstate(invalid="ignore"):
        found = np.flatnonzero(scores >= _thresholds(scores, owner, k))
    row, query = np.divmod(found, n_queries)
    score = np.round(scores.ravel()[found], _DIGITS)
    order = np.argsort(_sort_keys(query, score, row)) if _fits(scores.shape) else np.lexsort((row, -score, query))
    query, score, row = query[order], score[order], row[order]
    return _place(query, owner[row], score, row, (n_queries, k))


def rank_pairs(
    query: np.ndarray, entity: np.ndarray, score: np.ndarray, row: np.ndarray, shape: tuple[int, int]
) -> Hits:
    """Rank scored (query, row) pairs: each entity once, by its best row, ties by row number.

    Args:
        query: The query of each pair, (P,).
        entity: Whose row it is, (P,).
        score: The row's score for the query, (P,).
        row: The row, (P,).
        shape: Number of queries and K.
    """
    score = np.round(score, _DIGITS)
    order = np.lexsort((row, -score, query))
    return _place(query[order], entity[order], score[order], row[order], shape)


def _fits(shape: tuple[int, int]) -> bool:
    return shape[0] <= 1 << _ROW_BITS and shape[1] <= 1 << (63 - 31 - _ROW_BITS)


def _sort_keys(query: np.ndarray, score: Floats1d, row: np.ndarray) -> np.ndarray:
    """Fold query, falling score and row into one number, several times faster to sort than three.

    The bits of a positive float rise with its value.
    """
    falling = 0x7FFFFFFF - score.view(np.int32).astype(np.int64)
    keys: np.ndarray = query << (31 + _ROW_BITS) | falling << _ROW_BITS | row
    return keys


def _place(query: np.ndarray, entity: np.ndarray, score: np.ndarray, row: np.ndarray, shape: tuple[int, int]) -> Hits:
    """Keep the first pair of each query and entity, and the first K of each query, of pairs sorted best first."""
    hits = no_hits(*shape)
    if not len(query):
        return hits
    base, width = int(entity.min()), int(entity.max()) - int(entity.min()) + 1
    slot = query.astype(np.int64) * width + (entity - base)
    first = _first_of_each(slot, shape[0] * width)
    query = query[first]
    rank = np.arange(len(query)) - np.searchsorted(query, query)
    top = rank < shape[1]
    first, at = first[top], (query[top], rank[top])
    hits.entities[at], hits.scores[at], hits.rows[at] = entity[first], score[first], row[first]
    return hits


def _first_of_each(slot: np.ndarray, n_slots: int) -> np.ndarray:
    """Return, ascending, where each distinct value occurs first."""
    if n_slots > _SPARSE * len(slot):  # touching so much memory takes longer than sorting
        return np.sort(np.unique(slot, return_index=True)[1])
    number = np.arange(len(slot))
    first = np.empty(n_slots, np.int64)
    first[slot[::-1]] = number[::-1]  # of several values for one place, the last one assigned stays
    return np.flatnonzero(first[slot] == number)


def _thresholds(scores: Floats2d, owner: Ints1d, k: int) -> Floats1d:
    """A lower bound of each query's K-th best entity, (B,), and at least the smallest score that counts.

    Rows are cut into groups of 64. When no entity touches more than t groups, the best t·K group maxima belong to K
    entities at least, so the (t·K)-th of them bounds the K-th best entity from below. With too few groups for that,
    each entity is a group.
    """
    starts = np.flatnonzero(np.diff(owner, prepend=owner[0] - 1))
    most_rows = int(np.diff(starts, append=len(owner)).max())
    needed = k * ((most_rows - 2) // _GROUP + 2)
    if len(owner) // _GROUP > needed:
        whole = len(owner) // _GROUP * _GROUP
        groups = scores[:whole].reshape(-1, _GROUP, scores.shape[1]).max(axis=1)
    else:
        needed, groups = k, np.maximum.reduceat(scores, starts, axis=0) if most_rows > 1 else scores
    if len(groups) <= needed:
        return np.full(scores.shape[1], _LEAST)
    groups = np.nan_to_num(groups, nan=-np.inf, neginf=-np.inf)
    kth = np.partition(groups, len(groups) - needed, axis=0)[len(groups) - needed]
    bounds: Floats1d = np.maximum(kth - _LEAST, _LEAST)
    return bounds
