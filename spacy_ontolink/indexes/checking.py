"""How much of exact search an approximate index finds, measured when it is built."""

from __future__ import annotations

import logging

import numpy as np
import scipy.sparse as sp

from ..types import Index
from ..vectors import Vectors

RECALL_K, RECALL_FLOOR = 64, 0.95
_FORGOTTEN = 1 / 3


def sample_rows(vectors: Vectors, size: int, seed: int) -> Vectors:
    """Return ``size`` rows, or all if there are fewer, to be used as queries."""
    size = min(size, len(vectors))
    return vectors.take(np.sort(np.random.default_rng(seed).choice(len(vectors), size, replace=False)))


def partly_forgotten(vectors: Vectors, size: int, seed: int) -> Vectors:
    """Return some rows of one sparse block, a third of each row's entries left out, of unit length.

    A row itself would be too easy a query: a name that is written differently shares fewer of its rare n-grams.
    """
    block = sample_rows(vectors, size, seed).blocks[0].copy()
    block.data = block.data * (np.random.default_rng(seed).random(len(block.data)) >= _FORGOTTEN)
    return Vectors((sp.csr_matrix(block),)).normalised()


def measure_recall(index: Index, exact: Index, queries: Vectors) -> float | None:
    """Return the share of the exact index's best entities that ``index`` finds; None where there are none.

    Counted by score, as both score alike: of equally good entities any will do.
    """
    expected, found = exact.search(queries, RECALL_K), index.search(queries, RECALL_K)
    least = np.where(expected.entities < 0, np.inf, expected.scores).min(axis=1, keepdims=True) - 2e-6
    wanted = (expected.entities >= 0).sum(axis=1)
    hit = np.minimum(((found.scores >= least) & (found.entities >= 0)).sum(axis=1), wanted)
    return round(float(hit.sum() / wanted.sum()), 4) if wanted.sum() else None


def advise(log: logging.Logger, name: str, recall: float | None, advice: str) -> None:
    """Warn of a recall that is too low."""
    if recall is not None and recall < RECALL_FLOOR:
        log.warning("Recall@%d of the %s index is %.3f; %s.", RECALL_K, name, recall, advice)
