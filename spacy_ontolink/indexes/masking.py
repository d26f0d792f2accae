"""Searches among some of the entities only: so few rows that all of them are scored, or an approximate search."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..types import Bools1d, EntityRows, Hits
from ..vectors import Vectors
from .exact import ExactIndex
from .ranking import search_in_batches
from .recent import RecentMasks

FEW_ROWS = 20_000
"""So few allowed rows are scored faster than they are looked up, or than a graph or lists are filtered for them."""


class Mask(NamedTuple):
    """The entities that a search may return, and their rows."""

    allowed: Bools1d
    rows: Bools1d
    n_rows: int

    @property
    def share(self) -> float:
        """The share of the rows that may be returned."""
        return self.n_rows / max(1, len(self.rows))


class MaskedSearch:
    """What approximate indexes do alike around their own search.

    Attributes:
        exact: The exact index over the same rows.
    """

    def __init__(self, rows: EntityRows, n_entities: int) -> None:
        self.exact = ExactIndex()
        self.exact.build(rows, n_entities)
        self._owner = np.asarray(rows.owner)
        self._recent: RecentMasks[Mask] = RecentMasks()

    def search(
        self,
        approximate: Callable[[Vectors, Mask | None], Hits],
        queries: Vectors,
        k: int,
        allowed: Bools1d | None,
        batch: int,
    ) -> Hits:
        """Find the best ``k`` entities per query.

        Args:
            approximate: Searches a batch of queries; is given the mask if there is one.
            queries: (B, D) over all blocks.
            k: How many entities.
            allowed: The entities that may be found, (E,); None for all.
            batch: How many queries are searched at once.
        """
        mask = None if allowed is None or allowed.all() else self._recent.get(allowed, self._mask)
        if mask is not None and mask.n_rows <= FEW_ROWS:
            return self.exact.search(queries, k, allowed)
        return search_in_batches(lambda some: approximate(some, mask), queries, batch, k)

    def _mask(self, allowed: Bools1d) -> Mask:
        rows = allowed[self._owner]
        return Mask(allowed, rows, int(rows.sum()))
