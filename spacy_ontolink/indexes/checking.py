"""How much of exact search an approximate index finds, measured when it is built."""

from __future__ import annotations

import logging

import numpy as np
import scipy.sparse as sp

from ..types import Hits, Index
from ..vectors import Block, Vectors
from .ranking import search_in_batches

RECALL_K, RECALL_FLOOR, ENOUGH = 64, 0.95, 0.995  # "enough" leaves room: mentions are harder than rows with gaps
_FORGOTTEN = 1 / 3
_QUERIES = 64


def sample_rows(vectors: Vectors, size: int, seed: int) -> Vectors:
    """Return ``size`` rows, or all if there are fewer, to be used as queries."""
    size = min(size, len(vectors))
    return vectors.take(np.sort(np.random.default_rng(seed).choice(len(vectors), size, replace=False)))


def partly_forgotten(vectors: Vectors, size: int, seed: int) -> Vectors:
    """Return some rows, a third of the entries of their sparse blocks left out, of unit length.

    A row itself would be too easy a query: a name that is written differently shares fewer of its rare n-grams.
    """
    random = np.random.default_rng(seed)

    def partly(block: Block) -> Block:
        if not sp.issparse(block):
            return block
        kept = block.data * (random.random(len(block.data)) >= _FORGOTTEN)
        return sp.csr_matrix((kept.astype(np.float32), block.indices, block.indptr), shape=block.shape)

    return Vectors(tuple(map(partly, sample_rows(vectors, size, seed).blocks))).normalised()


class RecallCheck:
    """Searches some queries exactly, once, to tell of any index how much it finds.

    Args:
        exact: The exact index.
        queries: What to look for.
        rows: What is searched, pages of which are let go as soon as may be.
    """

    def __init__(self, exact: Index, queries: Vectors, rows: Vectors | None = None) -> None:
        self._queries, self._rows = queries, rows
        expected = exact.search(queries, RECALL_K)
        self._least = np.where(expected.entities < 0, np.inf, expected.scores).min(axis=1, keepdims=True) - 2e-6
        self._wanted = (expected.entities >= 0).sum(axis=1)

    def recall(self, index: Index) -> float | None:
        """Return the share of the exact index's best entities that ``index`` finds; None where there are none.

        Counted by score, as both score alike: of equally good entities any will do.
        """
        found = search_in_batches(lambda some: self._searched(index, some), self._queries, _QUERIES, RECALL_K)
        hit = np.minimum(((found.scores >= self._least) & (found.entities >= 0)).sum(axis=1), self._wanted)
        return round(float(hit.sum() / self._wanted.sum()), 4) if self._wanted.sum() else None

    def _searched(self, index: Index, queries: Vectors) -> Hits:
        hits = index.search(queries, RECALL_K)
        if self._rows:
            self._rows.leave_pages()
        return hits


def measure_recall(index: Index, exact: Index, queries: Vectors, rows: Vectors | None = None) -> float | None:
    """Return the share of the exact index's best entities that ``index`` finds; see ``RecallCheck``."""
    return RecallCheck(exact, queries, rows).recall(index)


def advise(log: logging.Logger, name: str, recall: float | None, advice: str) -> None:
    """Warn of a recall that is too low."""
    if recall is not None and recall < RECALL_FLOOR:
        log.warning("Recall@%d of the %s index is %.3f; %s.", RECALL_K, name, recall, advice)
