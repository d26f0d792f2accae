"""Whether two runs over the same mentions differ by more than chance."""

from __future__ import annotations

from typing import Any

import numpy as np

from .resampling import Resampling

FLIPS = 9999
"""Random assignments of a permutation test, so that the smallest p-value is 1/10,000."""

_EXACT_UP_TO = 13
"""Units that differ up to which all assignments are tried, of which there are then fewer than ``FLIPS``."""


def compare(
    here: np.ndarray, there: np.ndarray, resampling: Resampling, counted: np.ndarray | None = None
) -> dict[str, Any]:
    """Compare a measure of two runs mention by mention.

    Args:
        here: What each of B mentions adds to the measure in this run, (B,).
        there: The same in the other run.
        resampling: Says what belongs together, and the seed.
        counted: Whether each mention counts in the measure, (B,); by default all do.

    Returns:
        The means ``here`` and ``there``, their ``difference``, its ``interval`` by the paired bootstrap, and the
        two-sided ``p_value`` of a paired permutation test, in which whole units change sides. None of no mention.
    """
    first, second = np.asarray(here, np.float64), np.asarray(there, np.float64)
    given = np.ones(len(first), bool) if counted is None else counted
    gain = np.where(given, first - second, 0.0)
    if not given.any():
        return {"here": None, "there": None, "difference": None, "interval": None, "p_value": None}
    return {
        "here": float(first[given].mean()),
        "there": float(second[given].mean()),
        "difference": float(gain[given].mean()),
        "interval": resampling.interval_of_mean(gain, given),
        "p_value": _permutation(resampling.sums([gain])[:, 0], resampling.seed),
    }


def mcnemar(here: np.ndarray, there: np.ndarray) -> dict[str, Any]:
    """Test whether one run is right where the other is wrong more often than the reverse (McNemar's exact test).

    It takes mentions for independent of one another.

    Args:
        here: Whether each of B mentions is right in this run, (B,).
        there: The same in the other run.

    Returns:
        How many are right ``only_here`` and ``only_there``, and the two-sided ``p_value``.
    """
    from scipy.stats import binomtest

    first, second = np.asarray(here, bool), np.asarray(there, bool)
    won, lost = int((first & ~second).sum()), int((second & ~first).sum())
    p = float(binomtest(won, won + lost).pvalue) if won + lost else 1.0
    return {"only_here": won, "only_there": lost, "p_value": p}


def _permutation(gains: np.ndarray, seed: int) -> float:
    """Return the share of assignments of signs under which the sum of gains, (U,), is as far from 0 as it is."""
    gains = gains[np.abs(gains) > 1e-12]
    if not len(gains):
        return 1.0
    observed = abs(gains.sum()) - 1e-9
    if len(gains) <= _EXACT_UP_TO:
        signs = 1 - 2 * (np.arange(1 << len(gains))[:, None] >> np.arange(len(gains)) & 1)
        return float((np.abs(signs @ gains) >= observed).mean())
    generator = np.random.default_rng(seed)
    extreme, chunk = 0, max(1, (1 << 21) // len(gains))
    for start in range(0, FLIPS, chunk):
        signs = generator.integers(0, 2, (min(chunk, FLIPS - start), len(gains))) * 2 - 1
        extreme += int((np.abs(signs @ gains) >= observed).sum())
    return (extreme + 1) / (FLIPS + 1)
