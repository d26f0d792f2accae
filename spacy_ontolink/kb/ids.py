"""The id table: from any id, live, merged or retired, to the entity it stands for today."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..types import Ints1d
from .columns import Table
from .hashing import equal_range, hash_texts


class IdTable:
    """Look ids up by hash, and compare the text."""

    def __init__(self, table: Table, n_live: int) -> None:
        self._table, self._n_live = table, n_live
        self._hash, self._row, self._number = (table.values(column) for column in ("hash", "row", "number"))
        self._alt = table.values("alt")

    def _place(self, id: str) -> int:
        if not isinstance(id, str):
            return -1
        start, stop = equal_range(self._hash, hash_texts([id])[0])
        return next((place for place in range(start, stop) if self._table.text("text", place) == id), -1)

    def row(self, id: str) -> int:
        """Return the row in ``entities`` of an own or alt id, or -1."""
        place = self._place(id)
        return int(self._row[place]) if place >= 0 else -1

    def successor(self, id: str) -> int:
        """Return the number of the live entity that an id leads to, or -1."""
        place = self._place(id)
        return int(self._number[place]) if place >= 0 else -1

    def number(self, id: str) -> int:
        """Return the number of the live entity whose own id this is, or -1."""
        place = self._place(id)
        return int(self._number[place]) if place >= 0 and self._is_live(np.array([place]))[0] else -1

    def _is_live(self, places: np.ndarray) -> np.ndarray:
        return np.asarray((self._alt[places] == 0) & (self._row[places] < self._n_live))

    def numbers(self, ids: Sequence[str]) -> Ints1d:
        """Return the number of each live entity's own id, -1 for every other text, (n,)."""
        hashes = hash_texts(ids)
        places = np.minimum(np.searchsorted(self._hash, hashes), len(self._hash) - 1)
        found = self._table.take("text", places)
        same = np.fromiter((a == b for a, b in zip(ids, found, strict=True)), np.bool_, len(ids))
        numbers = np.where(same & self._is_live(places), self._number[places], -1).astype(np.int32)
        for place in np.flatnonzero(~same & (self._hash[places] == hashes)).tolist():  # two texts of one hash
            numbers[place] = self.number(ids[place])
        return numbers
