"""Ontology files as bytes and as numbered lines: gzip seen through, undecodable lines repaired and reported."""

from __future__ import annotations

import contextlib
import re
import zipfile
import zlib
from collections.abc import Iterator
from lzma import LZMAError
from pathlib import Path
from typing import IO, BinaryIO, cast

from ...errors import Errors, OntologyError
from ...unpacking import bounded, gunzipped, lines_in
from .report import ReadReport

Place = Path | zipfile.Path
"""A file, or a member of a zip archive."""

_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_SURROGATE = re.compile("[\ud800-\udfff]")


@contextlib.contextmanager
def open_bytes(path: Place) -> Iterator[BinaryIO]:
    """Open a file, unpacking gzip whatever its name says.

    Raises:
        OntologyError: There is no such file, it is a folder, or it cannot be read (also while the block reads it).
    """
    try:
        if not path.exists():
            raise OntologyError(Errors.FILE_MISSING.format(path=path))
        if path.is_dir():
            raise OntologyError(Errors.UNREADABLE.format(path=path, reason="it is a folder; name the file in it"))
        with _open(path) as opened:
            file = cast(BinaryIO, opened)
            packed = file.read(2) == _GZIP
            file.seek(0)
            # A BufferedReader reads lines in C, where gzip and zipfile do so in Python.
            reader = bounded(file, _packed_size(path)) if isinstance(file, zipfile.ZipExtFile) else file
            yield gunzipped(reader) if packed else reader
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile, LZMAError) as error:
        raise OntologyError(Errors.UNREADABLE.format(path=path, reason=error)) from error


def _packed_size(member: Place) -> int:
    return member.root.getinfo(member.at).compress_size if isinstance(member, zipfile.Path) else member.stat().st_size


def _open(path: Place) -> IO[bytes]:
    try:
        return path.open("rb")
    except RuntimeError as error:  # a member that is encrypted, or packed in an unusual way
        raise OSError(str(error)) from error


def read_head(path: Place, size: int = 1 << 16) -> bytes:
    """Return the first ``size`` bytes of the unpacked file, without a byte order mark."""
    with open_bytes(path) as file:
        return file.read(size).removeprefix(_BOM)


def read_lines(path: Place, report: ReadReport) -> Iterator[tuple[int, str]]:
    """Yield each line with its number from 1, without line end.

    A line that is not UTF-8 is read as Latin-1 and counted. Only line feed, carriage return or both
    end a line: a form feed or U+2028 inside a clause does not.
    """
    number = 0
    with open_bytes(path) as file:
        for raw in lines_in(file):
            if not number:
                raw = raw.removeprefix(_BOM)
            number += 1
            raw = raw.rstrip(b"\r\n")
            try:
                line = raw.decode()
            except UnicodeDecodeError:
                line = raw.decode("latin-1")
                report.problem("not UTF-8, read as Latin-1", line, number)
            if "\r" not in line:
                yield number, line
                continue
            for part in line.split("\r"):
                yield number, part
                number += 1
            number -= 1


def tidy(text: str) -> str:
    """Collapse white space (no-break spaces, too), cut it off the ends, and replace lone surrogates."""
    text = " ".join(text.split())
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)
