"""Rows made part by part that are too many for memory: appended to temporary files, then mapped."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from .vectors import Block, Vectors, stack

IN_MEMORY = 256 << 20
"""Rows of so many bytes stay in memory."""


class RowFiles:
    """Puts parts below one another, beyond ``IN_MEMORY`` in files of the temporary folder (``TMPDIR``).

    What is in files the operating system keeps in memory as long as nobody else needs the room.
    """

    def __init__(self) -> None:
        self._parts: list[Vectors] = []  # in memory; once there are files, the last one without its rows
        self._size = 0
        self._folder: Path | None = None
        self._lengths: dict[int, list[np.ndarray]] = {}

    def append(self, part: Vectors) -> None:
        """Put more rows below those that are there."""
        self._parts.append(part)
        self._size += sum(array.nbytes for block in part.blocks for array in _arrays(block).values())
        if self._size > IN_MEMORY:
            self._folder = self._folder or Path(tempfile.mkdtemp(prefix="ontolink-"))
            for waiting in self._parts:
                self._write(waiting, self._folder)
            self._parts = [part.take(slice(0, 0))]

    def finish(self) -> Vectors | None:
        """Return all rows; None if nothing was appended."""
        if self._folder is None:
            return stack(self._parts) if self._parts else None
        folder, (like,) = self._folder, self._parts
        rows = Vectors(tuple(self._mapped(folder, number, block) for number, block in enumerate(like.blocks)))
        shutil.rmtree(folder, ignore_errors=True)  # a file that is mapped stays until it is not, except on Windows
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return rows

    def _write(self, part: Vectors, folder: Path) -> None:
        for number, block in enumerate(part.blocks):
            for name, array in _arrays(block).items():
                with (folder / f"{number}.{name}").open("ab") as file:
                    file.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
            if sp.issparse(block):
                self._lengths.setdefault(number, []).append(np.diff(block.indptr))

    def _mapped(self, folder: Path, number: int, like: Block) -> Block:
        maps = {}
        for name, array in _arrays(like).items():
            path = folder / f"{number}.{name}"
            maps[name] = np.memmap(path, array.dtype, "r") if path.stat().st_size else array
        if not sp.issparse(like):
            return maps["dense"].reshape(-1, like.shape[1])
        ends = np.cumsum(np.concatenate([[0], *self._lengths[number]]), dtype=np.int64)
        indptr = ends.astype(np.int32 if ends[-1] < 1 << 31 else np.int64)
        indices = maps["indices"].astype(indptr.dtype, copy=False)  # scipy wants the two to be alike
        return sp.csr_matrix((maps["data"], indices, indptr), shape=(len(ends) - 1, like.shape[1]))


def _arrays(block: Block) -> dict[str, np.ndarray]:
    return {"data": block.data, "indices": block.indices} if sp.issparse(block) else {"dense": block}
