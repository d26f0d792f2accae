"""The tables of the UMLS Rich Release Format, each sorted by concept, and how they are walked side by side."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ...errors import Errors, OntologyError
from .report import ReadReport
from .rows import Row

CUI = re.compile(r"C\d{7}")
_STRAYS = 10
_SHORT = 4
"""Even of a short file, no more than one row in so many may be out of order."""


class MRCONSO:
    """Columns of the names."""

    (CUI, LAT, TS, LUI, STT, SUI, ISPREF, AUI, SAUI, SCUI, SDUI, SAB, TTY, CODE, STR, SRL, SUPPRESS, CVF) = range(18)


class MRSTY:
    """Columns of the semantic types."""

    CUI, TUI, STN, STY, ATUI, CVF = range(6)


class MRDEF:
    """Columns of the definitions."""

    CUI, AUI, ATUI, SATUI, SAB, DEF, SUPPRESS, CVF = range(8)


class MRREL:
    """Columns of the relations; REL says what the second concept is to the first: PAR, its parent."""

    (CUI1, AUI1, STYPE1, REL, CUI2, AUI2, STYPE2, RELA, RUI, SRUI, SAB, SL, RG, DIR, SUPPRESS, CVF) = range(16)


class MRCUI:
    """Columns of the retired concepts."""

    CUI1, VER, REL, RELA, MAPREASON, CUI2, MAPIN = range(7)


def by_concept(rows: Iterable[Row], report: ReadReport) -> Iterator[tuple[str, list[Row]]]:
    """Gather the rows of each concept, the first column, in a file that is sorted by it, as the UMLS is released.

    A row without a concept identifier, or out of order, is counted and passed over.

    Raises:
        OntologyError: So many are out of order that the file is not sorted.
    """
    last, group, taken, strays = "", list[Row](), 0, 0
    for row in rows:
        cui = row.cells[0]
        taken += 1
        if cui == last:
            group.append(row)
        elif not CUI.fullmatch(cui):
            report.problem("no concept identifier", repr(cui[:40]), row.line)
        elif cui > last:
            if group:
                yield last, group
            last, group = cui, [row]
        else:
            report.problem("out of order", f"{cui} after {last}", row.line)
            strays += 1
            unsorted = OntologyError(Errors.UNSORTED.format(path=report.path, line=row.line, cui=cui, last=last))
            if strays > _STRAYS and 20 * strays > taken:
                raise unsorted
    if group:
        yield last, group
    if _SHORT * strays > taken:
        raise unsorted


class Join:
    """The rows that another sorted table has of the concepts that are asked for, one after the other."""

    def __init__(self, rows: Iterable[Row], report: ReadReport) -> None:
        self._report = report
        self._groups = by_concept(rows, report)
        self._next = next(self._groups, None)

    def of(self, cui: str) -> list[list[str]]:
        """Return the rows of a concept, which must come after all those that were asked for before."""
        while self._next is not None and self._next[0] < cui:
            self._pass_over(self._next)
        if self._next is None or self._next[0] != cui:
            return []
        rows = [row.cells for row in self._next[1]]
        self._next = next(self._groups, None)
        return rows

    def finish(self) -> None:
        """Count what is left: rows of concepts that nobody asked for."""
        while self._next is not None:
            self._pass_over(self._next)

    def _pass_over(self, group: tuple[str, list[Row]]) -> None:
        # No fault of the file's form: whoever cuts a subset out of the names seldom does it with the other files.
        self._report.note("unknown concept", group[0], group[1][0].line)
        self._next = next(self._groups, None)
