"""The records of a delimited text file: encoding repaired, delimiter found, quotes that never close survived."""

from __future__ import annotations

import contextlib
import csv
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from .report import ReadReport

Record = tuple[int, list[str]]
"""The number of a record's first line, and its cells."""

_UNDECODED = re.compile("[\udc80-\udcff]")
_LONGEST = 100
"""Lines that a quoted cell may span; a quote that stays open for longer was never meant as one."""


def decoded_lines(lines: Iterable[str], report: ReadReport) -> Iterator[str]:
    """Yield lines, with bytes that are not UTF-8 (surrogate escapes) read as Latin-1 and reported."""
    for number, line in enumerate(lines, 1):
        if not line.isascii() and _UNDECODED.search(line):
            line = _UNDECODED.sub(_latin, line)
            report.problem("not UTF-8, read as Latin-1", line.strip(), number)
        yield line


def _latin(match: re.Match[str]) -> str:
    byte = bytes([ord(match[0]) - 0xDC00])
    try:
        return byte.decode("cp1252")  # what writers of "Latin-1" mean: curly quotes and dashes, too
    except UnicodeDecodeError:
        return byte.decode("latin-1")


def sniff_delimiter(head: Sequence[str], wanted: Sequence[str] = ()) -> str:
    """Return tab, comma or semicolon: the one that makes the most rows as wide as the header, with the wanted names."""

    def fitness(delimiter: str) -> tuple[int, int, int]:
        rows: list[list[str]] = []
        with contextlib.suppress(csv.Error):  # a cell longer than any name
            rows.extend(row for row in csv.reader(head, delimiter=delimiter) if row and not row[0].startswith("#"))
        width = len(rows[0]) if rows else 0
        named = sum(name in rows[0] for name in wanted) if rows else 0
        return named, sum(len(row) == width for row in rows) if width > 1 else 0, width

    return max("\t,;", key=fitness)  # the first of equals


def records(head: Sequence[str], rest: Iterator[str], delimiter: str, report: ReadReport) -> Iterator[Record]:
    """Yield the records of the lines, without blank ones; a quoted cell may hold line ends.

    A quote that is never closed costs no more than its own line: in a tab-separated file it is taken literally,
    elsewhere the line is reported and passed over.
    """
    waiting = deque(head)
    number = 0

    def pull() -> str | None:
        return waiting.popleft() if waiting else next(rest, None)

    while (line := pull()) is not None:
        number += 1
        if not line.strip():
            continue
        if '"' not in line:
            yield number, line.rstrip("\n").split(delimiter)
            continue
        lines = [line]
        cells = _cells(lines, delimiter)
        while cells is None and len(lines) < _LONGEST and (following := pull()) is not None:
            lines.append(following)
            # Only a line with a quote can close the cell.
            cells = _cells(lines, delimiter) if '"' in following else None
        if cells is not None:
            yield number, cells
            number += len(lines) - 1
            continue
        waiting.extendleft(reversed(lines[1:]))
        if delimiter == "\t":
            yield number, line.rstrip("\n").split(delimiter)
        else:
            report.problem("quote that is never closed", line.strip(), number)


def _cells(lines: Sequence[str], delimiter: str) -> list[str] | None:
    """Return the cells of one record, or None while a quote is open."""
    try:
        return next(csv.reader(lines, delimiter=delimiter, strict=True))
    except csv.Error as error:
        if "unexpected end" in str(error) or "field larger" in str(error):
            return None
        if delimiter == "\t":  # text after a closing quote: this file does not quote, its quotes are text
            return lines[0].rstrip("\n").split(delimiter) if len(lines) == 1 else None
        return next(csv.reader(lines, delimiter=delimiter))
