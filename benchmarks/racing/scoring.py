"""Recall of what was found, and whether two methods differ by more than chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

DEPTHS = (1, 64)
DRAWS, SEED, LEVEL = 10_000, 0, 0.95


def hits(found: Sequence[Sequence[str]], gold: Sequence[set[str]]) -> dict[int, np.ndarray]:
    """Return by depth which mentions have a gold id among their first candidates, (mentions,) each."""
    return {
        depth: np.array([not wanted.isdisjoint(ids[:depth]) for ids, wanted in zip(found, gold, strict=True)])
        for depth in DEPTHS
    }


def difference(ours: np.ndarray, theirs: np.ndarray) -> dict[str, Any]:
    """Return the difference of two recalls over the same mentions, and its bootstrap confidence interval.

    Of a mention, only the difference of its two hits counts, -1, 0 or 1; so drawing mentions with replacement is
    drawing the counts of these three from a multinomial.
    """
    n = len(ours)
    pairs = ours.astype(int) - theirs.astype(int)
    shares = np.array([np.mean(pairs == value) for value in (-1, 0, 1)])
    drawn = np.random.default_rng(SEED).multinomial(n, shares, DRAWS)
    low, high = np.quantile((drawn[:, 2] - drawn[:, 0]) / n, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return {"difference": float(pairs.mean()), "low": float(low), "high": float(high)}
