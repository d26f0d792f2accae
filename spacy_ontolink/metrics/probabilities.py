"""How well probabilities hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def auroc(scores: Sequence[float] | np.ndarray, positive: Sequence[bool] | np.ndarray) -> float | None:
    """Return the chance that a positive scores above a negative, ties counting half; None if one of them is missing."""
    values, mask = np.asarray(scores, np.float64), np.asarray(positive, bool)
    n_positive, n_negative = int(mask.sum()), int((~mask).sum())
    if not n_positive or not n_negative:
        return None
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - (counts - 1) / 2  # the mean rank, from 1, of equal values
    return float((middle[place][mask].sum() - n_positive * (n_positive + 1) / 2) / (n_positive * n_negative))


def reliability(
    probabilities: Sequence[float] | np.ndarray, correct: Sequence[bool] | np.ndarray, bins: int = 10
) -> list[dict[str, Any]]:
    """Compare claimed with actual accuracy in bins of equal width.

    Returns:
        For each bin that is not empty ``from``, ``to``, ``n``, the mean ``probability`` and the ``accuracy``.
    """
    claimed, right = np.asarray(probabilities, np.float64), np.asarray(correct, bool)
    number = np.clip((claimed * bins).astype(int), 0, bins - 1)
    rows: list[dict[str, Any]] = []
    for bin in np.unique(number).tolist():
        inside = number == bin
        rows.append(
            {
                "from": bin / bins,
                "to": (bin + 1) / bins,
                "n": int(inside.sum()),
                "probability": float(claimed[inside].mean()),
                "accuracy": float(right[inside].mean()),
            }
        )
    return rows


def expected_calibration_error(
    probabilities: Sequence[float] | np.ndarray, correct: Sequence[bool] | np.ndarray, bins: int = 10
) -> float | None:
    """Return the mean gap between claimed and actual accuracy, weighted by bin; None of nothing."""
    rows = reliability(probabilities, correct, bins)
    total = sum(row["n"] for row in rows)
    return sum(row["n"] * abs(row["probability"] - row["accuracy"]) for row in rows) / total if total else None
