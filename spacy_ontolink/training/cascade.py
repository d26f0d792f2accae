"""How many mentions may do without the context stage: the leads at which the answer before it is as good."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..types import Bools1d, Floats1d, Floats2d
from .grids import Setting, Step, cross_fitted
from .tuning import Pools

OFF: Setting = {"cascade_exact": False, "cascade_margin": None}


def passed_over(rule: Mapping[str, Any], decided: Bools1d, lead: Floats1d) -> Bools1d:
    """Say which mentions a cascade passes over, (B,).

    Args:
        rule: Its ``cascade_exact`` and ``cascade_margin``.
        decided: Which mentions are the unique name of their first candidate, (B,).
        lead: Of the first candidate over the second before the context stage, see ``leads``, (B,).
    """
    margin = rule["cascade_margin"]
    far = np.zeros(len(lead), bool) if margin is None else lead >= margin
    return np.asarray((decided & rule["cascade_exact"]) | far)


def tune_cascade(
    pools: Pools, base: str, context: str, weights: Mapping[str, float], decided: Bools1d, present: Setting = OFF
) -> Step:
    """Find the cascade that passes over most mentions at no loss of Recall@1.

    It is taken if, chosen on other mentions, it gains Recall@1 over the present one, or passes over more at no loss.

    Args:
        pools: Pools.
        base: The view whose lead decides.
        context: The view that costs.
        weights: Of the views in the mix.
        decided: Which mentions are the unique name of their first candidate, (B,).
        present: The present ``cascade_exact`` and ``cascade_margin``.
    """
    if not len(decided):
        return Step("cascade", "recall_at_1", 0, present, present, None, None, None, note="no mention to tune on")
    lead = leads(pools.views[base], pools.valid)
    rules = _rules(lead, present)
    passed = np.stack([passed_over(rule, decided, lead) for rule in rules])
    without = pools.seen(pools.views, {context: np.ones(len(decided), bool)})
    full, alone = pools.right_first(pools.fused(weights)), without.right_first(without.fused(weights))
    right = np.where(passed, alone, full)
    old = rules.index(present)

    def choose(part: Bools1d) -> int:
        values = right[:, part].mean(axis=1)
        fine = np.flatnonzero(values >= max(values[0], values[old]))
        return int(fine[passed[fine][:, part].mean(axis=1).argmax()])

    values, shares = right.mean(axis=1), passed.mean(axis=1)
    best = choose(np.ones(len(decided), bool))
    honest = float(cross_fitted(right, pools.fold, choose, old).mean())
    honest_share = float(cross_fitted(passed, pools.fold, choose, old).mean())
    kept = ""
    if best != old and not (honest > values[old] or (honest == values[old] and honest_share > shares[old])):
        kept = f"; kept: on other mentions than it was chosen on, passing over {shares[best]:.0%} gains none"
        best = old
    curve: list[Setting] = [
        rule | {"passed_over": float(share), "value": float(value)}
        for rule, share, value in zip(rules, shares, values, strict=True)
    ]
    facts = (dict(present), dict(rules[best]), float(values[old]), float(values[best]), honest)
    note = f"passes over {shares[best]:.0%} of the mentions{kept}"
    return Step("cascade", "recall_at_1", len(decided), *facts, curve, note)


def _rules(lead: Floats1d, present: Setting) -> Sequence[Setting]:
    """Return no cascade, exact names alone, these with margins at quantiles of the leads, and the present one."""
    known = lead[np.isfinite(lead) & (lead > 0)]
    levels = np.unique(np.round(np.quantile(known, np.linspace(0, 0.95, 20)), 4)) if len(known) else known
    margins = [None, *(float(level) for level in levels if level > 0)]
    rules = [OFF, *({"cascade_exact": True, "cascade_margin": margin} for margin in margins)]
    return rules if present in rules else [*rules, present]


def leads(scores: Floats2d, valid: np.ndarray) -> Floats1d:
    """Return the lead of the best over the second best, (B,); infinite for a single one, NaN for none."""
    known = np.where(valid & np.isfinite(scores), scores, -np.inf)
    ordered = -np.sort(-np.pad(known, ((0, 0), (0, 1)), constant_values=-np.inf), axis=1)
    with np.errstate(invalid="ignore"):
        return np.asarray(ordered[:, 0] - ordered[:, 1], np.float32)
