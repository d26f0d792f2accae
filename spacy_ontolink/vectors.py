"""Row vectors over one or more blocks, each sparse or dense: the one algebra of every encoder.

A lexical encoder makes one sparse block, a sentence encoder one dense block, a hybrid both side by side. Mixing
queries, pooling over the hierarchy and dot products are linear, so they act block by block and work on all three.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from .errors import Errors, StateError
from .files import REBUILD, leave_pages, open_tensors, write_tensors
from .types import Floats1d, Floats2d

Block: TypeAlias = Any
"""A dense array or a scipy CSR matrix, (N, D); scipy has no types to tell them apart by."""


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """``len(v)`` rows, each the concatenation of its part in every block (float32 or float16 dense, float32 CSR)."""

    blocks: tuple[Block, ...]

    def __len__(self) -> int:
        return int(self.blocks[0].shape[0])

    @property
    def dims(self) -> tuple[int, ...]:
        """Dimensions of each block."""
        return tuple(int(block.shape[1]) for block in self.blocks)

    def _map(self, function: Callable[[Block], Block]) -> Vectors:
        return Vectors(tuple(function(block) for block in self.blocks))

    def half(self) -> Vectors:
        """Keep dense blocks in half precision; sparse ones stay as they are."""
        return self._map(lambda block: block if sp.issparse(block) else block.astype(np.float16))

    def single(self) -> Vectors:
        """Turn dense blocks into single precision, which products are computed in."""
        return self._map(lambda block: block if sp.issparse(block) else block.astype(np.float32, copy=False))

    def take(self, rows: np.ndarray | slice) -> Vectors:
        """Select rows, by position, slice or mask."""
        return self._map(lambda block: block[rows])

    def scale(self, factors: Floats1d) -> Vectors:
        """Multiply each row by its factor, (N,)."""
        factors = factors.astype(np.float32)

        def scaled(block: Block) -> Block:
            if not sp.issparse(block):
                return block.astype(np.float32) * factors[:, None]
            data = block.data * np.repeat(factors, np.diff(block.indptr))
            return sp.csr_matrix((data, block.indices, block.indptr), shape=block.shape)

        return self._map(scaled)

    def norms(self) -> Floats1d:
        """Return the Euclidean length of each row, (N,)."""
        return np.sqrt(self.row_dots(self))

    def normalised(self) -> Vectors:
        """Scale rows to unit length; a zero row stays zero."""
        norms = self.norms()
        return self.scale(np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0))

    def row_dots(self, other: Vectors) -> Floats1d:
        """Dot product of each row with the same row of ``other``, (N,)."""
        total = np.zeros(len(self), np.float32)
        for mine, theirs in zip(self.blocks, other.blocks, strict=True):
            if sp.issparse(mine):
                total += np.asarray(mine.multiply(theirs).sum(axis=1), np.float32).ravel()
            else:
                total += np.einsum("ij,ij->i", np.asarray(mine, np.float32), np.asarray(theirs, np.float32))
        return total

    def dot(self, other: Vectors) -> Floats2d:
        """Dot products of all rows with all rows of ``other``, dense, (len(self), len(other)): mind the memory."""
        total = np.zeros((len(self), len(other)), np.float32)
        for mine, theirs in zip(self.blocks, other.blocks, strict=True):
            if sp.issparse(mine):
                total += (mine @ theirs.T).toarray()
            else:
                total += mine.astype(np.float32) @ theirs.astype(np.float32).T
        return total

    def transform(self, matrix: sp.csr_matrix) -> Vectors:
        """Return ``matrix @ self`` for a sparse (M, N) matrix: sums of rows, such as means over neighbours."""

        def product(block: Block) -> Block:
            if sp.issparse(block):
                return (matrix @ block).tocsr().astype(np.float32)
            used, column = np.unique(matrix.indices, return_inverse=True)
            narrow = sp.csr_matrix((matrix.data, column, matrix.indptr), shape=(matrix.shape[0], len(used)))
            return np.asarray(narrow @ block[used].astype(np.float32), np.float32)

        return self._map(product)

    def leave_pages(self) -> None:
        """Let go of mapped pages; see ``files.leave_pages``."""
        for block in self.blocks:
            for array in (block.data, block.indices) if sp.issparse(block) else (block,):
                leave_pages(array)

    def to_disk(self, path: Path) -> None:
        """Write one safetensors file; dense blocks as float16."""
        arrays: dict[str, np.ndarray] = {}
        for number, block in enumerate(self.blocks):
            if sp.issparse(block):
                arrays[f"{number}.data"] = block.data.astype(np.float32, copy=False)
                arrays[f"{number}.indices"] = block.indices
                arrays[f"{number}.indptr"] = block.indptr
                arrays[f"{number}.shape"] = np.asarray(block.shape, np.int64)
            else:
                arrays[f"{number}.dense"] = block.astype(np.float16, copy=False)
        write_tensors(path, arrays)

    @classmethod
    def from_disk(cls, path: Path) -> Vectors:
        """Open what ``to_disk`` wrote, memory-mapped.

        Raises:
            StateError: The file is missing or damaged.
        """
        arrays = open_tensors(path)
        blocks: list[Block] = []
        while dense_or_sparse := {
            name.split(".")[1]: a for name, a in arrays.items() if name.startswith(f"{len(blocks)}.")
        }:
            try:
                blocks.append(_block(dense_or_sparse))
            except (KeyError, ValueError, TypeError, IndexError) as error:
                raise StateError(Errors.FILE_DAMAGED.format(path=path, reason=error, rebuild=REBUILD)) from error
        return cls(tuple(blocks))


def _block(arrays: dict[str, np.ndarray]) -> Block:
    if "dense" in arrays:
        return arrays["dense"]
    return sp.csr_matrix((arrays["data"], arrays["indices"], arrays["indptr"]), shape=tuple(map(int, arrays["shape"])))


def add(parts: Sequence[Vectors], weights: Sequence[float]) -> Vectors:
    """Weighted sum of equally shaped vectors: the query mix of PILOT (section 3.1), before normalisation."""
    total = []
    for blocks in zip(*(part.blocks for part in parts), strict=True):
        block = sum(b * np.float32(w) for b, w in zip(blocks[1:], weights[1:], strict=True)) if len(blocks) > 1 else 0
        first = blocks[0] * np.float32(weights[0])
        total.append(first if len(blocks) == 1 else first + block)
    return Vectors(tuple(block.tocsr() if sp.issparse(block) else block for block in total))


def stack(parts: Sequence[Vectors]) -> Vectors:
    """Put rows below one another."""
    columns = zip(*(part.blocks for part in parts), strict=True)
    return Vectors(
        tuple(sp.vstack(blocks, format="csr") if sp.issparse(blocks[0]) else np.vstack(blocks) for blocks in columns)
    )


def join(parts: Sequence[Vectors], weights: Sequence[float]) -> Vectors:
    """Put blocks side by side, so that dot products become the weighted sum of the parts' dot products.

    Each part is scaled by the square root of its weight: with weights that sum to 1, unit vectors stay unit vectors.
    """
    scaled = [part.scale(np.full(len(part), np.sqrt(w), np.float32)) for part, w in zip(parts, weights, strict=True)]
    return Vectors(tuple(block for part in scaled for block in part.blocks))
