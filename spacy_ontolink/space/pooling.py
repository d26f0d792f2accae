"""Rows pulled towards their surroundings: the other names of their entity, and its parents and children."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..row_files import RowFiles
from ..types import EntityRows, Ints1d
from ..vectors import Block, Vectors, add

if TYPE_CHECKING:
    from ..kb import KnowledgeBase

_ROWS = 20_000
_FAINT = 0.03  # sparse weights below it cost time in every search and hardly change one


class Pooling(NamedTuple):
    """How much of the surroundings goes into each row.

    Attributes:
        names: Weight of the mean of the entity's name rows (ours): a mention may be half one name, half another.
        hierarchy: Weight of the parents' and of the children's mean name row (PILOT's lambda, section 3.1).
    """

    names: float = 0.0
    hierarchy: float = 0.0


def pool(rows: EntityRows, kb: KnowledgeBase, pooling: Pooling) -> EntityRows:
    """Compute pooled rows, ``r + names · mean(names of its entity) + hierarchy · (mean(parents) + mean(children))``.

    Neighbours count with the row of their primary name; a missing side adds nothing. Rows have unit length again,
    dense ones in half precision.

    Args:
        rows: N rows of all entities.
        kb: Their KB; without a hierarchy that part is the identity.
        pooling: The weights; all zero leaves the rows as they are.
    """
    if not any(pooling):
        return rows
    pooled = RowFiles()
    for entities in _blocks(rows.owner):
        pooled.append(pool_some(rows, kb, pooling, entities).vectors)
        rows.vectors.leave_pages()
    return rows._replace(vectors=pooled.finish() or rows.vectors)


def pool_some(rows: EntityRows, kb: KnowledgeBase, pooling: Pooling, entities: Ints1d) -> EntityRows:
    """Return the pooled rows of some entities only, whose numbers are given ascending."""
    first, stop = np.searchsorted(rows.owner, entities), np.searchsorted(rows.owner, entities, side="right")
    position = ranges(first, stop)
    some = EntityRows(rows.vectors.take(position), rows.owner[position], rows.name[position])
    if not any(pooling):
        return some
    named = np.flatnonzero(np.diff(some.name, prepend=-1))  # a row that repeats a name is a definition's
    ends = np.append(np.searchsorted(some.owner[named], entities), len(named))
    weights = _means(position[named], ends, len(rows.owner)) * np.float32(pooling.names)
    if pooling.hierarchy:
        weights = weights + _neighbours(rows, kb, entities) * np.float32(pooling.hierarchy)
    around = rows.vectors.transform(weights.tocsr())
    around = around.take(np.searchsorted(entities, some.owner))
    pooled = add([some.vectors, around], [1.0, 1.0]).normalised()
    return some._replace(vectors=Vectors(tuple(map(_without_faint, pooled.blocks))).normalised().half())


def ranges(starts: np.ndarray, stops: np.ndarray) -> np.ndarray:
    """Return all integers of these half-open ranges, one range after the other."""
    counts = stops - starts
    ends = np.cumsum(counts)
    values: np.ndarray = np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - ends + counts, counts)
    return values


def _blocks(owner: Ints1d) -> Iterator[Ints1d]:
    """Cut the entities into blocks, so that pooling millions of rows needs little more memory than the result."""
    start = 0
    while start < len(owner):
        last = owner[min(start + _ROWS, len(owner)) - 1]
        yield np.arange(owner[start], last + 1, dtype=np.int32)
        start = int(np.searchsorted(owner, last, side="right"))


def _neighbours(rows: EntityRows, kb: KnowledgeBase, entities: Ints1d) -> sp.csr_matrix:
    """The matrix that adds up the mean name row of the parents and of the children, (len(entities), N)."""
    total: sp.csr_matrix = 0
    for matrix in (kb.parent_matrix, kb.child_matrix):
        side = matrix[entities]
        name_rows = np.searchsorted(rows.owner, side.indices)  # an entity's first row is that of its name
        total = total + _means(name_rows, side.indptr, len(rows.owner))
    return total


def _means(columns: np.ndarray, indptr: np.ndarray, width: int) -> sp.csr_matrix:
    """The matrix that takes in each row the mean over the given columns, (len(indptr) - 1, width)."""
    counts = np.diff(indptr)
    weights = np.repeat(np.divide(1, counts, out=np.zeros(len(counts), np.float32), where=counts > 0), counts)
    return sp.csr_matrix((weights.astype(np.float32), columns, indptr), shape=(len(counts), width))


def _without_faint(block: Block) -> Block:
    if sp.issparse(block):
        block.data[np.abs(block.data) < _FAINT] = 0
        block.eliminate_zeros()
    return block
