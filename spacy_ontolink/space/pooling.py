"""Rows pulled towards their surroundings: the other names of their entity, and its parents and children."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..types import EntityRows, Ints1d
from ..vectors import Block, Vectors, add, stack

if TYPE_CHECKING:
    from ..kb import KnowledgeBase

_ROWS = 20_000
_FAINT = 0.03  # sparse weights below it cost time in every search and hardly change one


class Pooling(NamedTuple):
    """How much of the surroundings goes into each row.

    Attributes:
        names: Weight of the mean of the entity's own rows (ours): a mention may be half one name, half another.
        hierarchy: Weight of the parents' and of the children's mean name row (PILOT's lambda, section 3.1).
    """

    names: float = 0.0
    hierarchy: float = 0.0


def pool(rows: EntityRows, kb: KnowledgeBase, pooling: Pooling) -> Vectors:
    """Compute pooled rows, ``r + names · mean(rows of its entity) + hierarchy · (mean(parents) + mean(children))``.

    Neighbours count with the row of their primary name; a missing side adds nothing. Rows have unit length again,
    dense ones in half precision.

    Args:
        rows: N rows of all entities.
        kb: Their KB; without a hierarchy that part is the identity.
        pooling: The weights.
    """
    weights = _surroundings(rows, kb, pooling)
    parts = [_pool_block(rows, weights, start, stop) for start, stop in _blocks(rows.owner)]
    return stack(parts) if parts else rows.vectors


def _blocks(owner: Ints1d) -> Iterator[tuple[int, int]]:
    """Cut rows where an entity ends, so that pooling millions of them needs little more memory than the result."""
    start = 0
    while start < len(owner):
        last = owner[min(start + _ROWS, len(owner)) - 1]
        stop = int(np.searchsorted(owner, last, side="right"))
        yield start, stop
        start = stop


def _pool_block(rows: EntityRows, weights: sp.csr_matrix, start: int, stop: int) -> Vectors:
    owner = rows.owner[start:stop]
    around = rows.vectors.transform(weights[owner[0] : owner[-1] + 1])
    pooled = add([rows.vectors.take(slice(start, stop)), around.take(owner - owner[0])], [1.0, 1.0]).normalised()
    return Vectors(tuple(_without_faint(block) for block in pooled.blocks)).normalised().half()


def _surroundings(rows: EntityRows, kb: KnowledgeBase, pooling: Pooling) -> sp.csr_matrix:
    """The weights, (E, N), with which rows add up to each entity's surroundings."""
    n_rows, n_entities = len(rows.owner), len(kb)
    ones = np.ones(n_rows, np.float32)
    own = sp.csr_matrix((ones, (rows.owner, np.arange(n_rows))), shape=(n_entities, n_rows))
    total = _mean(own) * np.float32(pooling.names)
    if pooling.hierarchy:
        primary = np.searchsorted(rows.owner, np.arange(n_entities))
        name_row = sp.csr_matrix((ones[:n_entities], (np.arange(n_entities), primary)), shape=(n_entities, n_rows))
        near = _mean(kb.parent_matrix) + _mean(kb.child_matrix)
        total = total + (near @ name_row) * np.float32(pooling.hierarchy)
    return total.tocsr()


def _mean(matrix: sp.csr_matrix) -> sp.csr_matrix:
    counts = np.diff(matrix.indptr)
    return sp.diags(np.divide(1, counts, out=np.zeros(len(counts), np.float32), where=counts > 0)) @ matrix


def _without_faint(block: Block) -> Block:
    if sp.issparse(block):
        block.data[np.abs(block.data) < _FAINT] = 0
        block.eliminate_zeros()
    return block
