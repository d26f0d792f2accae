"""When to say NIL: a calibration and a threshold fitted to mentions some of which have no entity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..calibration import FEWEST, Calibration, Method, features_of, fit_calibration
from ..errors import DataError, Errors
from ..metrics import auroc, evaluate_nil, expected_calibration_error, reliability
from ..types import Bools1d, Floats1d, Floats2d, Ints1d
from .grids import Setting, Step, cross_fitted
from .tuning import Pools

METHODS: tuple[Method, ...] = ("platt", "isotonic")
LEVELS = 200
"""The most thresholds tried."""


@dataclass(frozen=True)
class Rejection:
    """What was fitted, and how well it holds on mentions it was not fitted on.

    Attributes:
        calibration: Fitted on all mentions.
        threshold: On its probability; None accepts everything.
        probability: Of each mention's first candidate, (B,), by calibrations fitted without the mention.
        steps: Calibration and threshold as steps of tuning.
        measures: NIL, AUROC and calibration, and the bins of the reliability plot.
    """

    calibration: Calibration
    threshold: float | None
    probability: Floats1d
    steps: list[Step]
    measures: dict[str, Any]


def tune_rejection(pools: Pools, fused: Floats2d, is_nil: Bools1d, precision: float | None = None) -> Rejection:
    """Fit calibration and threshold; everything that is reported is cross-fitted.

    Args:
        pools: Pools of all mentions, those without an entity included.
        fused: Their fused scores, (B, K).
        is_nil: Which mentions have no entity, (B,).
        precision: Accept as much as possible at this precision, of ``FEWEST`` answers at least; None for the highest
            accuracy, in which a ``NIL`` rightly said counts as right.

    Raises:
        DataError: There is too little to calibrate on, or no threshold reaches the precision.
    """
    first = pools.first(fused)
    at = np.arange(len(first))
    right = np.asarray(pools.right[at, first])
    features = features_of(fused, pools.views, pools.valid, first)
    found = {method: _cross_fitted(features, right, pools.fold, method) for method in METHODS}
    method = min(METHODS, key=lambda name: float(((found[name] - right) ** 2).mean()))
    probability = found[method]
    score = features["fused"]
    calibration = Step(
        "calibration",
        "auroc",
        len(right),
        {"method": None},
        {"method": method},
        auroc(np.nan_to_num(score, nan=-np.inf), right),
        auroc(fit_calibration(features, right, method).probability(features), right),
        auroc(probability, right),
        [{"method": name, "value": auroc(values, right), "brier": float(((values - right) ** 2).mean()),
          "ece": expected_calibration_error(values, right)} for name, values in found.items()],
        "before: by the fused score",
    )  # fmt: skip
    threshold, step, accepted = _threshold(probability, right, is_nil, pools.fold, precision)
    said = ~accepted
    measures = {
        **evaluate_nil(is_nil, said, right),
        "nil_auroc": auroc(-probability, is_nil),
        "answer_auroc": auroc(probability, right),
        "expected_calibration_error": expected_calibration_error(probability, right),
        "precision": float(right[~said].mean()) if not said.all() else None,
        "answered": float((~said).mean()),
        "threshold": threshold,
        "reliability": reliability(probability, right),
    }
    return Rejection(fit_calibration(features, right, method), threshold, probability, [calibration, step], measures)


def _cross_fitted(features: dict[str, Floats1d], right: Bools1d, fold: Ints1d, method: Method) -> Floats1d:
    """Probabilities from calibrations fitted on the other folds, (B,)."""
    result = np.zeros(len(right), np.float32)
    for number in np.unique(fold):
        inside = fold == number
        fitted = fit_calibration({name: values[~inside] for name, values in features.items()}, right[~inside], method)
        result[inside] = fitted.probability({name: values[inside] for name, values in features.items()})
    return result


def _threshold(
    probability: Floats1d, right: Bools1d, is_nil: Bools1d, fold: Ints1d, precision: float | None
) -> tuple[float | None, Step, Bools1d]:
    """Return the threshold, the step, and the mentions accepted by thresholds chosen on the other folds, (B,)."""
    levels = np.unique(np.append(0.0, np.floor(probability.astype(np.float64) * 1e4) / 1e4))
    if len(levels) > LEVELS:
        levels = np.unique(np.quantile(levels, np.linspace(0, 1, LEVELS), method="lower"))
    accepted = probability[None] >= levels[:, None]
    outcome = np.where(accepted, right & ~is_nil, is_nil)

    def choose(part: Bools1d) -> int:
        if precision is None:
            return int(outcome[:, part].mean(axis=1).argmax())
        kept, hits = accepted[:, part].sum(axis=1), (accepted & right)[:, part].sum(axis=1)
        shares = np.where(kept >= FEWEST, hits / np.maximum(kept, 1), -1.0)  # of fewer answers a share says little
        fine = np.flatnonzero(shares >= precision)
        return int(fine[0] if len(fine) else shares.argmax())

    everywhere = np.ones(len(right), bool)
    best = choose(everywhere)
    if precision is not None and right[accepted[best]].mean() < precision:
        raise DataError(Errors.PRECISION_OUT_OF_REACH.format(
            wanted=precision, reached=float(right[accepted[best]].mean()), n=int(accepted[best].sum())
        ))  # fmt: skip
    values = outcome.mean(axis=1)
    curve: list[Setting] = [
        {"threshold": float(level), "value": float(value), "answered": float(kept.mean()),
         "precision": float(right[kept].mean()) if kept.any() else None}
        for level, value, kept in zip(levels, values, accepted, strict=True)
    ]  # fmt: skip
    honest = float(cross_fitted(outcome, fold, choose).mean())
    note = "" if precision is None else f"chosen for a precision of {precision:.0%}"
    if precision is None and best and honest <= values[0]:
        best, note = 0, "none: on other mentions than it was chosen on, it gains nothing"
    chosen = float(levels[best]) or None
    taken = everywhere if chosen is None else cross_fitted(accepted, fold, choose)
    before, after = {"threshold": None}, {"threshold": chosen}
    facts = (before, after, float(values[0]), float(values[best]), honest)
    return chosen, Step("threshold", "accuracy with NIL", len(right), *facts, curve, note), taken
