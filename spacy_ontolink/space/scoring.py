"""Scores of given candidates: the second pass of the retriever over a pool that is fixed (PILOT, section 3.2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..types import Floats1d, Floats2d, Ints2d
from ..vectors import Vectors
from .entity_space import EntitySpace
from .exact import exact_names
from .pooling import Pooling, ranges
from .retrieval import MOST, SHORT_FORM, Encoded, Query, encode

_PAIRS = 1 << 11  # (query, row) pairs scored at a time: few enough for the processor's cache


class CandidateScores:
    """Cosines of fixed candidates, kept apart by text of the query, so that any weights cost arithmetic only.

    Args:
        space: Where the candidates come from; its plain rows are pooled for these candidates alone.
        queries: B queries.
        candidates: Entity numbers, (B, K), padded with -1.
        pooling: How rows are pooled; None for the way the index has them.
        encoded: What ``encode`` made of the queries, if that was done already.
    """

    def __init__(
        self,
        space: EntitySpace,
        queries: Sequence[Query],
        candidates: Ints2d,
        pooling: Pooling | None = None,
        encoded: Encoded | None = None,
    ) -> None:
        self.candidates = candidates
        encoded = encoded or encode(space, queries)
        entities = np.unique(candidates[candidates >= 0])
        rows = space.rows_of(entities, pooling)
        first = np.searchsorted(rows.owner, entities)
        stop = np.searchsorted(rows.owner, entities, side="right")
        # One pair is a query and a candidate; each of a candidate's rows is dotted with the query's texts.
        self._at = np.nonzero(candidates >= 0)
        place = np.searchsorted(entities, candidates[self._at])
        self._counts = stop[place] - first[place]
        self._query = self._at[0]
        row = ranges(first[place], stop[place])
        texts = [encoded.mention, encoded.standard_name, encoded.hypernym]
        of_row = np.repeat(self._query, self._counts)
        self._texts = [text for text in texts if text is not None]
        self._which = [0 if text is None else self._texts.index(text) for text in texts]
        self._dots = [_dots(text, of_row, rows.vectors, row) for text in self._texts]
        self._exact, self._exact_score = self._equal(space, [query.mention.text for query in queries])
        self._named = self._exact.copy()
        self._long = self._long_forms(space, queries, encoded, rows.vectors, row, of_row)

    def mixed(self, weights: Sequence[float], added: Floats2d | None = None) -> Floats2d:
        """Return the score of each candidate, (B, K), -inf where there is none.

        As in retrieval it is the cosine of the best row, about 1 for an exact name, and with a long form the better of
        its score and a share of the short form's.

        Args:
            weights: Of mention, standard name and hypernym.
            added: What is added to the score of candidates that are no exact names, (B, K).
        """
        total = np.zeros(len(self._texts), np.float32)
        for which, weight in zip(self._which, weights, strict=True):
            total[which] += weight
        dots = np.sum([weight * dots for weight, dots in zip(total, self._dots, strict=True)], axis=0)
        length = np.sqrt(self._squared_lengths(total))[self._query]
        best = self._best(dots)
        scores = np.divide(best, length, out=np.zeros_like(best), where=length > 0)
        scores = np.minimum(scores, MOST)
        scores[self._exact] = self._exact_score
        if self._long is not None:
            has_long, long_scores = self._long
            scores = np.where(has_long, np.maximum(scores * np.float32(SHORT_FORM), long_scores), scores)
        if added is not None:
            scores = np.where(self._named, scores, scores + added[self._at])
        table = np.full(self.candidates.shape, -np.inf, np.float32)
        table[self._at] = np.round(scores, 6)
        return table

    def _squared_lengths(self, weights: Floats1d) -> Floats1d:
        """The squared length of each query's mix, (B,), from the dot products of its texts."""
        total = np.zeros(len(self.candidates), np.float32)
        for i, one in enumerate(self._texts):
            for j, other in enumerate(self._texts):
                if weights[i] and weights[j]:
                    total += weights[i] * weights[j] * one.row_dots(other)
        return np.maximum(total, 0)

    def _best(self, dots: np.ndarray) -> Floats1d:
        """The best row's value for each pair."""
        if not len(self._counts):
            return np.zeros(0, np.float32)
        return np.maximum.reduceat(dots, np.cumsum(self._counts) - self._counts)

    def _equal(self, space: EntitySpace, texts: Sequence[str]) -> tuple[np.ndarray, Floats1d]:
        """Which pairs are a text and an entity that has it as a name, and the scores of these."""
        exact = exact_names(space.kb, texts)
        named = exact.query.astype(np.int64) * len(space.kb) + exact.entity
        order = np.argsort(named)
        pair = self._query.astype(np.int64) * len(space.kb) + self.candidates[self._at]
        equal = np.isin(pair, named)
        return equal, exact.score[order][np.searchsorted(named[order], pair[equal])]

    def _long_forms(
        self,
        space: EntitySpace,
        queries: Sequence[Query],
        encoded: Encoded,
        vectors: Vectors,
        row: np.ndarray,
        of_row: np.ndarray,
    ) -> tuple[np.ndarray, Floats1d] | None:
        """Which pairs have a long form, and its scores."""
        if encoded.long_forms is None:
            return None
        place = np.full(len(queries), -1, np.int32)
        place[encoded.with_long] = np.arange(len(encoded.with_long))
        has_long = place[self._query] >= 0
        scored = place[of_row] >= 0
        dots = np.zeros(len(row), np.float32)
        dots[scored] = _dots(encoded.long_forms, place[of_row[scored]], vectors, row[scored])
        scores = np.minimum(self._best(dots), MOST)
        equal, exact = self._equal(space, [query.long_form.text if query.long_form else "" for query in queries])
        scores[equal] = exact
        self._named = np.where(has_long, equal, self._named)
        return has_long, scores


def _dots(queries: Vectors, query: np.ndarray, vectors: Vectors, row: np.ndarray) -> Floats1d:
    """Dot product of each pair of a query and a row, (P,)."""
    dots = np.empty(len(row), np.float32)
    for start in range(0, len(row), _PAIRS):
        part = slice(start, start + _PAIRS)
        dots[part] = vectors.take(row[part]).row_dots(queries.take(query[part]))
    return dots
