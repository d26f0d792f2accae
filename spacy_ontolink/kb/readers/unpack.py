"""Open a file as bytes, gzip seen through."""

from __future__ import annotations

import contextlib
import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from ...errors import Errors, OntologyError

_GZIP = b"\x1f\x8b"


@contextlib.contextmanager
def unpacked(path: Path, format: str) -> Iterator[BinaryIO]:
    """Open a file for reading, unpacking gzip whatever its name says; failures in the block become one clear error.

    Raises:
        OntologyError: The file is missing, a folder, unreadable, or its gzip stream is damaged.
    """
    if not path.exists():
        raise OntologyError(Errors.FILE_MISSING.format(path=path))
    try:
        with path.open("rb") as file:
            packed = file.read(2) == _GZIP
            file.seek(0)
            yield cast(BinaryIO, gzip.GzipFile(fileobj=file)) if packed else file
    except (OSError, EOFError, zlib.error) as error:
        raise OntologyError(Errors.NOT_THIS_FORMAT.format(path=path, format=format, reason=error)) from error
