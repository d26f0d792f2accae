"""Recall of what was found, and whether two methods differ by more than chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from spacy_ontolink.metrics.resampling import Resampling

DEPTHS = (1, 64)
DRAWS, SEED, LEVEL = 1000, 0, 0.95


def hits(found: Sequence[Sequence[str]], gold: Sequence[set[str]]) -> dict[int, np.ndarray]:
    """Return by depth which mentions have a gold id among their first candidates, (mentions,) each."""
    return {
        depth: np.array([not wanted.isdisjoint(ids[:depth]) for ids, wanted in zip(found, gold, strict=True)])
        for depth in DEPTHS
    }


def difference(ours: np.ndarray, theirs: np.ndarray, documents: Sequence[int]) -> dict[str, Any]:
    """Return the difference of two recalls over the same mentions, and its interval by the paired bootstrap.

    Whole documents are drawn, whose numbers are given by mention.
    """
    gain = ours.astype(float) - theirs.astype(float)
    resampling = Resampling(documents, DRAWS, SEED, LEVEL)
    interval = resampling.interval_of_mean(gain, np.ones(len(gain))) or [-1.0, 1.0]
    return {"difference": float(gain.mean()), "low": interval[0], "high": interval[1]}
