"""Coordinated mentions: every part is looked up, and the best entity of each comes before all others."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from ..coordination import Coordination, coordination
from ..types import Bools1d, Floats1d, Floats2d, Hits, Mention
from .entity_space import EntitySpace
from .retrieval import Pairs, Query, merge_pairs, pairs_of, retrieve

_HEAD = 0.05
"""What a reading gains in which parts share last words: in ``breast and ovarian cancer``, the first is no organ."""


class _Part(NamedTuple):
    """A part of a mention and the place of its text among all that are looked up."""

    text: str
    place: int


def split_composites(
    space: EntitySpace, queries: Sequence[Query], hits: Hits, allowed: Bools1d | None = None
) -> dict[int, tuple[str, ...]]:
    """Look up the parts of coordinated mentions, and let them take the place of the whole where they are found better.

    Which words the parts share is what the ontology says: of all readings the one whose parts have the highest scores
    on average. It is taken if the worst of its parts scores no less than the whole mention, and each part has a best
    entity of its own. The scores of each part are then scaled so that the best ones are level with the least of them.

    Args:
        space: Where the queries were searched.
        queries: B queries.
        hits: What was found for them, (B, K); changed in place.
        allowed: The entities to search among, (E,); None for all.

    Returns:
        By number of the query, the part that each of its candidates belongs to, "" for the whole mention.
    """
    cut = {
        number: found
        for number, query in enumerate(queries)
        if hits.entities[number, 0] >= 0 and hits.scores[number, 0] < 1
        if (found := coordination((query.long_form or query.mention).text))
    }
    if not cut:
        return {}
    readings, texts = {}, dict[str, int]()
    for number, found in cut.items():
        readings[number] = [(after, [_Part(text, texts.setdefault(text, len(texts))) for text in reading])
                            for after, reading in _readings(found)]  # fmt: skip
    found_parts = retrieve(space, [Query(Mention(text)) for text in texts], hits.entities.shape[1], allowed)
    return {
        number: _take(hits, number, parts, found_parts)
        for number, several in readings.items()
        if (parts := _best(several, found_parts, float(hits.scores[number, 0])))
    }


def level(scores: Floats2d) -> Floats1d:
    """Join the scores that P parts give to K candidates, (P, K): the best of each part is level with the least best."""
    best = scores.max(axis=1)
    joined: Floats1d = (scores * _scale(best)[:, None]).max(axis=0)
    return joined


def _scale(best: Floats1d) -> Floats1d:
    scale: Floats1d = np.divide(best.min(), best, out=np.ones_like(best), where=best.min() > 0)
    return scale


def _readings(found: Coordination) -> list[tuple[int, list[str]]]:
    """All readings, those that share most words first, each with how many last words are shared."""
    shared = product(range(found.most_before + 1), range(found.most_after + 1))
    numbers = range(len(found.pieces))
    return [
        (after, [found.part(number, before, after) for number in numbers])
        for before, after in sorted(shared, key=sum, reverse=True)
    ]


def _best(readings: Sequence[tuple[int, list[_Part]]], found: Hits, whole: float) -> list[_Part]:
    """Return the parts of the best reading; none if the whole mention is found as well."""

    def worth(reading: tuple[int, list[_Part]]) -> float:
        after, parts = reading
        return round(float(found.scores[[part.place for part in parts], 0].mean()) + (_HEAD if after else 0), 4)

    _, parts = max(readings, key=worth)
    places = [part.place for part in parts]
    entities = found.entities[places, 0]
    distinct = len(np.unique(entities)) == len(parts) and bool((entities >= 0).all())
    return parts if distinct and float(found.scores[places, 0].min()) >= whole else []


def _take(hits: Hits, number: int, parts: Sequence[_Part], found: Hits) -> tuple[str, ...]:
    """Merge the hits of the parts into those of the whole mention; return the part of each candidate."""
    best = found.scores[[part.place for part in parts], 0]
    texts: dict[tuple[int, float], str] = {}
    columns = []
    for rank, (part, scale) in enumerate(zip(parts, _scale(best), strict=True)):
        pairs = pairs_of(found, np.array([part.place], np.int32))
        score = np.minimum(pairs.score * scale, best.min())
        score[0] = best.min()  # whatever the rounding
        place = np.arange(len(score), dtype=np.int32)
        columns.append(pairs._replace(query=np.full_like(pairs.query, number), score=score,
                                      rank=place * len(parts) + rank))  # fmt: skip
        for pair in zip(pairs.entity.tolist(), score.tolist(), strict=True):
            texts.setdefault(pair, part.text)
    merge_pairs(hits, np.array([number], np.int32), Pairs(*map(np.concatenate, zip(*columns, strict=True))))
    there = hits.entities[number] >= 0
    candidates = zip(hits.entities[number][there].tolist(), hits.scores[number][there].tolist(), strict=True)
    return tuple(texts.get(pair, "") for pair in candidates)
