"""How sure a measure is: percentile intervals by the bootstrap, over documents where there are enough of them.

Mentions of one document are alike, and often the same; drawn one by one they would look like more evidence than they
are. Whole documents are drawn instead (a cluster bootstrap). A share is then a ratio of two sums, since the number of
mentions differs from draw to draw.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

Unit = Literal["document", "mention"]

FEWEST_DOCUMENTS = 10
"""Documents without which mentions are drawn instead: few clusters make intervals that are too narrow."""

FEWEST_UNITS = 5
"""Units with something to measure without which no interval is given."""

_CELLS = 1 << 21
"""The most draws held at once."""


@dataclass(frozen=True)
class Resampling:
    """Draws from B mentions, the same for every measure.

    Attributes:
        documents: The number of each mention's document, (B,).
        resamples: How many draws.
        seed: Of the draws.
        level: The share of draws that an interval holds.
    """

    documents: Sequence[int] | np.ndarray
    resamples: int = 1000
    seed: int = 0
    level: float = 0.95

    @cached_property
    def _units(self) -> tuple[Unit, np.ndarray, int]:
        distinct, unit = np.unique(np.asarray(self.documents, np.int64), return_inverse=True)
        if len(distinct) < FEWEST_DOCUMENTS:
            return "mention", np.arange(len(unit)), len(unit)
        return "document", unit, len(distinct)

    def facts(self) -> dict[str, Any]:
        """Return what the intervals are, in plain values."""
        kind, _, number = self._units
        return {"level": self.level, "unit": kind, "units": number, "resamples": self.resamples, "seed": self.seed}

    def sums(self, columns: Iterable[np.ndarray]) -> np.ndarray:
        """Add each of C columns, (B,), up by unit, (U, C)."""
        _, unit, number = self._units
        found = [np.bincount(unit, np.asarray(column, np.float64), number) for column in columns]
        return np.stack(found, axis=1) if found else np.zeros((number, 0))

    def intervals(self, tops: Iterable[np.ndarray], bottoms: Iterable[np.ndarray]) -> list[list[float] | None]:
        """Return an interval for each of C shares, the sum of a top over that of its bottom.

        Where all is right, or all is wrong, every draw says the same; the exact (Clopper-Pearson) interval over the
        units stands in for it.

        Args:
            tops: C columns, (B,).
            bottoms: C columns, (B,), 0 for a mention that does not belong to the share.
        """
        over, under = self.sums(tops), self.sums(bottoms)
        counts = (under > 0).sum(axis=0)
        found = self._quantiles(over, under)
        result: list[list[float] | None] = []
        for column, (count, bounds) in enumerate(zip(counts.tolist(), found.T.tolist(), strict=True)):
            reach = ((1 - self.level) / 2) ** (1 / max(count, 1))
            if count < FEWEST_UNITS:
                result.append(None)
            elif not over[:, column].any():
                result.append([0.0, 1 - reach])
            elif np.array_equal(over[:, column], under[:, column]):
                result.append([reach, 1.0])
            else:
                result.append(bounds)
        return result

    def interval_of_mean(self, values: np.ndarray, counted: np.ndarray) -> list[float] | None:
        """Return the interval of the mean of any values, (B,), such as differences; None of too few units.

        Args:
            values: The values, 0 where they do not count.
            counted: Which of them count, (B,).
        """
        under = self.sums([counted])
        if int((under > 0).sum()) < FEWEST_UNITS:
            return None
        low, high = self._quantiles(self.sums([values]), under)[:, 0].tolist()
        return [low, high]

    def _quantiles(self, over: np.ndarray, under: np.ndarray) -> np.ndarray:
        """Return the bounds of C ratios, (2, C)."""
        if not len(over):
            return np.full((2, over.shape[1]), np.nan)
        ratios = []
        for weights in self._draws(len(over)):
            bottom = weights @ under
            ratios.append(np.divide(weights @ over, bottom, out=np.full(bottom.shape, np.nan), where=bottom > 0))
        tail = (1 - self.level) / 2
        table = np.concatenate(ratios)
        known = ~np.isnan(table).all(axis=0)
        bounds = np.full((2, over.shape[1]), np.nan)
        bounds[:, known] = np.nanquantile(table[:, known], [tail, 1 - tail], axis=0)
        return bounds

    def _draws(self, number: int) -> Iterator[np.ndarray]:
        """Yield how often each unit is drawn, draw by draw, (chunk, U)."""
        generator = np.random.default_rng(self.seed)
        chunk = max(1, min(self.resamples, _CELLS // number))
        for start in range(0, self.resamples, chunk):
            size = min(chunk, self.resamples - start)
            drawn = generator.integers(0, number, (size, number)) + number * np.arange(size)[:, None]
            yield np.bincount(drawn.ravel(), minlength=size * number).reshape(size, number).astype(np.float64)
