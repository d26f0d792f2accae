"""Linear maps that bring the names of one entity together: learned with numpy, while a pipeline is built."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from ..types import Floats1d, Floats2d, Ints1d
from ..vectors import Block

_PASSES, _PER_ENTITY = 3, 2  # pairs are drawn so often from each entity
_MOST = 200_000  # pairs in all
_BATCH, _PARENTS = 512, 0.25  # pairs in a step, and pairs of an entity with its parent for each of these
_SEED = 0
_LEAST_SHARE = 0.05  # of entities with several names; the random start is noise that fewer do not make up for


def learn_projection(names: sp.csr_matrix, owner: Ints1d, parents: sp.csr_matrix, dimensions: int) -> Floats2d:
    """Learn to tell the names of one entity from those of others, in a few dimensions.

    It starts from random signs, which keep cosines up to noise, and minimises the cross-entropy of a name's partner
    among all names of a batch, by AdaGrad. The partner is another name of its entity or, for some, a parent's name.
    The random numbers are always the same.

    Args:
        names: N names of unit length, (N, V).
        owner: The entity number of each, ascending, (N,); an entity's first name is the primary one.
        parents: The parents of each entity, (E, E).
        dimensions: D.

    Returns:
        The projection, (V, D) float32; D is 0 if too few entities have several names to learn from.
    """
    random = np.random.default_rng(_SEED)
    pairs = _Pairs(owner, parents)
    if not pairs.enough:
        return np.zeros((names.shape[1], 0), np.float32)
    signs = random.integers(0, 2, (names.shape[1], dimensions)) * 2 - 1
    start: Floats2d = (signs / np.sqrt(dimensions)).astype(np.float32)
    return _descend(start, names, owner, pairs, random, temperature=0.1, rate=0.1, least=0)


def learn_alignment(names: Floats2d, owner: Ints1d, parents: sp.csr_matrix) -> Floats2d:
    """Learn the same as a map of a dense space onto itself, which starts from the map that changes nothing.

    A small ontology is gone over more often than by ``learn_projection``: there is no noise of a random start to grow.

    Args:
        names: N names of unit length, (N, D).
        owner: The entity number of each, ascending, (N,).
        parents: The parents of each entity, (E, E).

    Returns:
        The map, (D, D) float32; the identity if too few entities have several names to learn from.
    """
    pairs, start = _Pairs(owner, parents), np.eye(names.shape[1], dtype=np.float32)
    if not pairs.enough:
        return start
    return _descend(start, names, owner, pairs, np.random.default_rng(0), temperature=0.05, rate=0.03, least=30_000)


def _descend(
    start: Floats2d,
    names: Block,
    owner: Ints1d,
    pairs: _Pairs,
    random: np.random.Generator,
    *,
    temperature: float,
    rate: float,
    least: int,
) -> Floats2d:
    """Minimise the cross-entropy by AdaGrad; the rate falls to zero over the second half."""
    matrix, squares = start.copy(), np.full_like(start, 1e-8)
    place = np.zeros(names.shape[1], np.int32)
    for done, left, right in pairs.batches(random, least):
        one, other = names[left], names[right]
        used: np.ndarray | slice = slice(None)
        if sp.issparse(names):
            place[:] = 0
            place[one.indices] = place[other.indices] = 1
            used = np.flatnonzero(place)  # of no other n-gram is there a gradient
            place[used] = np.arange(len(used))
            one, other = _narrow(one, place, len(used)), _narrow(other, place, len(used))
        gradient = _gradient(matrix[used], one, other, owner[left], owner[right], np.float32(temperature))
        summed = squares[used] + gradient * gradient
        squares[used] = summed
        matrix[used] -= np.float32(rate * min(1.0, 2 - 2 * done)) * gradient / np.sqrt(summed)
    return matrix


class _Pairs:
    """Draws pairs of names, given by position.

    Attributes:
        n_named: How many entities have names.
        several: The numbers of those with several.
        enough: Whether these are enough to learn from.
    """

    def __init__(self, owner: Ints1d, parents: sp.csr_matrix) -> None:
        self._first = np.searchsorted(owner, np.arange(parents.shape[0]))
        self._count = np.searchsorted(owner, np.arange(parents.shape[0]), side="right") - self._first
        self.n_named, self.several = int((self._count > 0).sum()), np.flatnonzero(self._count > 1)
        self.enough = len(self.several) >= max(2, _LEAST_SHARE * self.n_named)
        child, parent = parents.nonzero()
        named = (self._count[child] > 0) & (self._count[parent] > 0)
        self._children, self._parents = child[named], parent[named]

    def batches(self, random: np.random.Generator, least: int) -> Iterator[tuple[float, np.ndarray, np.ndarray]]:
        """Yield the share of pairs that came before, and positions, left and right, of at least ``least`` pairs."""
        total = min(max(_PASSES * _PER_ENTITY * len(self.several), least), _MOST)
        order = np.concatenate([random.permutation(self.several) for _ in range(-(-total // len(self.several)))])
        for start in range(0, total, _BATCH):
            entity = order[start : min(start + _BATCH, total)]
            place = (random.random(len(entity)) * self._count[entity]).astype(np.int64)
            step = 1 + (random.random(len(entity)) * (self._count[entity] - 1)).astype(np.int64)
            left = self._first[entity] + place
            right = self._first[entity] + (place + step) % self._count[entity]
            if len(self._children):
                some = random.integers(0, len(self._children), int(_PARENTS * len(entity)))
                left = np.append(left, self._first[self._children[some]])
                right = np.append(right, self._first[self._parents[some]])
            yield start / total, left, right


def _narrow(names: sp.csr_matrix, place: np.ndarray, width: int) -> sp.csr_matrix:
    """Move each column to its place; those without one are all zero."""
    return sp.csr_matrix((names.data, place[names.indices], names.indptr), shape=(names.shape[0], width))


def _gradient(
    matrix: Floats2d, left: Block, right: Block, left_owner: Ints1d, right_owner: Ints1d, temperature: np.float32
) -> Floats2d:
    """The gradient of the mean cross-entropy of each left name's partner among all right names, (V, D)."""
    (one, one_length), (other, other_length) = _unit(left @ matrix), _unit(right @ matrix)
    scores = one @ other.T / temperature
    same = left_owner[:, None] == right_owner  # another name of the same entity is no mistake
    np.fill_diagonal(same, False)
    scores[same] = -np.inf
    share = np.exp(scores - scores.max(axis=1, keepdims=True))
    share /= share.sum(axis=1, keepdims=True)
    share[np.diag_indices(len(share))] -= 1
    share /= np.float32(len(share)) * temperature
    one_slope = _tangent(one, share @ other) / one_length
    other_slope = _tangent(other, share.T @ one) / other_length
    return np.asarray(left.T @ one_slope + right.T @ other_slope, np.float32)


def _unit(vectors: Floats2d) -> tuple[Floats2d, Floats1d]:
    """The vectors scaled to unit length, and their lengths, (B, 1)."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True) + np.float32(1e-6)
    return vectors / lengths, lengths


def _tangent(unit: Floats2d, slope: Floats2d) -> Floats2d:
    """The part of each slope that is at right angles to its vector: no other changes a cosine."""
    tangent: Floats2d = slope - unit * (unit * slope).sum(axis=1, keepdims=True)
    return tangent
