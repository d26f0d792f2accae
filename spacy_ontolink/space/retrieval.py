"""From mentions to candidates: encode, mix, search, and let an exact name be what it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..types import SCOPES, Bools1d, Floats1d, Hits, Ints1d, Mention
from ..vectors import Vectors, add
from .entity_space import EntitySpace
from .exact import exact_names

MOST = np.float32(1)
"""The highest score there is: a cosine of rows in half precision may come out higher, and go before an exact name."""
SHORT_FORM = 0.5
"""How much of its score a short form keeps beside its long form: it is often another entity's abbreviation, too."""


@dataclass(frozen=True, slots=True)
class Query:
    """One mention to look up, and the other texts that may speak for it.

    Attributes:
        mention: The mention as it stands in the text.
        long_form: What its abbreviation stands for in this document; searched beside the mention.
        standard_name, hypernym: Reformulations, mixed into the query vector (PILOT, section 3.1).
    """

    mention: Mention
    long_form: Mention | None = None
    standard_name: Mention | None = None
    hypernym: Mention | None = None


class Encoded(NamedTuple):
    """The texts of B queries as vectors, (B, D) each: encoded once, mixed with any weights.

    The reformulations are None where no query has one; ``long_forms`` has a row for each of ``with_long`` only.
    """

    mention: Vectors
    standard_name: Vectors | None
    hypernym: Vectors | None
    with_long: Ints1d
    long_forms: Vectors | None

    def mixed(self, weights: Sequence[float]) -> Vectors:
        """Return the query vectors ``w_m φ(m) + w_s φ(m_s) + w_h φ(m_h)``, (B, D), of unit length (PILOT, 3.1)."""
        if not any(weights[1:]):
            return self.mention
        texts = [self.mention if text is None else text for text in self[:3]]
        return add(texts, list(weights)).normalised()


def encode(space: EntitySpace, queries: Sequence[Query], weights: Sequence[float] | None = None) -> Encoded:
    """Encode the texts of queries: all of them, or with ``weights`` those that count.

    Where a query has no standard name or hypernym but others have, its mention stands in.
    """
    _, with_name, with_hypernym = weights or (1.0, 1.0, 1.0)
    long_forms = [(number, query.long_form) for number, query in enumerate(queries) if query.long_form is not None]
    return Encoded(
        space.encoder.encode_mentions([query.mention for query in queries]),
        _encode_given(space, queries, [query.standard_name for query in queries]) if with_name else None,
        _encode_given(space, queries, [query.hypernym for query in queries]) if with_hypernym else None,
        np.array([number for number, _ in long_forms], np.int32),
        space.encoder.encode_mentions([text for _, text in long_forms]) if long_forms else None,
    )


def _encode_given(space: EntitySpace, queries: Sequence[Query], texts: Sequence[Mention | None]) -> Vectors | None:
    if not any(text is not None for text in texts):
        return None
    return space.encoder.encode_mentions([text or query.mention for text, query in zip(texts, queries, strict=True)])


def retrieve(
    space: EntitySpace,
    queries: Sequence[Query],
    k: int,
    allowed: Bools1d | None = None,
    weights: Sequence[float] = (1.0, 0.0, 0.0),
    encoded: Encoded | None = None,
) -> Hits:
    """Find the best ``k`` entities of each query.

    The score is the cosine of the entity's best row; an entity that has the mention (or its long form) as a name,
    after normalisation, scores 1, or a little less if annotated mentions gave the name to another one more often. Among
    equals, the closer scope goes first (primary name, exact synonym, …), then the higher cosine, then the lower entity
    number. Beside a long form, scores of the short form count ``SHORT_FORM``.

    Args:
        space: Where to search.
        queries: B queries; blank mentions find nothing.
        k: How many.
        allowed: The entities to search among, (E,); None for all.
        weights: Of mention, standard name and hypernym; for a missing text, the mention stands in.
        encoded: What ``encode`` made of the queries, if that was done already.
    """
    texts = encoded or encode(space, queries, weights)
    hits = _search(space, [query.mention for query in queries], texts.mixed(weights), k, allowed)
    if texts.long_forms is None:
        return hits
    long_forms = [queries[number].long_form or queries[number].mention for number in texts.with_long]
    expanded = _search(space, long_forms, texts.long_forms, k, allowed)
    return _beside(hits, texts.with_long, expanded)


def _search(space: EntitySpace, mentions: Sequence[Mention], vectors: Vectors, k: int, allowed: Bools1d | None) -> Hits:
    """Search, then put entities first that have the very text as a name."""
    hits = space.search(vectors, k, allowed)
    np.minimum(hits.scores, MOST, out=hits.scores)
    query, position, entity, score = exact_names(space.kb, [mention.text for mention in mentions], allowed)
    pair, place = np.nonzero((hits.entities[query] == entity[:, None]) & (hits.scores[query] > score[:, None]))
    hits.scores[query[pair], place] = score[pair]
    exact = Pairs(query, entity, score, _rows_of(space, position, entity), space.kb.name_scope[position])
    return merge_pairs(hits, np.unique(query), exact)


def _rows_of(space: EntitySpace, position: Ints1d, entity: Ints1d) -> Ints1d:
    """The row of each name; for an encoder with one row per entity, the entity's."""
    name = space.rows.name
    row = np.minimum(np.searchsorted(name, position), max(len(name) - 1, 0))
    return np.where(name[row] == position, row, np.searchsorted(space.rows.owner, entity))


class Pairs(NamedTuple):
    """Scored pairs of a query and an entity; among equal scores the lower rank is better."""

    query: Ints1d
    entity: Ints1d
    score: Floats1d
    row: Ints1d
    rank: Ints1d


def merge_pairs(hits: Hits, queries: Ints1d, better: Pairs) -> Hits:
    """Put pairs among the hits of the queries named; each entity counts once, with its best score.

    Equal scores are in order of rank (hits come last), then of the cosine among the hits, then of the entity number.
    """
    if not len(queries):
        return hits
    k = hits.entities.shape[1]
    known = pairs_of(hits, queries)
    pairs = Pairs(*(np.concatenate(columns) for columns in zip(better, known, strict=True)))
    cosine = dict(zip(zip(known.query.tolist(), known.entity.tolist(), strict=True), known.score.tolist(), strict=True))
    of_pair = [cosine.get(pair, 0.0) for pair in zip(pairs.query.tolist(), pairs.entity.tolist(), strict=True)]
    order = np.lexsort((pairs.entity, -np.asarray(of_pair), pairs.rank, -pairs.score, pairs.query))
    _, first = np.unique(pairs.query[order].astype(np.int64) << 32 | pairs.entity[order], return_index=True)
    best = order[np.sort(first)]
    place = _places(pairs.query[best])
    best, place = best[place < k], place[place < k]
    for column, empty, values in zip(hits, (-1, -np.inf, -1), (pairs.entity, pairs.score, pairs.row), strict=True):
        column[queries] = empty
        column[pairs.query[best], place] = values[best]
    return hits


def _places(query: Ints1d) -> Ints1d:
    """The place of each pair among those of its query, which follow one another, from 0."""
    return (np.arange(len(query)) - np.searchsorted(query, query)).astype(np.int32)


def pairs_of(hits: Hits, queries: Ints1d) -> Pairs:
    """Return the hits of the queries numbered, with a rank behind that of any name."""
    entities = hits.entities[queries]
    at = np.nonzero(entities >= 0)
    scores, rows = hits.scores[queries][at], hits.rows[queries][at]
    return Pairs(queries[at[0]], entities[at], scores, rows, np.full(len(scores), len(SCOPES), np.int32))


def _beside(hits: Hits, numbers: Ints1d, expanded: Hits) -> Hits:
    """Let the hits of long forms compete with those of their short forms, which count less."""
    hits.scores[numbers] *= np.float32(SHORT_FORM)
    pairs = pairs_of(expanded, np.arange(len(numbers), dtype=np.int32))
    return merge_pairs(hits, numbers, pairs._replace(query=numbers[pairs.query], rank=_places(pairs.query)))
