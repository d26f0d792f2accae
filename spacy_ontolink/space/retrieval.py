"""From mentions to candidates: encode, mix, search, and let an exact name be what it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..types import SCOPES, Bools1d, Hits, Mention
from ..vectors import Vectors, add
from .entity_space import EntitySpace

_NAME = SCOPES.index("NAME")


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


def retrieve(
    space: EntitySpace,
    queries: Sequence[Query],
    k: int,
    allowed: Bools1d | None = None,
    weights: Sequence[float] = (1.0, 0.0, 0.0),
) -> Hits:
    """Find the best ``k`` entities of each query.

    The score is the cosine of the entity's best row; an entity that has the mention (or its long form) as a name,
    after normalisation, scores 1. Among equals, a primary name goes before a synonym, then the higher cosine, then
    the lower entity number. Where there is a long form, the short form's scores count ``SHORT_FORM`` of theirs.

    Args:
        space: Where to search.
        queries: B queries; blank mentions find nothing.
        k: How many.
        allowed: The entities to search among, (E,); None for all.
        weights: Of mention, standard name and hypernym; a missing text leaves its weight to the others.
    """
    hits = _search(space, [query.mention for query in queries], _encode(space, queries, weights), k, allowed)
    with_long = [number for number, query in enumerate(queries) if query.long_form is not None]
    if not with_long:
        return hits
    long_forms = [queries[number].long_form or queries[number].mention for number in with_long]
    expanded = _search(space, long_forms, space.encoder.encode_mentions(long_forms), k, allowed)
    return _beside(hits, np.asarray(with_long), expanded)


SHORT_FORM = 0.5
"""How much of its score a short form keeps beside its long form: it is often another entity's abbreviation, too."""


def _encode(space: EntitySpace, queries: Sequence[Query], weights: Sequence[float]) -> Vectors:
    """Mix each query from its texts, (B, D), unit length."""
    texts = [[query.mention for query in queries]]
    if any(weights[1:]):
        texts += [
            [query.standard_name or Mention("") for query in queries],
            [query.hypernym or Mention("") for query in queries],
        ]
    encoded = [space.encoder.encode_mentions(mentions) for mentions in texts]
    if len(encoded) == 1:
        return encoded[0]
    return add(encoded, list(weights)).normalised()


def _search(space: EntitySpace, mentions: Sequence[Mention], vectors: Vectors, k: int, allowed: Bools1d | None) -> Hits:
    hits = space.search(vectors, k, allowed)
    query, position = space.kb.exact_names([mention.text for mention in mentions])
    entity = space.kb.name_owner[position]
    if allowed is not None:
        query, position, entity = (values[allowed[entity]] for values in (query, position, entity))
    return _promote(hits, query, entity, _rows_of(space, position, entity), space.kb.name_scope[position] == _NAME)


def _rows_of(space: EntitySpace, position: np.ndarray, entity: np.ndarray) -> np.ndarray:
    """The row of a name, or for encoders with one row per entity, the entity's."""
    name = space.rows.name
    row = np.minimum(np.searchsorted(name, position), max(len(name) - 1, 0))
    return np.where(name[row] == position, row, np.searchsorted(space.rows.owner, entity))


def _promote(hits: Hits, query: np.ndarray, entity: np.ndarray, row: np.ndarray, is_name: np.ndarray) -> Hits:
    """Put exact names first, with a score of 1."""
    for number in np.unique(query):
        mine = query == number
        order = np.lexsort((entity[mine], ~is_name[mine]))
        exact = dict(
            zip(
                entity[mine][order][::-1].tolist(),
                zip(row[mine][order][::-1].tolist(), is_name[mine][order][::-1].tolist(), strict=True),
                strict=True,
            )
        )
        found = hits.entities[number].tolist()
        cosine = dict(zip(found, hits.scores[number].tolist(), strict=True))
        first = sorted(exact, key=lambda e: (not exact[e][1], -cosine.get(e, 0.0), e))
        rest = [place for place, e in enumerate(found) if e not in exact][: len(found) - len(first)]
        first = first[: len(found)]
        n_first = len(first)
        hits.rows[number] = [exact[e][0] for e in first] + hits.rows[number, rest].tolist()
        hits.scores[number] = [1.0] * n_first + hits.scores[number, rest].tolist()
        hits.entities[number] = first + [found[place] for place in rest]
    return hits


def _beside(hits: Hits, numbers: np.ndarray, expanded: Hits) -> Hits:
    """Merge the hits of long forms with those of their short forms, each entity by its better score."""
    k = hits.entities.shape[1]
    for number, *long_form in zip(numbers.tolist(), *expanded, strict=True):
        both = [np.concatenate(pair) for pair in zip(long_form, (column[number] for column in hits), strict=True)]
        both[1][k:] *= np.float32(SHORT_FORM)
        order = np.lexsort((np.arange(2 * k), -both[1]))
        order = order[both[0][order] >= 0]
        _, first = np.unique(both[0][order], return_index=True)
        best = order[np.sort(first)][:k]
        for column, empty, values in zip(hits, (-1, -np.inf, -1), both, strict=True):
            column[number] = empty
            column[number, : len(best)] = values[best]
    return hits
