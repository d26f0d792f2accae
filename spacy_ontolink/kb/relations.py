"""Where one entity stands from another in the is-a hierarchy."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np

from . import hierarchy

if TYPE_CHECKING:
    from .knowledge_base import KnowledgeBase

Kind = Literal["same", "parent", "child", "sibling", "ancestor", "descendant", "far"]
"""What one entity is to another, the nearest first; an ``ancestor`` is two steps up or more."""

KINDS: tuple[Kind, ...] = get_args(Kind)


class Relation(NamedTuple):
    """What an entity is to another, and how many is-a steps lie between them by way of a common ancestor, if any."""

    kind: Kind
    steps: int | None


class Relations:
    """Says what entities are to one another; what it has seen of an entity it remembers."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._parents = kb.tables["hierarchy"].csr("parents")
        self._above = lru_cache(maxsize=4096)(self._walk)

    def of(self, id: str, others: Iterable[str]) -> Relation | None:
        """Say what ``id`` is to the nearest of the others; None where entities or the whole hierarchy are missing."""
        number = self._kb.number_of(id)
        targets = [target for target in map(self._kb.number_of, others) if target >= 0]
        if number < 0 or not targets or not len(self._parents.indices):
            return None
        found = [self._between(number, target) for target in targets]
        return min(found, key=lambda one: (KINDS.index(one.kind), one.steps is None, one.steps or 0))

    def _between(self, number: int, other: int) -> Relation:
        (own, own_steps), (theirs, their_steps) = self._above(number), self._above(other)
        _, mine, its = np.intersect1d(own, theirs, assume_unique=True, return_indices=True)
        if not len(mine):
            return Relation("far", None)
        ways = np.stack([own_steps[mine], their_steps[its]], axis=1)
        up, down = ways[np.lexsort((ways.min(axis=1), ways.sum(axis=1)))[0]].tolist()
        return Relation(_kind(up, down), up + down)

    def _walk(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Return an entity with all above it, and how many steps up each is."""
        steps = hierarchy.reach(self._parents, np.array([number]))
        return np.concatenate(steps), np.repeat(np.arange(len(steps)), [len(step) for step in steps])


def _kind(up: int, down: int) -> Kind:
    """Name the way: so many steps up from the entity to the nearest common ancestor, so many down to the other."""
    if not up:
        return "same" if not down else "parent" if down == 1 else "ancestor"
    if not down:
        return "child" if up == 1 else "descendant"
    return "sibling" if up == down == 1 else "far"
