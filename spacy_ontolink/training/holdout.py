"""Mentions without annotators: synonyms taken out of an ontology, and entities hidden so that mentions have none."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..indexes.exact import ExactIndex
from ..kb import KnowledgeBase
from ..space import EntitySpace
from ..space.update import update
from ..types import SCOPES, Entity, Ints1d, Scope

MOST = 0.3
"""The largest share of its synonyms that an ontology may lose: what is left must still be that ontology."""


class Holdout(NamedTuple):
    """A space that lacks some synonyms of its ontology, and these as mentions: text and entity number of each."""

    space: EntitySpace
    mentions: list[tuple[str, int]]
    scopes: tuple[Scope, ...]
    """The scopes among which they were chosen: EXACT, or all of them where the ontology has no EXACT synonym."""


def hold_out_synonyms(
    entities: Iterable[Entity], share: float, seed: int, scopes: Sequence[Scope] = ("EXACT",)
) -> tuple[list[Entity], list[tuple[str, str]]]:
    """Take a share of the synonyms of these scopes out of an ontology, one at least, as mentions with a known id.

    Obsolete entities keep theirs.

    Returns:
        The entities without them, and their texts with the id of their entity.
    """
    entities, chance = list(entities), random.Random(seed)
    drawn = {
        (number, place): chance.random()
        for number, entity in enumerate(entities)
        for place, synonym in enumerate(entity.synonyms)
        if not entity.obsolete and synonym.scope in scopes
    }
    taken = {at for at, draw in drawn.items() if draw < share} or {*sorted(drawn, key=drawn.__getitem__)[:1]}
    kept: list[Entity] = []
    mentions: list[tuple[str, str]] = []
    for number, entity in enumerate(entities):
        out = [place for place in range(len(entity.synonyms)) if (number, place) in taken]
        left = tuple(synonym for place, synonym in enumerate(entity.synonyms) if place not in out)
        mentions += [(entity.synonyms[place].text, entity.id) for place in out]
        kept.append(replace(entity, synonyms=left) if out else entity)
    return kept, mentions


def hold_out(space: EntitySpace, wanted: int, seed: int) -> Holdout:
    """Take about ``wanted`` synonyms out of a space: no more than the share ``MOST`` of them, but one if there is any.

    Only entities whose rows that changes are encoded anew; the encoder stays as it was fitted.
    """
    scopes, total = _scopes(space.kb)
    if not total:
        return Holdout(space, [], scopes)
    share = min(MOST, 1.1 * wanted / total)
    kept, pairs = hold_out_synonyms((space.kb[id] for id in space.kb), share, seed, scopes)
    random.Random(seed).shuffle(pairs)
    numbers = space.kb.numbers_of([id for _, id in pairs]).tolist()
    mentions = [(text, number) for (text, _), number in zip(pairs, numbers, strict=True)]
    # Stop synonyms are gone already, and those that are left must stay.
    kb = KnowledgeBase.from_entities(kept, name=space.kb.name, stop_synonyms=False, report=_Silent())
    return Holdout(update(space, kb, ExactIndex(), refit=False).space, mentions[:wanted], scopes)


def hide(gold: Sequence[Collection[int]], share: float, seed: int) -> Ints1d:
    """Choose a share of the entities that are gold to some mention, to be hidden; their numbers, ascending.

    Mentions of nothing else have no entity then. Retrieval leaves the hidden out by its mask of entities.
    """
    entities = np.unique(np.fromiter((number for numbers in gold for number in numbers), np.int32))
    count = round(share * len(entities))
    return np.sort(np.random.default_rng(seed).choice(entities, count, replace=False)) if count else entities[:0]


class _Silent:
    """A report for an ontology that was read before, when its problems were told."""

    def problem(self, kind: str, detail: str, line: int | None = None) -> None:
        """Pass over a problem."""


def _scopes(kb: KnowledgeBase) -> tuple[tuple[Scope, ...], int]:
    """The scopes to hold out from, and the number of synonyms they have."""
    counts = np.bincount(kb.name_scope, minlength=len(SCOPES))
    exact = int(counts[SCOPES.index("EXACT")])
    return (("EXACT",), exact) if exact else (SCOPES[1:], int(counts[1:].sum()))
