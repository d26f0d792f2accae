"""Turtle, of which N-Triples is a part, read so that a broken statement takes no other with it."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from typing import Any, BinaryIO

from ...unpacking import lines_in
from .report import ReadReport

PROBLEM = "statement that cannot be read"
_PREFIX = re.compile(rb"\s*(?:@prefix|@base|prefix|base)\s", re.IGNORECASE)
_STATED = re.compile(rb"\.\s*(?:#.*)?$")
_PLACE = re.compile(r"^Parser error (?:at|between) [^:]*: ")  # counted from where reading began anew
_KEPT = 3


def read_turtle(file: BinaryIO, report: ReadReport) -> Iterator[Any]:
    """Yield the statements of pyoxigraph.

    It gets over most mistakes by itself, but where a quote or bracket is missing it takes all up to the next one for a
    text. After such a mistake, reading begins anew at the next line that can begin a statement.
    """
    import pyoxigraph

    lines: Any = _Lines(file)  # all that pyoxigraph needs of a file
    while True:
        start = lines.number
        statements = pyoxigraph.parse(lines, format=pyoxigraph.RdfFormat.TURTLE)
        while True:
            try:
                found = next(statements, None)
            except SyntaxError as error:
                line = start + (error.lineno or 1)
                report.problem(PROBLEM, _PLACE.sub("", str(error.msg)), line)
                if (error.end_lineno or 0) > (error.lineno or 0):
                    break
            except MemoryError as error:  # a text that does not end for megabytes
                line = max(start, lines.reached) + 1
                report.problem(PROBLEM, str(error), line)
                break
            else:
                if found is None:
                    return
                lines.forget()
                yield found
        lines.go_on_after(line, _declarations(statements))


def _declarations(statements: Any) -> bytes:
    base = f"@base <{statements.base_iri}> . " if statements.base_iri else ""
    return (base + "".join(f"@prefix {name}: <{iri}> . " for name, iri in statements.prefixes.items())).encode()


class _Lines:
    """A file that is handed out by few lines at a time, so that it is known how far it was needed, and is gone back in.

    Attributes:
        number: How many lines were handed out.
        reached: How many of them are sure to be parsed.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.number = self.reached = 0
        self._lines = lines_in(file)
        self._given: list[bytes] = []  # the last lines that were handed out
        self._again = deque[bytes]()  # lines to hand out before those of the file
        self._last = 0  # lines handed out at once the last time
        self._rest = b""

    def read(self, size: int) -> bytes:
        """Return one line; more and more of them as long as no statement comes of them."""
        if not self._rest:
            lines = [line for _ in range(1 + len(self._given) // 2) if (line := self._line())]
            self._given += lines
            self._last = len(lines)
            self._rest = b"".join(lines)
        part, self._rest = self._rest[:size], self._rest[size:]
        return part

    def forget(self) -> None:
        """Keep only the last lines, which may not have been parsed yet."""
        self.reached = max(self.reached, self.number - self._last)
        if len(self._given) > self._last + _KEPT:
            del self._given[: -self._last - _KEPT]

    def go_on_after(self, number: int, declarations: bytes) -> None:
        """Go back, and on to the first line after this one that can begin a statement; declarations come before it."""
        self.number -= len(self._given)
        self._again.extendleft(reversed(self._given))
        self._given = []
        line = b""
        while True:
            before, line = line, self._line()
            if not line:
                break
            if self.number > number and (_STATED.search(before) or _PREFIX.match(line)):
                self._again.appendleft(line)
                self.number -= 1
                break
        self.reached = self.number
        self._rest = declarations

    def _line(self) -> bytes:
        line = self._again.popleft() if self._again else next(self._lines, b"")
        self.number += bool(line)
        return line
