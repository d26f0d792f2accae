"""The is-a hierarchy as compressed sparse rows of entity numbers; cycles are legal everywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ..types import Bools1d, Ints1d
from .columns import Csr

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Problem = Callable[[str, str], None]


def expand(rows: Csr, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Concatenate the lists of some rows.

    Returns:
        For each item, the place of its row in ``which``, and the item itself.
    """
    starts, counts = rows.indptr[which].astype(np.int64), rows.indptr[which + 1] - rows.indptr[which]
    place = np.repeat(np.arange(len(which)), counts)
    first = np.cumsum(counts, dtype=np.int64) - counts
    return place, rows.indices[np.arange(len(place)) - first[place] + starts[place]]


def reach(rows: Csr, start: np.ndarray) -> list[Ints1d]:
    """Walk from ``start`` until nothing new is met; return what is new at each step, ascending, ``start`` first."""
    seen = np.zeros(len(rows.indptr) - 1, np.bool_)
    steps = [np.unique(start).astype(np.int32)]
    while len(steps[-1]):
        seen[steps[-1]] = True
        met = np.unique(expand(rows, steps[-1])[1])
        steps.append(met[~seen[met]])
    return steps[:-1]


def descendants(children: Csr, start: np.ndarray) -> Bools1d:
    """Mark ``start`` and everything below it, (E,)."""
    mask = np.zeros(len(children.indptr) - 1, np.bool_)
    for step in reach(children, start):
        mask[step] = True
    return mask


def depth(parents: Csr, children: Csr) -> int:
    """Return how many is-a steps the entity farthest below a root is away from it, on its shortest way."""
    return max(0, len(reach(children, roots(parents))) - 1)


def roots(parents: Csr) -> Ints1d:
    """Return the entities without a parent, ascending."""
    return np.flatnonzero(np.diff(parents.indptr) == 0).astype(np.int32)


def to_csr(rows: np.ndarray, items: np.ndarray, n_rows: int) -> Csr:
    """Sort (row, item) pairs into rows of ascending, distinct items."""
    pairs = np.unique(rows.astype(np.int64) << 32 | items.astype(np.int64))
    counts = np.bincount(pairs >> 32, minlength=n_rows)
    return Csr(np.concatenate([[0], np.cumsum(counts)]).astype(np.int32), (pairs & 0xFFFFFFFF).astype(np.int32))


def link(
    child: np.ndarray, parent: np.ndarray, n_entities: int, name_of: Callable[[int], str], problem: Problem
) -> tuple[Csr, Csr]:
    """Make the parent and the child lists of all entities from is-a pairs of entity numbers.

    Self loops are dropped; cycles stay, since every walk here ends on them. Both are counted as problems.
    """
    loops = child == parent
    for number in np.unique(child[loops]):
        problem("is_a self loop", name_of(int(number)))
    child, parent = child[~loops], parent[~loops]
    parents, children = to_csr(child, parent, n_entities), to_csr(parent, child, n_entities)
    for members in _cycles(parents):
        problem("is_a cycle", ", ".join(name_of(int(number)) for number in members[:5]))
    return parents, children


def to_matrix(rows: Csr) -> csr_matrix:
    """Return ones where a row holds an item, float32, (rows, rows); its indices are views."""
    from scipy.sparse import csr_matrix

    size = len(rows.indptr) - 1
    matrix = csr_matrix((np.ones(len(rows.indices), np.float32), rows.indices, rows.indptr), shape=(size, size))
    matrix.has_canonical_format = True  # they are stored so; scipy must not try to sort a read-only view
    return matrix


def neighbourhoods(parents: csr_matrix, children: csr_matrix, entities: Ints1d) -> Csr:
    """Return N+ of some entities, ascending: parents, children and siblings, without the entity itself (Sci-ZSEL, 5.2).

    Args:
        parents: Ones where the column is a parent of the row, (E, E).
        children: Ones where the column is a child of the row, (E, E).
        entities: Entity numbers, (n,).
    """
    above = parents[entities]
    near = (above + children[entities] + above @ children).tocsr()
    near.sum_duplicates()  # sorts, too
    rows = np.repeat(np.arange(len(entities)), np.diff(near.indptr))
    others = near.indices != np.asarray(entities)[rows]
    counts = np.bincount(rows[others], minlength=len(entities))
    return Csr(np.append(0, np.cumsum(counts)).astype(np.int32), near.indices[others].astype(np.int32))


def neighbourhood_sizes(parents: csr_matrix, children: csr_matrix, entities: Ints1d) -> np.ndarray:
    """Bound the size of N+ of some entities from above without making it, (n,)."""
    n_children = np.diff(children.indptr)
    above = parents[entities]
    siblings = np.add.reduceat(np.append(n_children[above.indices], 0), above.indptr[:-1]) * (np.diff(above.indptr) > 0)
    sizes: np.ndarray = np.diff(above.indptr) + n_children[entities] + siblings
    return sizes


def _cycles(parents: Csr) -> list[Ints1d]:
    """Return the sets of entities that are ancestors of one another."""
    if not len(parents.indices):
        return []
    from scipy.sparse.csgraph import connected_components

    _, component = connected_components(to_matrix(parents), directed=True, connection="strong")
    large = np.flatnonzero(np.bincount(component) > 1)
    return [np.flatnonzero(component == number).astype(np.int32) for number in large]
