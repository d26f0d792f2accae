"""What changed from one release of an ontology to the next, and which entities it touches.

Everything is compared column by column, over entity numbers, as the knowledge bases hold it: names after stop synonyms
were dropped and retired names inherited, parents after old ids were followed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..types import SCOPES, Bools1d, Ints1d
from .columns import Csr
from .hierarchy import expand, to_csr

if TYPE_CHECKING:
    from .knowledge_base import KnowledgeBase


@dataclass(frozen=True, eq=False)
class Diff:
    """The difference of two knowledge bases; ``E`` counts the live entities of the new one.

    An entity may be of several kinds: one that is renamed and keeps its old name as a synonym has other names, too.

    Attributes:
        old, new: The knowledge bases.
        before: The old number of each entity, -1 for one that was not live, (E,).
        gone: Old numbers of the entities that are live no more.
        heirs: The number of the entity that each of those leads to now, by alt id or replacement, or -1.
        renamed: Entities with another primary name, (E,).
        names_changed: Entities with other synonyms, or synonyms of other scopes, in whatever order, (E,).
        reparented: Entities with other live parents, (E,).
        redefined: Entities with another definition, (E,).
        same_names: Entities that have the very names that they had, in the same order, (E,).
        touched: Entities of which an encoder or a reranker may make something else: they or one of N+ (parents,
            children, siblings; then or now) were added, removed or changed in any of these ways, (E,).
    """

    old: KnowledgeBase
    new: KnowledgeBase
    before: Ints1d
    gone: Ints1d
    heirs: Ints1d
    renamed: Bools1d
    names_changed: Bools1d
    reparented: Bools1d
    redefined: Bools1d
    same_names: Bools1d
    touched: Bools1d

    @property
    def added(self) -> Bools1d:
        """Entities that were not live: new ones, and obsolete ones that came back, (E,)."""
        return self.before < 0

    @property
    def merged(self) -> Ints1d:
        """Old numbers of the entities that lead to another one now."""
        return self.gone[self.heirs >= 0]

    @property
    def retired(self) -> Ints1d:
        """Old numbers of the entities that lead nowhere now."""
        return self.gone[self.heirs < 0]

    def counts(self) -> dict[str, int]:
        """Count entities by kind of change."""
        return {
            "added": int(self.added.sum()),
            "retired": len(self.retired),
            "merged": len(self.merged),
            **{kind: int(getattr(self, kind).sum()) for kind in KINDS},
            "touched": int(self.touched.sum()),
        }

    def why_touched(self, id: str) -> tuple[str, ...]:
        """Say why a live entity is touched; () if it is not.

        By kind of change, "order" for one whose names only changed places, "neighbours" where only those changed.
        """
        number = self.new.number_of(id)
        if number < 0 or not self.touched[number]:
            return ()
        kinds = tuple(kind for kind in ("added", *KINDS) if getattr(self, kind)[number])
        return kinds or (("neighbours",) if self.same_names[number] else ("order",))

    def reembed(self, hierarchy: bool = False) -> Bools1d:
        """Mark the entities whose rows cannot be what they were, (E,); narrower than ``touched``.

        A row that is made of a name changes with the names of its entity; with rows pooled over the ``hierarchy`` also
        with which parents and children there are, then or now, and what these are called.
        """
        stale = ~self.same_names
        if hierarchy:
            seeds = self.added | self.renamed | self.reparented
            stale = stale | seeds | self._around(seeds, siblings=False)
        return stale

    def _around(self, changed: Bools1d, siblings: bool = True) -> Bools1d:
        """Mark the neighbours, then or now, of entities that changed and of those that are gone, (E,)."""
        kept = np.flatnonzero(self.before >= 0)
        after = np.full(len(self.old), -1, np.int32)
        after[self.before[kept]] = kept
        was = self.before[np.flatnonzero(changed)]
        near = after[_neighbours(self.old, np.concatenate([was[was >= 0], self.gone]), siblings)]
        mask = np.zeros(len(self.new), np.bool_)
        mask[near[near >= 0]] = True
        mask[_neighbours(self.new, np.flatnonzero(changed), siblings)] = True
        return mask


KINDS = ("renamed", "names_changed", "reparented", "redefined")
"""What may have changed of an entity that was there before; masks of ``Diff``."""


def compare(old: KnowledgeBase, new: KnowledgeBase) -> Diff:
    """Find what changed from ``old`` to ``new``; entities are the same if their ids are."""
    before = np.concatenate([old.numbers_of(new.ids_of(block)) for block in _blocks(len(new))])
    kept = np.flatnonzero(before >= 0)
    was = before[kept]
    gone = np.setdiff1d(np.arange(len(old), dtype=np.int32), was)
    old_codes, new_codes = _name_codes(old, new)

    def changed(differs: np.ndarray) -> Bools1d:
        mask = np.zeros(len(new), np.bool_)
        mask[kept[differs]] = True
        return mask

    renamed = changed(old_codes[old.primary_names()[was]] != new_codes[new.primary_names()[kept]])
    names = _differ(Csr(_starts(old), old_codes), was, Csr(_starts(new), new_codes), kept)
    same_names = changed(~names)
    names_changed = changed(_differ(_synonyms(old, old_codes), was, _synonyms(new, new_codes), kept))
    old_parents, new_parents = old.tables["hierarchy"].csr("parents"), _in_old_numbers(new, before, len(old))
    moved = changed(_differ(old_parents, was, new_parents, kept))  # or else the same parents in another order
    reparented = moved & changed(_differ(old_parents, was, _sorted(new_parents), kept))
    redefined = changed(_definitions_differ(old, was, new, kept))
    heirs = np.array([_heir(new, id) for id in old.ids_of(gone)], np.int32)
    own = ~same_names | names_changed | moved | redefined  # not the same names: also all that are new
    diff = Diff(old, new, before, gone, heirs, renamed, names_changed, reparented, redefined, same_names, touched=own)
    return replace(diff, touched=own | diff._around(own))


def _blocks(size: int, step: int = 65_536) -> list[np.ndarray]:
    return [np.arange(start, min(start + step, size)) for start in range(0, size, step)]


def _heir(kb: KnowledgeBase, id: str) -> int:
    live = kb.resolve(id)
    return -1 if live is None else kb.number_of(live)


def _name_codes(old: KnowledgeBase, new: KnowledgeBase) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers that are equal where the texts of names are, for each name of either."""
    import pyarrow as pa

    texts = [kb.tables["names"].array("text").slice(0, kb.n_names) for kb in (old, new)]
    codes = pa.concat_arrays(texts).dictionary_encode().indices.to_numpy()
    return codes[: old.n_names], codes[old.n_names :]


def _starts(kb: KnowledgeBase) -> np.ndarray:
    return np.append(kb.primary_names(), kb.n_names)


def _synonyms(kb: KnowledgeBase, codes: np.ndarray) -> Csr:
    """Return each entity's names but the primary one, with their scopes, in an order that depends on nothing else."""
    place = np.setdiff1d(np.arange(kb.n_names), kb.primary_names())
    owner = kb.name_owner[place]
    value = codes[place].astype(np.int64) * len(SCOPES) + kb.name_scope[place]
    counts = np.bincount(owner, minlength=len(kb))
    return Csr(np.append(0, np.cumsum(counts)), value[np.lexsort((value, owner))])


def _in_old_numbers(new: KnowledgeBase, before: Ints1d, n_old: int) -> Csr:
    """Return each entity's parents by their old numbers; those without one get numbers behind all of these."""
    parents = new.tables["hierarchy"].csr("parents")
    was = before[parents.indices]
    return Csr(parents.indptr, np.where(was < 0, n_old + parents.indices, was))


def _sorted(rows: Csr) -> Csr:
    size = len(rows.indptr) - 1
    return to_csr(np.repeat(np.arange(size), np.diff(rows.indptr)), rows.indices, size)


def _definitions_differ(old: KnowledgeBase, was: np.ndarray, new: KnowledgeBase, kept: np.ndarray) -> np.ndarray:
    import pyarrow as pa
    import pyarrow.compute as pc

    texts: list[Any] = [
        kb.tables["entities"].array("definition").take(pa.array(rows)) for kb, rows in ((old, was), (new, kept))
    ]
    return np.asarray(pc.not_equal(*texts).to_numpy(zero_copy_only=False), np.bool_)


def _differ(old: Csr, was: np.ndarray, new: Csr, kept: np.ndarray) -> np.ndarray:
    """Whether each of some old rows is another list than the new row beside it."""
    differs = (old.indptr[was + 1] - old.indptr[was]) != (new.indptr[kept + 1] - new.indptr[kept])
    alike = np.flatnonzero(~differs)
    place, items = expand(old, was[alike])
    differs[alike[place[items != expand(new, kept[alike])[1]]]] = True
    return np.asarray(differs)


def _neighbours(kb: KnowledgeBase, numbers: np.ndarray, siblings: bool) -> np.ndarray:
    """Return the numbers of all parents, children and siblings of some entities."""
    parents, children = (kb.tables["hierarchy"].csr(side) for side in ("parents", "children"))
    up = np.unique(expand(parents, numbers)[1])
    near = [up, expand(children, numbers)[1]]
    if siblings:
        near.append(expand(children, up)[1])
    return np.unique(np.concatenate(near))
