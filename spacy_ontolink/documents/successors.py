"""Where ids lead in the next release of one or more ontologies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..types import SCOPES

if TYPE_CHECKING:
    from ..kb import KnowledgeBase


@dataclass
class Successors:
    """Leads ids to the entities that stand for them in the new release of each ontology, and counts.

    Attributes:
        releases: Each ontology before and now.
        kept: Ids that are live, or that no release knows (``NIL``, another ontology's): they stay.
        moved: Ids that lead to another one, with that one.
        lost: Ids that lead nowhere.
        dropped: Rows and mentions that were about those only.
        united: Pairs that are another pair of their mention now, as their entities were merged.
    """

    releases: Sequence[tuple[KnowledgeBase, KnowledgeBase]]
    kept: int = 0
    moved: Counter[tuple[str, str]] = field(default_factory=Counter)
    lost: Counter[str] = field(default_factory=Counter)
    dropped: int = 0
    united: int = 0
    _known: dict[str, str] = field(default_factory=dict)

    def __call__(self, id: str) -> str:
        """Return the id to write in the place of this one, "" if there is none any more."""
        if id not in self._known:
            self._known[id] = self.find(id)
        found = self._known[id]
        if found == id:
            self.kept += 1
        elif found:
            self.moved[id, found] += 1
        else:
            self.lost[id] += 1
        return found

    def find(self, id: str) -> str:
        """Return the same without counting."""
        for old, new in self.releases:
            # What the old release knew may be forgotten by now, such as an alt id of an entity that was merged since.
            if found := new.resolve(id) or new.resolve(old.resolve(id) or ""):
                return found
        return "" if any(id in kb for release in self.releases for kb in release) else id

    def scope(self, id: str, name: str) -> str:
        """Return the scope of the closest name of an entity of a new release that equals this one; "" if none does."""
        for _, new in self.releases:
            if id in new:
                number, positions = new.number_of(id), new.exact_names([name])[1]
                return next(iter(sorted((SCOPES[new.name_scope[p]] for p in positions.tolist()
                                         if new.name_owner[p] == number), key=SCOPES.index)), "")  # fmt: skip
        return ""
