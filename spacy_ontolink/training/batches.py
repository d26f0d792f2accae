"""Which entities a mention is pulled to and pushed from in a batch (Sci-ZSEL, appendix A.3.2 and Table 8)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from ..types import Ints1d, Mention

if TYPE_CHECKING:
    from ..kb import KnowledgeBase

Strategy = Literal["BASE", "RM-PCS", "PC-POS"]
"""All other entities are negatives; all but parents, children and siblings; parents and children are positives."""

STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
CAP = 30
"""The most random entities that make up for neighbours that are no negatives (H_cap)."""

REMEMBERED = 1024
"""Entities whose neighbours are kept at hand; some have a hundred thousand siblings."""

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Example:
    """A mention and an entity that it means.

    Attributes:
        mention: With its context.
        entity: Number of the entity.
        others: Numbers of more entities that are right, or may be: they are never negatives.
        weight: What it counts.
    """

    mention: Mention
    entity: int
    others: tuple[int, ...] = ()
    weight: float = 1.0


class Batch(NamedTuple):
    """The candidates of a batch, unique golds first, and which of them are right or wrong for each mention.

    Attributes:
        columns: Entity numbers, (C,).
        positive: P_i, (B, C).
        negative: N_i, (B, C); what is neither is left alone.
    """

    columns: Ints1d
    positive: Mask
    negative: Mask


class Relatives:
    """Entities that are near one another in the hierarchy, or share a name.

    Attributes:
        near: Returns the parents and children of an entity, ascending: N(e).
        wide: Returns its parents, children and siblings, ascending: N+(e).
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        self.kb = kb
        self._first = np.append(kb.primary_names(), kb.n_names)
        self._named: dict[int, frozenset[int]] = {}
        self.near = lru_cache(REMEMBERED)(self._find_near)
        self.wide = lru_cache(REMEMBERED)(self._find_wide)

    def _find_near(self, entity: int) -> Ints1d:
        return _without(entity, _row(self.kb.parent_matrix, entity), _row(self.kb.child_matrix, entity))

    def _find_wide(self, entity: int) -> Ints1d:
        siblings = [_row(self.kb.child_matrix, parent) for parent in _row(self.kb.parent_matrix, entity)]
        return _without(entity, self.near(entity), *siblings)

    def namesakes(self, entities: Iterable[int]) -> dict[int, frozenset[int]]:
        """Return for each entity the others that share any of its names after ``normalise()``."""
        wanted = list(dict.fromkeys(entities))
        new = [entity for entity in wanted if entity not in self._named]
        positions = [range(self._first[entity], self._first[entity + 1]) for entity in new]
        owner = np.repeat(new, [len(own) for own in positions])
        number, found = self.kb.exact_names(self.kb.texts_of([place for own in positions for place in own]))
        sharing: dict[int, set[int]] = {entity: set() for entity in new}
        for entity, other in zip(owner[number].tolist(), self.kb.name_owner[found].tolist(), strict=True):
            sharing[entity].add(other)
        self._named.update({entity: frozenset(others - {entity}) for entity, others in sharing.items()})
        return {entity: self._named[entity] for entity in wanted}


class Sampler:
    """Puts the candidates of a batch together."""

    def __init__(self, relatives: Relatives, strategy: Strategy = "BASE", cap: int = CAP) -> None:
        self.relatives, self.strategy, self.cap = relatives, strategy, cap

    def __call__(self, examples: Sequence[Example], chance: np.random.Generator) -> Batch:
        """Return candidates G and R, and P_i and N_i as the strategy has them.

        ``|R| = (b - |G|) + min(max |N+(e_i)|, cap)``. [ours] The target budget of negatives is what a batch of distinct
        entities gives in BLINK, b - 1, and random ones go first when a row has more. Entities that share a name with
        the gold one, and a mention's other right ones, are no negatives.
        """
        gold = list(dict.fromkeys(example.entity for example in examples))
        widest = max(len(self.relatives.wide(entity)) for entity in gold)
        wanted = len(examples) - len(gold) + min(widest, self.cap)
        columns = np.array([*gold, *_draw(len(self.relatives.kb), set(gold), wanted, chance)], np.int32)
        is_gold = np.arange(len(columns)) < len(gold)
        right, spared = {}, {}
        for entity, namesakes in self.relatives.namesakes(gold).items():
            neighbours = np.isin(columns, self._neighbours(entity))
            itself = columns == entity
            right[entity] = itself | (neighbours & is_gold) if self.strategy == "PC-POS" else itself
            spared[entity] = itself | neighbours | np.isin(columns, list(namesakes))
        positive = np.stack([right[example.entity] for example in examples])
        others = np.stack([np.isin(columns, example.others) for example in examples])
        negative = ~(np.stack([spared[example.entity] for example in examples]) | others)
        negative &= negative.cumsum(1) <= len(examples) - 1
        return Batch(columns, positive, negative)

    def _neighbours(self, entity: int) -> Ints1d:
        """Return those that are no negatives."""
        if self.strategy == "BASE":
            return np.zeros(0, np.int32)
        return self.relatives.wide(entity) if self.strategy == "RM-PCS" else self.relatives.near(entity)


class NameRows(NamedTuple):
    """Some names of the candidates: positions in the name table, and the column of each, ascending, (R,)."""

    names: Ints1d
    column: Ints1d


def draw_names(kb: KnowledgeBase, columns: Ints1d, most: int, chance: np.random.Generator) -> NameRows:
    """Choose at most ``most`` names of each candidate: the primary one, and others at random."""
    first, after = kb.primary_names(), np.append(kb.primary_names(), kb.n_names)
    names, column = [], []
    for number, entity in enumerate(columns.tolist()):
        others = np.arange(first[entity] + 1, after[entity + 1])
        taken = chance.permutation(others)[: most - 1] if len(others) >= most else others
        names += [int(first[entity]), *taken.tolist()]
        column += [number] * (1 + len(taken))
    return NameRows(np.array(names, np.int32), np.array(column, np.int32))


def _row(matrix: Any, number: int) -> Ints1d:
    found: Ints1d = matrix.indices[matrix.indptr[number] : matrix.indptr[number + 1]]
    return found


def _without(entity: int, *lists: Ints1d) -> Ints1d:
    found = np.unique(np.concatenate(lists))
    return np.asarray(found[found != entity])


def _draw(size: int, without: set[int], wanted: int, chance: np.random.Generator) -> list[int]:
    """Draw distinct numbers below ``size`` at random, as many as wanted or as there are."""
    drawn = chance.choice(size, min(size, wanted + len(without)), replace=False).tolist()
    return [number for number in drawn if number not in without][:wanted]
