"""What tuning found, and how the pipeline rejected before."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..calibration import features_of
from ..components.fuse import VIEWS
from ..training.grids import Setting, Step
from ..training.rejection import Present, Rejection
from ..training.tuning import Pools
from ..types import Floats2d


@dataclass
class Tuned:
    """What tuning found.

    Attributes:
        steps: The steps, in order.
        settings: What changes, by view: ``retriever``, ``surface``, ``context`` and ``fused``.
        rejection: Calibration and threshold, if there was enough to fit them to.
        notes: What else is to be said.
    """

    steps: list[Step] = field(default_factory=list)
    settings: dict[str, Setting] = field(default_factory=lambda: {view: {} for view in (*VIEWS, "fused")})
    rejection: Rejection | None = None
    notes: list[str] = field(default_factory=list)


def present_rejection(pools: Pools, fused: Floats2d, threshold: float | None, fuser: Any) -> Present | None:
    """Say how the pipeline rejects now: by the retriever's score, by the fuser's probability, or by both.

    Args:
        pools: Pools of all mentions.
        fused: Their fused scores, (B, K).
        threshold: The retriever's.
        fuser: The stage that fuses, or None.
    """
    accepted, thresholds = np.asarray(pools.valid.any(axis=1)), Setting()
    if threshold is not None:
        thresholds["retriever_threshold"] = threshold
        best = np.where(pools.valid, pools.views["retriever"], -np.inf).max(axis=1)
        accepted &= best >= threshold
    stays = fuser is None or fuser.threshold is None
    if not stays:
        thresholds["threshold"] = fuser.threshold
        features = features_of(fused, pools.views, pools.valid, pools.first(fused))
        accepted &= fuser.calibration.probability(features) >= fuser.threshold
    return Present(thresholds, accepted, stays) if thresholds else None
