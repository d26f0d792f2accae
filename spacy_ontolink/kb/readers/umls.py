"""Read the UMLS Metathesaurus in Rich Release Format: one entity a concept, its tables joined as they stream by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, groupby
from pathlib import Path
from typing import NamedTuple

from ...errors import ConfigError, Errors, OntologyError
from ...types import Entity, Synonym
from .prefixes import with_prefix
from .releases import Release
from .report import ReadReport
from .rows import Row, read_rows
from .rrf import CUI, MRCONSO, MRCUI, MRDEF, MRREL, MRSTY, Join, by_concept
from .sources import tidy

BROADER = ("PAR", "RB")
"""Relations whose second concept is the broader one: its parent in the tree of a source, or not in a tree."""

_WIDTHS = {"MRCONSO": 18, "MRSTY": 6, "MRDEF": 8, "MRREL": 16, "MRCUI": 7}
_IS_A = ("", "isa", "inverse_isa")
"""How sources name relations that say no more than "broader"; others, such as ``part_of``, are no is-a."""
_ABBREVIATIONS = ("AB", "ACR")
_SHOWN = ("N", "")
_MOST = 10_000_000


class _Filters(NamedTuple):
    languages: Sequence[str]
    sources: Sequence[str]
    types: Sequence[str]
    suppressible: bool
    relations: Sequence[str]


def read_umls(
    path: str | Path,
    report: ReadReport,
    *,
    languages: Sequence[str] = ("ENG",),
    sources: Sequence[str] = (),
    types: Sequence[str] = (),
    suppressible: bool = False,
    relations: Sequence[str] = ("PAR",),
    prefix: str = "",
) -> Iterator[Entity]:
    """Yield the concepts that have a name that passes the filters, by CUI; then the retired ones that lead to them.

    MRCONSO is needed; MRSTY, MRDEF, MRREL and MRCUI are read if they lie beside it. All are sorted by concept, so one
    concept is in memory at a time.

    Args:
        path: The folder or zip archive of a release, or its MRCONSO.RRF.
        report: Counts rows that cannot be used.
        languages: Of the names (LAT), the preferred one first; none given: all, English first.
        sources: Vocabularies (SAB) that names, definitions and relations may come from; none given: all.
        types: Semantic types, by TUI or name, of which a concept must have one; none given: all.
        suppressible: Take rows that are marked as obsolete or suppressible, too.
        relations: Which of ``BROADER`` make parents.
        prefix: To put before every id, such as ``UMLS:``.

    Raises:
        OntologyError: There is no MRCONSO, a file cannot be read or is not sorted; in strict mode, a row is bad.
        ConfigError: A relation or a semantic type does not exist.
    """
    if unknown := set(relations) - set(BROADER):
        raise ConfigError(
            Errors.SETTING_VALUE.format(setting="relations", given=min(unknown), wanted=" or ".join(BROADER))
        )
    reading = _Reading(Release(Path(path)), report, _Filters(languages, sources, types, suppressible, relations))
    yield from with_prefix(chain(reading.concepts(), reading.retired()), prefix)


class _Reading:
    """One pass over a release."""

    def __init__(self, release: Release, report: ReadReport, filters: _Filters) -> None:
        self.release, self.report, self.filters = release, report, filters
        self.places = {table: release.one(f"{table}.RRF") for table in _WIDTHS}
        if self.places["MRCONSO"] is None:
            raise OntologyError(
                Errors.NOT_THIS_FORMAT.format(
                    path=release.path, format="a UMLS release", reason="it has no MRCONSO.RRF"
                )
            )
        ranked = filters.languages or ("ENG",)
        self.language_ranks = {language: rank for rank, language in enumerate(ranked)}
        self.taken = bytearray(_MOST)  # by the number in a CUI
        self.typed = self._of_types() if filters.types else None

    def _rows(self, table: str, report: ReadReport, mark: str = "") -> Iterator[Row]:
        place = self.places[table]
        return iter(()) if place is None else read_rows(place, report, _WIDTHS[table], "|", mark)

    def _part(self, table: str) -> ReadReport:
        return self.report.part(str(self.places[table] or f"{table}.RRF"))

    def _of_types(self) -> bytearray:
        """Mark the concepts that have one of the semantic types wanted, so that no parent is another."""
        wanted, known, marks = set(self.filters.types), dict[str, str](), bytearray(_MOST)
        for _, cells in self._rows("MRSTY", ReadReport(self.release.path)):  # the reading proper reports
            tui, name = cells[MRSTY.TUI], cells[MRSTY.STY]
            known[tui] = name
            if (tui in wanted or name in wanted) and CUI.fullmatch(cells[MRSTY.CUI]):
                marks[int(cells[MRSTY.CUI][1:])] = 1
        if unknown := wanted - known.keys() - set(known.values()):
            listed = ", ".join(f"{tui} {name}" for tui, name in sorted(known.items())) or "none: MRSTY.RRF is missing"
            raise ConfigError(
                Errors.SETTING_VALUE.format(setting="types", given=min(unknown), wanted=f"some of {listed}")
            )
        return marks

    def concepts(self) -> Iterator[Entity]:
        """Walk the tables side by side."""
        semantic = Join(self._rows("MRSTY", part := self._part("MRSTY")), part)
        definitions = Join(self._rows("MRDEF", part := self._part("MRDEF")), part)
        broader = Join(self._broader(part := self._part("MRREL")), part)
        main = self._part("MRCONSO")
        languages, sources = set[str](), set[str]()
        for cui, rows in by_concept(self._rows("MRCONSO", main), main):
            types, defined, parents = semantic.of(cui), definitions.of(cui), broader.of(cui)
            languages.update([row.cells[MRCONSO.LAT] for row in rows])
            sources.update([row.cells[MRCONSO.SAB] for row in rows])
            if self.typed is not None and not self.typed[int(cui[1:])]:
                continue
            if atoms := [row.cells for row in rows if self._passes(row, main)]:
                self.taken[int(cui[1:])] = 1
                yield self._entity(cui, atoms, types, defined, parents)
        for join in (semantic, definitions, broader):
            join.finish()
        main.note_unmet("no name of the language", self.filters.languages, languages)
        main.note_unmet("no name of the source", self.filters.sources, sources)

    def _passes(self, row: Row, report: ReadReport) -> bool:
        cells, filters = row.cells, self.filters
        if not (
            (not filters.languages or cells[MRCONSO.LAT] in self.language_ranks)
            and (not filters.sources or cells[MRCONSO.SAB] in filters.sources)
            and (filters.suppressible or cells[MRCONSO.SUPPRESS] in _SHOWN)
        ):
            return False
        if not cells[MRCONSO.STR].strip():
            report.problem("empty name", cells[MRCONSO.CUI], row.line)
            return False
        return True

    def _rank(self, atom: Sequence[str]) -> tuple[int, bool, bool, bool]:
        """Rank an atom: of the first language, the preferred form of the preferred term, and its preferred atom."""
        rank = self.language_ranks.get(atom[MRCONSO.LAT], len(self.language_ranks))
        return rank, atom[MRCONSO.TS] != "P", atom[MRCONSO.STT] != "PF", atom[MRCONSO.ISPREF] != "Y"

    def _entity(
        self,
        cui: str,
        atoms: Sequence[Sequence[str]],
        types: Sequence[Sequence[str]],
        defined: Sequence[Sequence[str]],
        parents: Sequence[Sequence[str]],
    ) -> Entity:
        best = min(atoms, key=self._rank)
        name, language = tidy(best[MRCONSO.STR]), best[MRCONSO.LAT]
        synonyms: dict[str, Synonym] = {}
        for atom in atoms:
            text = tidy(atom[MRCONSO.STR])
            if text != name and text not in synonyms:
                kind = "abbreviation" if atom[MRCONSO.TTY] in _ABBREVIATIONS else ""
                other = atom[MRCONSO.LAT] if atom[MRCONSO.LAT] != language else ""
                synonyms[text] = Synonym(text, "EXACT", kind or other)
        codes = (
            f"{atom[MRCONSO.SAB]}:{atom[MRCONSO.CODE]}" for atom in atoms if atom[MRCONSO.CODE] not in ("", "NOCODE")
        )
        return Entity(
            cui,
            name,
            tuple(synonyms.values()),
            definition=self._definition(defined, {atom[MRCONSO.AUI] for atom in atoms}),
            parents=tuple(dict.fromkeys(row[MRREL.CUI2] for row in parents)),
            xrefs=tuple(dict.fromkeys(codes)),
            types=tuple(dict.fromkeys(text for row in types for text in (row[MRSTY.TUI], row[MRSTY.STY]) if text)),
        )

    def _definition(self, defined: Sequence[Sequence[str]], atoms: set[str]) -> str:
        """Return the first definition of an atom that passed, which settles its language and source, too."""
        found = (
            tidy(row[MRDEF.DEF]) for row in defined if row[MRDEF.AUI] in atoms and self._shown(row[MRDEF.SUPPRESS])
        )
        return next(filter(None, found), "")

    def _shown(self, suppress: str) -> bool:
        return self.filters.suppressible or suppress in _SHOWN

    def _broader(self, report: ReadReport) -> Iterator[Row]:
        """Yield the relations that make parents."""
        relations, sources = self.filters.relations, self.filters.sources
        mark = f"|{relations[0]}|" if len(relations) == 1 else ""
        for row in self._rows("MRREL", report, mark) if relations else ():
            cells = row.cells
            if (
                cells[MRREL.REL] in relations
                and cells[MRREL.RELA] in _IS_A
                and (not sources or cells[MRREL.SAB] in sources)
                and self._shown(cells[MRREL.SUPPRESS])
                and cells[MRREL.CUI1] != cells[MRREL.CUI2]  # two atoms of one concept
            ):
                if not CUI.fullmatch(cells[MRREL.CUI2]):
                    report.problem("no concept identifier", repr(cells[MRREL.CUI2][:40]), row.line)
                elif self.typed is None or self.typed[int(cells[MRREL.CUI2][1:])]:
                    yield row

    def retired(self) -> Iterator[Entity]:
        """Yield the retired concepts that lead to one that was taken: merged ones to it, others only suggest it."""
        report = self._part("MRCUI")
        for cui, rows in groupby(self._rows("MRCUI", report), key=lambda row: row.cells[MRCUI.CUI1]):
            targets: dict[str, list[str]] = {"SY": [], "": []}
            for line, cells in rows:
                target = cells[MRCUI.CUI2]
                if not CUI.fullmatch(cui) or (target and not CUI.fullmatch(target)):
                    report.problem("no concept identifier", f"{cui[:40]!r} to {target[:40]!r}", line)
                elif target and self.taken[int(target[1:])]:
                    targets["SY" if cells[MRCUI.REL] == "SY" else ""].append(target)
            if any(targets.values()) and not self.taken[int(cui[1:])]:
                replaced, consider = (tuple(dict.fromkeys(found)) for found in targets.values())
                yield Entity(cui, "", obsolete=True, replaced_by=replaced, consider=consider)
