"""Packed files and long lines, read in bounded memory whatever they unpack to."""

from __future__ import annotations

import gzip
import io
import os
import stat
from collections.abc import Iterator
from functools import partial
from typing import Any, cast

FREE, RATIO = 64 << 20, 100
"""Bytes that anything may unpack to, and how many times its size beyond. Ontologies and texts shrink to a tenth, RDF to
a fortieth at most; what shrinks to less was made to fill a memory."""
MOST_OF_A_LINE = 64 << 20
"""Bytes, or characters of decoded text."""
_BUFFER = 1 << 16


class OversizeError(OSError):
    """A file that unpacks to far more than it holds, or has a line that is none."""


class _Bounded(io.RawIOBase):
    """Passes on what is unpacked until it is too much."""

    def __init__(self, file: Any, packed: int) -> None:
        self._file, self._left = file, max(FREE, RATIO * packed)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        size = int(self._file.readinto(buffer))
        self._left -= size
        if self._left < 0:
            raise OversizeError(f"it unpacks to more than {RATIO} times its size")
        return size


def bounded(file: Any, packed: int) -> io.BufferedReader:
    """Return a reader of what ``file`` unpacks, which refuses to give far more than ``packed`` bytes can hold.

    Raises:
        OversizeError: While reading, when it is too much.
    """
    return io.BufferedReader(_Bounded(file, packed), _BUFFER)


def gunzipped(file: Any) -> io.BufferedReader:
    """Return a bounded reader of a gzip file; how large one from a pipe is, nobody knows, so that it is not bounded."""
    unpacked = gzip.GzipFile(fileobj=file)
    try:
        about = os.fstat(file.fileno())
    except (OSError, AttributeError):
        about = None
    if about is None or not stat.S_ISREG(about.st_mode):
        return io.BufferedReader(cast(Any, unpacked), _BUFFER)
    return bounded(unpacked, about.st_size)


def lines_in(file: Any) -> Iterator[Any]:
    """Yield the lines of a file of bytes or text.

    Raises:
        OversizeError: One is so long that it cannot be meant as a line.
    """
    for line in iter(partial(file.readline, MOST_OF_A_LINE), file.read(0)):
        if len(line) == MOST_OF_A_LINE:
            raise OversizeError(f"a line of more than {MOST_OF_A_LINE >> 20} MiB")
        yield line
