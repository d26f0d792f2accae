"""Rows of a fixed number of columns and no quoting, as UMLS and SNOMED CT are released in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .report import ReadReport
from .sources import Place, read_lines


class Row(NamedTuple):
    """The number of a line, and its cells."""

    line: int
    cells: list[str]


def read_rows(
    place: Place, report: ReadReport, width: int, delimiter: str, mark: str = "", header: str = ""
) -> Iterator[Row]:
    """Yield the rows of a file; those with another number of cells are counted and passed over.

    Args:
        place: The file.
        report: Counts them.
        width: Number of cells. RRF ends each row with one more delimiter; there, and nowhere else, it may be missing.
        delimiter: What stands between cells.
        mark: Only lines that hold this text are looked at, where most of a large file is of no use.
        header: The first cell of a header line, which is left out.
    """
    for number, line in read_lines(place, report):
        if mark not in line or not line.strip():
            continue
        cells = line.split(delimiter)
        if len(cells) == width + 1 and delimiter == "|" and not cells[-1]:
            cells.pop()
        if len(cells) != width:
            report.problem("wrong number of fields", f"{len(cells)} instead of {width}: {line[:80]!r}", number)
        elif number > 1 or cells[0] != header:
            yield Row(number, cells)
