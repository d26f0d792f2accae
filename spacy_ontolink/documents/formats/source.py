"""Corpus files as bytes: standard input and gzip seen through, the first bytes looked at without being used up."""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from ...errors import DataError, Errors
from ...unpacking import OversizeError, gunzipped, lines_in
from ..tally import STDIN, Place

_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_BUFFER = 1 << 16


@dataclass(frozen=True)
class Source:
    """An open file: its unpacked bytes, and the first of them without a byte order mark."""

    path: Path
    file: io.BufferedReader
    head: bytes


@contextmanager
def open_source(path: Path) -> Iterator[Source]:
    """Open a file, or standard input for ``-``.

    Raises:
        DataError: It is missing or closed, or a gzip file that is damaged, cut short or a bomb (also while it is read).
    """
    try:
        with _opened(path) as file:
            packed = path.suffix == ".gz" or _head(file).startswith(_GZIP)
            unpacked = gunzipped(file) if packed else file
            yield Source(path, unpacked, _head(unpacked).removeprefix(_BOM))
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise DataError(Errors.NOT_GZIP.format(path=path, reason=error)) from error
    except OversizeError as error:
        raise DataError(Errors.UNREADABLE.format(path=path, reason=error)) from error


@contextmanager
def _opened(path: Path) -> Iterator[io.BufferedReader]:
    if path != STDIN:
        if not path.exists():
            raise DataError(Errors.INPUT_MISSING.format(path=path))
        if not path.is_file():  # which may be read once, and some commands read twice
            reason = "it is no file; let a pipe come by standard input, and name '-'"
            raise DataError(Errors.UNREADABLE.format(path=path, reason=reason))
        with path.open("rb", buffering=_BUFFER) as file:
            yield cast(io.BufferedReader, file)
        return
    if sys.stdin is None:
        raise DataError(Errors.INPUT_MISSING.format(path="standard input is closed"))
    stream: Any = sys.stdin.buffer
    yield stream if hasattr(stream, "peek") else io.BufferedReader(stream, _BUFFER)


def _head(file: io.BufferedReader) -> bytes:
    """Return what one read gives: a pipe is not waited for longer than that."""
    return file.peek(_BUFFER)


def lines_of(source: Source) -> Iterator[tuple[Place, str]]:
    """Yield each line with its line end and its place.

    Raises:
        DataError: A line is not UTF-8.
    """
    for number, line in enumerate(lines_in(source.file), start=1):
        place = Place(source.path, number)
        yield place, decode_line(line, place)


def decode_line(line: bytes, place: Place) -> str:
    """Decode a line; the first one of a file may begin with a byte order mark.

    Raises:
        DataError: It is not UTF-8.
    """
    return decode(line.removeprefix(_BOM) if place.line == 1 else line, place)


def decode(data: bytes, place: Place) -> str:
    """Decode UTF-8; ``place`` is that of its first line.

    Raises:
        DataError: It is not UTF-8; the message has the line, the byte and its column.
    """
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line = place.line + before.count(b"\n")
        column = error.start - before.rfind(b"\n")
        reason = f"not UTF-8 (byte 0x{data[error.start]:02x} in column {column})"
        raise Place(place.path, line).problem(reason) from error
