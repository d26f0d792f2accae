"""Look things up in an ontology: entities by id, names and hierarchy, over memory-mapped columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import Errors, UnknownIdError
from ..types import Bools1d, Entity, Ints1d
from . import filters, hierarchy, storage
from .columns import FORMAT, Csr, Table, content_hash
from .entity import read_entity
from .ids import IdTable
from .lookup import find_names
from .statistics import statistics

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from .builder import Report


class KnowledgeBase:
    """Entities, their names and their hierarchy.

    Live entities are counted 0 … E-1 in the order they were read; their names follow one another in the name table.
    All columns are views of memory-mapped files (or of memory, when just built): opening reads no name, and processes
    share the pages.

    Attributes:
        name: What to call it, for example the ontology's id.
        hash: Hash of the content, whatever the files around it look like.
        n_names: Number of names of live entities, N.
        name_owner: Entity number of each name, ascending, (N,).
        name_scope: Scope of each name as its position in ``SCOPES``, (N,).
        name_count: How many annotated mentions gave each name to its entity, (N,); see ``annotated``.
        tables, facts: The stored columns and what was noted while building; for this package's own modules.
    """

    def __init__(self, tables: dict[str, Table], facts: dict[str, Any]) -> None:
        self.tables, self.facts = tables, facts
        self.name: str = facts["name"]
        self.hash: str = facts["hash"]
        self.n_names: int = facts["names"]
        self._size = len(tables["hierarchy"])
        self.name_owner: Ints1d = tables["names"].values("owner")[: self.n_names]
        self.name_scope: np.ndarray = tables["names"].values("scope")[: self.n_names]
        self.name_count: Ints1d = tables["names"].values("count")[: self.n_names]
        self._first_name: Ints1d = tables["entities"].values("first_name")
        self._parents: Csr = tables["hierarchy"].csr("parents")
        self._children: Csr = tables["hierarchy"].csr("children")
        self._ids = IdTable(tables["ids"], self._size)

    @classmethod
    def from_entities(
        cls,
        entities: Iterable[Entity],
        *,
        name: str = "",
        stop_synonyms: bool | list[str] = True,
        report: Report | None = None,
    ) -> KnowledgeBase:
        """Build from a stream of entities.

        Args:
            entities: In any order; parents may come after children, and ids may repeat (the first one is kept, the
                names of the others become its synonyms).
            name: What to call the knowledge base.
            stop_synonyms: True drops synonyms that many entities share (see ``names.SHARED_BY``); a list drops those.
            report: Counts problems, or raises at the first one in strict mode. Without it they are logged once.

        Raises:
            OntologyError: No live entity has a name, or most have none.
        """
        from .builder import Builder

        built = Builder(name, stop_synonyms, report).build(entities)
        facts = {"format": FORMAT, "name": name, "hash": content_hash(built.tables), "names": built.n_names,
                 "rows": {table: len(rows) for table, rows in built.tables.items()},
                 "problems": built.problems, "stop_synonyms": built.stop_synonyms}  # fmt: skip
        return cls(built.tables, facts)

    def __len__(self) -> int:
        return self._size

    def __repr__(self) -> str:
        return f"<KnowledgeBase {self.name!r}: {len(self)} entities, {self.n_names} names>"

    def __iter__(self) -> Iterator[str]:
        """Iterate over the ids of live entities, by blocks."""
        for start in range(0, len(self), 4096):
            yield from self.ids_of(np.arange(start, min(start + 4096, len(self))))

    # Ids

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and self._ids.row(id) >= 0

    def __getitem__(self, id: str) -> Entity:
        """Return the live or obsolete entity with this id, or the one that has it as an alt id.

        Raises:
            UnknownIdError: There is none (a KeyError, too).
        """
        row = self._ids.row(id)
        if row < 0:
            raise self._unknown(id)
        return read_entity(self.tables, row, self._size)

    def _unknown(self, id: str) -> UnknownIdError:
        return UnknownIdError(Errors.UNKNOWN_ID.format(id=id, name=self.name or "unnamed"))

    def resolve(self, id: str) -> str | None:
        """Return the live id that an id stands for today: itself, by alt id, or by a chain of replacements.

        Of several replacements, the first live one. None for an unknown id and for an obsolete one without any.
        """
        number = self._ids.successor(id)
        return self.ids_of([number])[0] if number >= 0 else None

    def number_of(self, id: str) -> int:
        """Return the number of the live entity whose own id this is, or -1."""
        return self._ids.number(id)

    def numbers_of(self, ids: Sequence[str]) -> Ints1d:
        """Return the number of each live entity's own id, -1 for every other text, (n,)."""
        return self._ids.numbers(ids)

    def ids_of(self, numbers: Sequence[int] | np.ndarray) -> list[str]:
        """Return the ids of entity numbers of any shape, flattened."""
        return self.tables["entities"].take("id", _checked(numbers, self._size, "Entity numbers"))

    # Names

    def names_of(self, numbers: Sequence[int] | np.ndarray) -> list[str]:
        """Return the primary names of entity numbers of any shape, flattened."""
        return self.texts_of(self._first_name[_checked(numbers, self._size, "Entity numbers")])

    def texts_of(self, name_positions: Sequence[int] | np.ndarray) -> list[str]:
        """Return the texts at positions of the name table of any shape, flattened."""
        return self.tables["names"].take("text", _checked(name_positions, self.n_names, "Name positions"))

    def name_type(self, name_positions: Sequence[int] | np.ndarray) -> list[str]:
        """Return the synonym types at positions of the name table; "obsolete" marks a name of a replaced entity."""
        return self.tables["names"].take("type", _checked(name_positions, self.n_names, "Name positions"))

    def name_texts(self, start: int = 0, stop: int | None = None) -> list[str]:
        """Return a slice of the name table as strings, for streaming by blocks."""
        stop = self.n_names if stop is None else min(stop, self.n_names)
        return self.tables["names"].slice("text", start, stop)

    def primary_names(self) -> Ints1d:
        """Return the position of each entity's primary name in the name table, (E,)."""
        return self._first_name[: self._size]

    def definition_of(self, number: int) -> str:
        """Return the definition of an entity, "" if it has none."""
        return self.tables["entities"].take("definition", _checked([number], self._size, "Entity numbers"))[0]

    def lookup(self, text: str) -> Ints1d:
        """Return the entities that have a name equal to ``text`` after ``normalise()``.

        Those whose primary name it is come first, then by entity number.
        """
        return np.asarray(self.name_owner[self.exact_names([text])[1]])

    def exact_names(self, texts: Sequence[str]) -> tuple[Ints1d, Ints1d]:
        """Find the names equal to texts after ``normalise()``.

        Returns:
            The number of the text and the position of the name, for each match; per text, primary names come first.
        """
        return find_names(self.tables, texts)

    # Hierarchy

    def _number(self, id: str) -> int:
        """Return the number of the entity that a known id stands for, -1 if it stands for none any more."""
        number = self._ids.successor(id)
        if number < 0 and id not in self:
            raise self._unknown(id)
        return number

    def _near(self, id: str, *relations: Callable[[int], np.ndarray]) -> list[str]:
        number = self._number(id)
        near = [relation(number) for relation in relations] if number >= 0 else []
        return self.ids_of(np.unique(np.concatenate(near))) if near else []

    def parents(self, id: str) -> list[str]:
        """Return the live is-a parents, by entity number.

        This and the following: an old id stands for its replacement, and the entity itself is never among its own.
        """
        return self._near(id, self._parents.row)

    def children(self, id: str) -> list[str]:
        """Return the live entities that have this one as a parent, by entity number."""
        return self._near(id, self._children.row)

    def siblings(self, id: str) -> list[str]:
        """Return the other children of any parent, by entity number."""
        return self._near(id, self._siblings)

    def _siblings(self, number: int) -> np.ndarray:
        found = hierarchy.expand(self._children, self._parents.row(number))[1]
        return np.asarray(found[found != number])

    def neighbours(self, id: str, siblings: bool = True) -> list[str]:
        """Return parents, children and (unless ``siblings`` is false) siblings: the papers' N+(e), or N(e)."""
        return self._near(id, self._parents.row, self._children.row, *([self._siblings] if siblings else []))

    def ancestors(self, id: str) -> list[str]:
        """Return everything above an entity, the nearest first."""
        number = self._number(id)
        steps = hierarchy.reach(self._parents, np.array([number])) if number >= 0 else []
        return self.ids_of(np.concatenate(steps[1:])) if len(steps) > 1 else []

    def roots(self) -> list[str]:
        """Return the entities without a parent: those with children first, then by entity number."""
        numbers = hierarchy.roots(self._parents)
        lonely = np.diff(self._children.indptr)[numbers] == 0
        return self.ids_of(numbers[np.argsort(lonely, kind="stable")])

    @cached_property
    def parent_matrix(self) -> csr_matrix:
        """Ones where the column is a parent of the row, float32, (E, E); indices are views of the stored columns."""
        return hierarchy.to_matrix(self._parents)

    @cached_property
    def child_matrix(self) -> csr_matrix:
        """Ones where the column is a child of the row, float32, (E, E); indices are views of the stored columns."""
        return hierarchy.to_matrix(self._children)

    # Filters and facts

    def mask(self, prefixes: Sequence[str] = (), branches: Sequence[str] = (), types: Sequence[str] = ()) -> Bools1d:
        """Mark the entities that a filter lets through, (E,): any value of a kind will do, and all kinds must agree.

        A branch is an entity with all its descendants; a type is an entity type or a namespace. An unknown prefix or
        type is logged with the known ones.

        Raises:
            ConfigError: A branch is unknown; the message lists the roots.
        """
        return filters.mask(self, prefixes, branches, types)

    def prefixes(self) -> dict[str, int]:
        """Count live entities by id prefix."""
        return filters.prefix_counts(self)

    def types(self) -> dict[str, int]:
        """Count live entities by type and namespace."""
        return filters.type_counts(self)

    def statistics(self) -> dict[str, Any]:
        """Count everything worth knowing; plain values, ready for JSON."""
        return statistics(self)

    # Saving

    def to_disk(self, path: str | Path) -> None:
        """Write a folder, whole or not at all."""
        storage.save(Path(path), self.tables, self.facts)

    @classmethod
    def from_disk(cls, path: str | Path, *, checked: bool = False, whole: bool = False) -> KnowledgeBase:
        """Open a folder as memory maps; see ``storage.load`` for which of its files are read whole.

        Raises:
            StateError: A file is missing, damaged or of another version; the message names it.
        """
        return cls(*storage.load(Path(path), checked=checked, whole=whole))

    def to_bytes(self) -> bytes:
        """Pack everything into bytes."""
        return storage.dump(self.tables, self.facts)

    @classmethod
    def from_bytes(cls, data: bytes) -> KnowledgeBase:
        """Open what ``to_bytes`` packed.

        Raises:
            StateError: The bytes are damaged or of another version.
        """
        return cls(*storage.parse(data))

    def __reduce__(self) -> tuple[Any, tuple[bytes]]:
        return KnowledgeBase.from_bytes, (self.to_bytes(),)


def _checked(values: Sequence[int] | np.ndarray, size: int, what: str) -> np.ndarray:
    numbers = np.asarray(values, np.int64).ravel()
    if len(numbers) and not 0 <= numbers.min() <= numbers.max() < size:
        wrong = int(numbers.min()) if numbers.min() < 0 else int(numbers.max())
        raise IndexError(Errors.OUT_OF_RANGE.format(what=what, last=size - 1, value=wrong))
    return numbers
