"""Rows made part by part that are too many for memory: appended to temporary files, then mapped."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from .atomic import naming_full_disk
from .vectors import Block, Vectors, stack

IN_MEMORY = 256 << 20
"""Rows of so many bytes stay in memory."""


class RowFiles:
    """Puts parts below one another, beyond ``IN_MEMORY`` in files of the temporary folder (``TMPDIR``).

    What is in files the operating system keeps in memory as long as nobody else needs the room. The files have no names
    (Windows deletes them when they are closed): they are gone with their rows, or their process, however it ends.
    """

    def __init__(self) -> None:
        self._parts: list[Vectors] = []  # in memory; once there are files, the last one without its rows
        self._size = 0
        self._files: dict[tuple[int, str], Any] = {}
        self._close = weakref.finalize(self, _close, self._files)  # also of rows that are given up
        self._lengths: dict[int, list[np.ndarray]] = {}

    def append(self, part: Vectors) -> None:
        """Put more rows below those that are there.

        Raises:
            WriteError: The disk of the temporary folder is full.
        """
        self._parts.append(part)
        self._size += sum(array.nbytes for block in part.blocks for array in _arrays(block).values())
        if self._size > IN_MEMORY:
            with naming_full_disk(f"{tempfile.gettempdir()} (TMPDIR names another folder)"):
                for waiting in self._parts:
                    self._write(waiting)
            self._parts = [part.take(slice(0, 0))]

    def finish(self) -> Vectors | None:
        """Return all rows; None if nothing was appended."""
        if not self._files:
            return stack(self._parts) if self._parts else None
        (like,) = self._parts
        rows = Vectors(tuple(self._mapped(number, block) for number, block in enumerate(like.blocks)))
        self._close()  # what is mapped stays until it is not
        return rows

    def _write(self, part: Vectors) -> None:
        for number, block in enumerate(part.blocks):
            for name, array in _arrays(block).items():
                if (number, name) not in self._files:
                    self._files[number, name] = tempfile.TemporaryFile(buffering=0)
                rest = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
                while rest:
                    rest = rest[self._files[number, name].write(rest) :]
            if sp.issparse(block):
                self._lengths.setdefault(number, []).append(np.diff(block.indptr))

    def _mapped(self, number: int, like: Block) -> Block:
        maps = {}
        for name, array in _arrays(like).items():
            file = self._files[number, name]
            maps[name] = np.memmap(file, array.dtype, "r") if file.tell() else array
        if not sp.issparse(like):
            return maps["dense"].reshape(-1, like.shape[1])
        ends = np.cumsum(np.concatenate([[0], *self._lengths[number]]), dtype=np.int64)
        indptr = ends.astype(np.int32 if ends[-1] < 1 << 31 else np.int64)
        indices = maps["indices"].astype(indptr.dtype, copy=False)  # scipy wants the two to be alike
        return sp.csr_matrix((maps["data"], indices, indptr), shape=(len(ends) - 1, like.shape[1]))


def _close(files: Mapping[Any, Any]) -> None:
    for file in files.values():
        file.close()


def _arrays(block: Block) -> dict[str, np.ndarray]:
    return {"data": block.data, "indices": block.indices} if sp.issparse(block) else {"dense": block}
