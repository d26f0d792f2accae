"""A choice among settings by what they get right, and how much of its gain holds on mentions it was not made on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from ..text import normalise
from ..types import Bools1d, Ints1d

Setting = dict[str, Any]

POOLING = tuple(round(0.1 * step, 1) for step in range(6))
"""PILOT's grid of lambda, the simplest first, as are the others."""

WORDING = (0.03, 0.0, 0.01, 0.02, 0.05, 0.07, 0.1)
"""Our grid of the weight of words that differ, the default first."""

ALPHAS = (0.0, 1.0, *(round(0.05 * step, 2) for step in range(1, 20)))
"""PILOT's grid of alpha; the ends need one model less."""

FOLDS = 5


def weight_grid() -> list[list[float]]:
    """Return PILOT's grid of (w_m, w_s, w_h), which sum to 1: w_m from 1 to 0.3, w_s : w_h in 1:0, 1:1 and 0:1."""
    grid = [[1.0, 0.0, 0.0]]
    for tenths in range(9, 2, -1):
        rest = 1 - tenths / 10
        grid += [[tenths / 10, round(rest * share, 2), round(rest * (1 - share), 2)] for share in (1, 0.5, 0)]
    return grid


@dataclass(frozen=True, slots=True)
class Step:
    """One step of tuning, in plain values.

    Attributes:
        name: What was tuned.
        measure: By what; all values are shares from 0 to 1.
        n: The mentions it was measured on.
        before, after: The settings; equal where nothing was to be gained.
        value_before, value_after: The measure with either, on the mentions they were chosen on.
        cross_fitted: The measure if each fifth of the mentions gets the setting that is best on the others: what the
            choice is worth on new mentions.
        curve: The settings tried, with the measure under ``value``.
        note: What else is to be said.
    """

    name: str
    measure: str
    n: int
    before: Setting
    after: Setting
    value_before: float | None
    value_after: float | None
    cross_fitted: float | None
    curve: list[Setting] = field(default_factory=list)
    note: str = ""

    @property
    def changed(self) -> bool:
        """Whether the settings change."""
        return self.before != self.after

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)


def folds(texts: Sequence[str], seed: int = 0) -> Ints1d:
    """Deal mentions to ``FOLDS`` folds, (B,), equal texts to one: what was chosen on a text must not be tried on it."""
    _, place = np.unique([normalise(text) for text in texts], return_inverse=True)
    order = np.random.default_rng(seed).permutation(int(place.max()) + 1 if len(place) else 0)
    return np.asarray(order[place] % FOLDS, np.int32) if len(place) else np.zeros(0, np.int32)


def cross_fitted(right: np.ndarray, fold: Ints1d, choose: Callable[[Bools1d], int], present: int = 0) -> np.ndarray:
    """Return for each mention whether it goes right with the setting chosen on the other folds, (B,).

    Args:
        right: Whether each setting gets each mention right, (G, B).
        fold: The fold of each mention, (B,).
        choose: Chooses the number of a setting by the mentions marked, (B,).
        present: The number of the setting where there is no other fold to choose on.
    """
    result = np.zeros(right.shape[1], right.dtype)
    for number in np.unique(fold):
        inside = fold == number
        result[inside] = right[choose(~inside), inside] if not inside.all() else right[present, inside]
    return result


def tune_grid(
    name: str,
    measure: str,
    grid: Sequence[Setting],
    right_of: Callable[[Setting], Bools1d],
    *,
    present: Mapping[str, Any],
    fold: Ints1d,
    tick: Callable[[int, int], None] | None = None,
) -> Step:
    """Try all settings of a grid, and take the best if its gain holds on mentions that it was not chosen on.

    Of equally good settings the first wins, so a grid has its simplest ones first.

    Args:
        name: What is tuned.
        measure: The name of the mean of ``right_of``.
        grid: The settings.
        right_of: Says whether each of B mentions goes right with a setting.
        present: The settings before; if they are not on the grid, they are tried, too.
        fold: The fold of each mention, (B,).
        tick: Called with the number of settings tried and of those to try.
    """
    before = dict(present)
    settings = [*grid, *([] if before in grid else [before])]
    rows = []
    for number, setting in enumerate(settings, start=1):
        rows.append(right_of(setting))
        if tick:
            tick(number, len(settings))
    right = np.stack(rows)
    if not right.shape[1]:
        return Step(name, measure, 0, before, before, None, None, None, note="no mention to tune on")
    values = right.mean(axis=1)
    old = settings.index(before)
    best = int(values.argmax())
    honest = float(cross_fitted(right, fold, lambda part: int(right[:, part].mean(axis=1).argmax()), old).mean())
    curve = [setting | {"value": float(value)} for setting, value in zip(settings, values, strict=True)]
    note = ""
    if honest <= values[old]:
        note = (
            "" if best == old else f"kept: on other mentions than it was chosen on, {show(settings[best])} gains none"
        )
        best = old
    facts = (dict(settings[best]), float(values[old]), float(values[best]), honest)
    return Step(name, measure, right.shape[1], before, *facts, curve, note)


def show(setting: Setting) -> str:
    """Say a setting in words."""
    return ", ".join(f"{key} = {value}" for key, value in setting.items())
