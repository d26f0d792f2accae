"""The names of a knowledge base, a block at a time, so that millions never sit in memory as strings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ..types import Ints1d

if TYPE_CHECKING:
    from ..kb import KnowledgeBase


def positions_of(kb: KnowledgeBase, entities: Ints1d | None) -> Ints1d:
    """Return the positions of all names, or of those of the entities given (ascending), (N,)."""
    if entities is None:
        return np.arange(kb.n_names, dtype=np.int32)
    owner = np.asarray(kb.name_owner)
    first, last = np.searchsorted(owner, entities, "left"), np.searchsorted(owner, entities, "right")
    counts = last - first
    return (np.repeat(first - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())).astype(np.int32)


def name_blocks(kb: KnowledgeBase, positions: Ints1d, size: int) -> Iterator[list[str]]:
    """Yield the texts at positions, ``size`` at a time; a slice of the table where they are all of them."""
    every = len(positions) == kb.n_names
    for start in range(0, len(positions), size):
        stop = min(start + size, len(positions))
        yield kb.name_texts(start, stop) if every else kb.texts_of(positions[start:stop])
