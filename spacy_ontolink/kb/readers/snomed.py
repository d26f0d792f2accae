"""Read SNOMED CT in Release Format 2: one entity a concept, from the snapshot files of a release."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...errors import Errors, OntologyError
from ...types import Entity, Synonym
from .prefixes import with_prefix
from .releases import Release
from .report import ReadReport
from .rows import Row, read_rows
from .sources import tidy

_IS_A = "116680003"
_KINDS = {"900000000000013009": 0, "900000000000003001": 1, "900000000000550004": 2}
_SYNONYM, _FULL, _DEFINITION = range(3)
_PREFERRED, _ACCEPTABLE = "900000000000548007", "900000000000549004"
_US, _GB = "900000000000509007", "900000000000508004"
_REPLACED = {"900000000000527005", "900000000000526001"}  # SAME AS, REPLACED BY
# POSSIBLY EQUIVALENT TO, ALTERNATIVE, PARTIALLY EQUIVALENT TO, POSSIBLY REPLACED BY
_CONSIDER = {"900000000000523009", "900000000000530003", "1186924009", "1186921001"}
_UNLISTED = 255
_TAGGED = re.compile(r"(.*\S)\s*\(([^()]+)\)")


class _Table(NamedTuple):
    files: str
    width: int
    ids: tuple[int, ...]  # columns that hold SNOMED CT identifiers and are used as such


_CONCEPT = _Table(r"x?sct2_Concept_.*", 5, (0,))
_DESCRIPTION = _Table(r"x?sct2_(Description|TextDefinition)_.*", 9, (0, 4))
_RELATIONSHIP = _Table(r"x?sct2_Relationship_.*", 10, (4, 5))
_LANGUAGE = _Table(r"x?der2_cRefset_Language.*", 7, (5,))
_ASSOCIATION = _Table(r"x?der2_cRefset_Association.*", 7, (5, 6))


def read_snomed(
    path: str | Path,
    report: ReadReport,
    *,
    languages: Sequence[str] = ("en",),
    refsets: Sequence[str] = (),
    prefix: str = "",
) -> Iterator[Entity]:
    """Yield the active concepts by number, then the inactive ones that name what stands for them.

    The name is the preferred term; the tag of the fully specified name is the type, and the rest of it a synonym.
    Descriptions are sorted by their own numbers, so those of all concepts are in memory at once.

    Args:
        path: The folder or zip archive of a release, which has snapshot files.
        report: Counts rows that cannot be used.
        languages: Of the descriptions, the preferred one first; none given: all.
        refsets: Ids of the language reference sets to go by, the preferred one first. A description that is in none of
            them is left out. None given: all descriptions, names by US English, British English, then any other.
        prefix: To put before every id, such as ``SNOMEDCT:``.

    Raises:
        OntologyError: There are no snapshot files, or one cannot be read; in strict mode, at the first bad row.
    """
    yield from with_prefix(_Reading(Release(Path(path)), report, languages, refsets).entities(), prefix)


class _Names(NamedTuple):
    """Descriptions by concept, the best of each first: (D,) each."""

    concept: np.ndarray
    kind: np.ndarray
    place: np.ndarray  # in ``terms``
    terms: list[str]


class _Reading:
    """One pass over a release."""

    def __init__(self, release: Release, report: ReadReport, languages: Sequence[str], refsets: Sequence[str]) -> None:
        self.release, self.report, self.refsets = release, report, refsets
        self.languages = {language: rank for rank, language in enumerate(languages)}
        if not release.all(_CONCEPT.files):
            reason = "it has no sct2_Concept_…Snapshot file"
            raise OntologyError(
                Errors.NOT_THIS_FORMAT.format(path=release.path, format="a SNOMED CT release", reason=reason)
            )

    def _rows(self, table: _Table) -> Iterator[tuple[Row, ReadReport]]:
        """Yield the usable rows of all files of a table: active ones only, but of concepts all."""
        for place in self.release.all(table.files):
            report = self.report.part(str(place))
            for row in read_rows(place, report, table.width, "\t", header="id"):
                if row.cells[2] != "1" and table is not _CONCEPT:
                    continue
                if all(_is_number(row.cells[column]) for column in table.ids):
                    yield row, report
                else:
                    report.problem("no SNOMED CT identifier", f"{row.cells!r:.100}", row.line)

    def entities(self) -> Iterator[Entity]:
        """Read all tables, then put the entities together."""
        active = {int(row.cells[0]): row.cells[2] == "1" for row, _ in self._rows(_CONCEPT)}
        heirs = self._heirs(active)
        names, parents = self._names(active, heirs), self._parents(active)
        for concept in sorted(id for id, live in active.items() if live):
            yield self._entity(concept, names, parents, None)
        for concept in sorted(heirs):
            yield self._entity(concept, names, parents, heirs[concept])

    def _heirs(self, active: dict[int, bool]) -> dict[int, tuple[dict[str, None], dict[str, None]]]:
        """Return what replaces each inactive concept, and what may."""
        heirs: dict[int, tuple[dict[str, None], dict[str, None]]] = {}
        for (_, cells), _ in self._rows(_ASSOCIATION):
            refset, old = cells[4], int(cells[5])
            # Descriptions have associations, too; and the heir may be in another ontology that is read with this one.
            if refset in _REPLACED | _CONSIDER and not active.get(old, True):
                heirs.setdefault(old, ({}, {}))[refset in _CONSIDER][cells[6]] = None
        return heirs

    def _ranks(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the descriptions in language reference sets, ascending, and their best rank: preferred ones first."""
        order = {refset: rank for rank, refset in enumerate(self.refsets or (_US, _GB))}
        met = set[str]()
        ids, ranks = array("q"), array("B")
        for (line, cells), report in self._rows(_LANGUAGE):
            met.add(cells[4])
            rank = order.get(cells[4]) if self.refsets else order.setdefault(cells[4], len(order))
            if rank is None:
                continue
            if cells[6] not in (_PREFERRED, _ACCEPTABLE):
                report.problem("unknown acceptability", cells[6], line)
                continue
            ids.append(int(cells[5]))
            ranks.append(min(rank, 99) + (100 if cells[6] == _ACCEPTABLE else 0))
        self.report.note_unmet("nothing in the reference set", self.refsets, met)
        id, rank_of = np.array(ids, np.int64), np.array(ranks, np.uint8)
        best = np.lexsort((rank_of, id))
        unique, first = np.unique(id[best], return_index=True)
        return unique, rank_of[best][first]

    def _names(self, active: dict[int, bool], heirs: dict[int, tuple[dict[str, None], dict[str, None]]]) -> _Names:
        ids, concepts, languages, kinds = array("q"), array("q"), array("q"), array("B")
        terms: list[str] = []
        met = set[str]()
        for (line, cells), report in self._rows(_DESCRIPTION):
            met.add(cells[5])
            concept, language = int(cells[4]), self.languages.get(cells[5], None if self.languages else 0)
            if concept not in active:
                report.problem("unknown concept", cells[4], line)
            elif cells[6] not in _KINDS:
                report.problem("unknown kind of description", cells[6], line)
            elif language is not None and (active[concept] or concept in heirs):
                if not (term := tidy(cells[7])):
                    report.problem("empty name", cells[4], line)
                    continue
                ids.append(int(cells[0]))
                concepts.append(concept)
                languages.append(language)
                kinds.append(_KINDS[cells[6]])
                terms.append(term)
        self.report.note_unmet("no description in the language", self.languages, met)
        listed, best = self._ranks()
        id, kind = np.array(ids, np.int64), np.array(kinds, np.uint8)
        rank = np.full(len(id), _UNLISTED, np.uint8)
        if len(listed):
            found = np.minimum(np.searchsorted(listed, id), len(listed) - 1)
            rank = np.where(listed[found] == id, best[found], rank)
        # Reference sets say which names to use, not which definitions.
        kept = (rank < _UNLISTED) | (kind == _DEFINITION) | (not self.refsets)
        concept_of = np.array(concepts, np.int64)
        order = np.lexsort((rank, np.array(languages, np.int64), concept_of))
        order = order[kept[order]]
        return _Names(concept_of[order], kind[order], order, terms)

    def _parents(self, active: dict[int, bool]) -> tuple[np.ndarray, np.ndarray]:
        """Return is-a pairs, by child."""
        children, parents = array("q"), array("q")
        for (line, cells), report in self._rows(_RELATIONSHIP):
            if cells[7] != _IS_A:
                continue
            if int(cells[4]) in active:
                children.append(int(cells[4]))
                parents.append(int(cells[5]))
            else:
                report.problem("unknown concept", cells[4], line)
        child_of, parent_of = np.array(children, np.int64), np.array(parents, np.int64)
        order = np.argsort(child_of, kind="stable")
        return child_of[order], parent_of[order]

    def _entity(
        self,
        concept: int,
        names: _Names,
        parents: tuple[np.ndarray, np.ndarray],
        heirs: tuple[dict[str, None], dict[str, None]] | None,
    ) -> Entity:
        start, stop = np.searchsorted(names.concept, [concept, concept + 1])
        texts: list[list[str]] = [[], [], []]
        for kind, place in zip(names.kind[start:stop].tolist(), names.place[start:stop].tolist(), strict=True):
            texts[kind].append(names.terms[place])
        full = [match.groups() if (match := _TAGGED.fullmatch(text)) else (text, "") for text in texts[_FULL]]
        known = dict.fromkeys([*texts[_SYNONYM], *(text for text, _ in full)])
        name, *others = known or ("",)
        start, stop = np.searchsorted(parents[0], [concept, concept + 1])
        replaced, consider = heirs or ({}, {})
        return Entity(
            str(concept),
            name,
            tuple(Synonym(text, "EXACT") for text in others),
            definition=next(iter(texts[_DEFINITION]), ""),
            parents=tuple(dict.fromkeys(map(str, parents[1][start:stop].tolist()))),
            obsolete=heirs is not None,
            replaced_by=tuple(replaced),
            consider=tuple(consider),
            types=tuple(dict.fromkeys(tag for _, tag in full if tag)),
        )


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 18
