"""When to say NIL: a calibration and a threshold fitted to mentions some of which have no entity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..calibration import FEWEST, FEWEST_OF_A_KIND, Calibration, Method, features_of, fit_calibration, is_enough
from ..errors import DataError, Errors
from ..metrics import auroc, evaluate_nil, expected_calibration_error, reliability
from ..types import Bools1d, Floats1d, Floats2d, Ints1d
from .grids import Setting, Step, cross_fitted, show
from .tuning import Pools

METHODS: tuple[Method, ...] = ("platt", "isotonic")
LEVELS = 200
"""The most thresholds tried."""


class Present(NamedTuple):
    """How a pipeline rejects before it is tuned.

    Attributes:
        thresholds: Its thresholds by name, ``threshold`` being that of the probability.
        accepted: The mentions that it accepts, (B,).
        stays: Whether they may stay beside a new calibration, as that of a retriever may.
    """

    thresholds: Setting
    accepted: Bools1d
    stays: bool


@dataclass(frozen=True)
class Rejection:
    """What was fitted, and how well it holds on mentions it was not fitted on.

    Attributes:
        calibration: Fitted on all mentions.
        threshold: On its probability; None accepts every mention that has candidates.
        keeps: Whether the present thresholds stay, since no other does better on other mentions.
        probability: Of each mention's first candidate, (B,), by calibrations fitted without the mention; -1 for none.
        steps: Calibration and threshold as steps of tuning.
        measures: NIL, AUROC and calibration, and the bins of the reliability plot.
    """

    calibration: Calibration
    threshold: float | None
    keeps: bool
    probability: Floats1d
    steps: list[Step]
    measures: dict[str, Any]


def tune_rejection(
    pools: Pools, fused: Floats2d, is_nil: Bools1d, precision: float | None = None, present: Present | None = None
) -> Rejection:
    """Fit calibration and threshold; everything that is reported is cross-fitted.

    A mention without candidates is answered ``NIL``, whatever the threshold; nothing is fitted to it.

    Args:
        pools: Pools of all mentions, those without an entity included.
        fused: Their fused scores, (B, K).
        is_nil: Which mentions have no entity, (B,).
        precision: Accept as much as possible at this precision, of ``FEWEST`` answers at least; None for the highest
            accuracy, in which a ``NIL`` rightly said counts as right.
        present: How the pipeline rejects now, if it does.

    Raises:
        DataError: There is too little to calibrate on, or no threshold reaches the precision.
    """
    some = np.asarray(pools.valid.any(axis=1))
    own, own_fused = pools.take(some), fused[some]
    first = own.first(own_fused)
    right = np.asarray(own.right[np.arange(len(first)), first])
    _check_enough(right, own.fold)
    features = features_of(own_fused, own.views, own.valid, first)
    found = {method: _cross_fitted(features, right, own.fold, method) for method in METHODS}
    method = min(METHODS, key=lambda name: float(((found[name] - right) ** 2).mean()))
    fitted = fit_calibration(features, right, method)
    calibration = Step(
        "calibration",
        "auroc",
        len(right),
        {"method": None},
        {"method": method},
        auroc(np.nan_to_num(features["fused"], nan=-np.inf), right),
        auroc(fitted.probability(features), right),
        auroc(found[method], right),
        [{"method": name, "value": auroc(values, right), "brier": float(((values - right) ** 2).mean()),
          "ece": expected_calibration_error(values, right)} for name, values in found.items()],
        "before: by the fused score",
    )  # fmt: skip
    probability, is_right = np.full(len(some), -1, np.float32), np.zeros(len(some), bool)
    probability[some], is_right[some] = found[method], right
    threshold, keeps, step, accepted = _threshold(probability, is_right, is_nil, pools.fold, precision, present)
    measures = {
        **evaluate_nil(is_nil, ~accepted, is_right),
        "without_candidates": int((~some).sum()),
        "nil_auroc": auroc(-probability, is_nil),
        "answer_auroc": calibration.cross_fitted,
        "expected_calibration_error": expected_calibration_error(found[method], right),
        "precision": float(is_right[accepted].mean()) if accepted.any() else None,
        "answered": float(accepted.mean()),
        "threshold": threshold,
        "reliability": reliability(found[method], right),
    }
    return Rejection(fitted, threshold, keeps, probability, [calibration, step], measures)


def _check_enough(right: Bools1d, fold: Ints1d) -> None:
    """Check that there is enough to fit to, with and without each fold.

    Raises:
        DataError: There is not.
    """
    inside = [np.zeros(len(right), bool), *(fold == number for number in np.unique(fold))]
    for apart in inside:
        left = right[~apart]
        if not is_enough(left):
            facts = {"n": len(left), "right": int(left.sum()), "least": FEWEST, "kind": FEWEST_OF_A_KIND}
            reason = Errors.FEW_TO_CALIBRATE.format(**facts)
            n, n_apart = len(right), int(apart.sum())
            raise DataError(Errors.FEW_OTHERS.format(n=n, apart=n_apart, reason=reason) if n_apart else reason)


def _cross_fitted(features: dict[str, Floats1d], right: Bools1d, fold: Ints1d, method: Method) -> Floats1d:
    """Probabilities from calibrations fitted on the other folds, (B,)."""
    result = np.zeros(len(right), np.float32)
    for number in np.unique(fold):
        inside = fold == number
        fitted = fit_calibration({name: values[~inside] for name, values in features.items()}, right[~inside], method)
        result[inside] = fitted.probability({name: values[inside] for name, values in features.items()})
    return result


def _threshold(
    probability: Floats1d,
    right: Bools1d,
    is_nil: Bools1d,
    fold: Ints1d,
    precision: float | None,
    present: Present | None,
) -> tuple[float | None, bool, Step, Bools1d]:
    """Return the threshold, whether the present ones stay, the step, and the mentions accepted, (B,).

    A new threshold accepts what is accepted by those chosen on the other folds.
    """
    known = probability[probability >= 0].astype(np.float64)
    levels = np.unique(np.append(0.0, np.floor(known * 1e4) / 1e4))
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
    now = accepted[0] if present is None else present.accepted
    value_now = float(np.where(now, right & ~is_nil, is_nil).mean())
    said = [] if precision is None else [f"chosen for a precision of {precision:.0%}"]
    before: Setting = {"threshold": None} | (present.thresholds if present else {})
    said += [] if present is None else [f"before: {show(present.thresholds)}"]
    keeps = present is not None and present.stays and precision is None and honest <= value_now
    if keeps:
        said.append("kept: on other mentions than it was chosen on, none on the new probability gains more")
    elif precision is None and best and honest <= values[0]:
        best = 0
        said.append("none: on other mentions than it was chosen on, it gains nothing")
    chosen = None if keeps else float(levels[best]) or None
    taken = now if keeps else accepted[0] if chosen is None else cross_fitted(accepted, fold, choose)
    after = before if keeps else dict.fromkeys(before) | {"threshold": chosen}
    facts = (before, after, value_now, value_now if keeps else float(values[best]), honest)
    step = Step("threshold", "accuracy with NIL", len(right), *facts, curve, "; ".join(said))
    return chosen, keeps, step, taken
