"""How probable it is that the first candidate is right: neither paper has it, and no raw score says it.

Of what one can see of a first candidate, its score in each view and its lead over the best other one tell most: on
held-out synonyms and on annotated mentions alike they rank right answers better than the fused score, which is
relative to its own pool and so hardly knows a mention without entity. A logistic regression makes one number of them
(Platt scaling with several inputs); an isotonic regression may then bend it to the observed frequencies.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from .errors import ConfigError, DataError, Errors
from .types import Bools1d, Floats1d, Floats2d, Ints1d

Method = Literal["platt", "isotonic"]

LEAD = "_lead"
"""What ends the name of a feature that is the lead over the best other candidate."""

FEWEST, FEWEST_OF_A_KIND = 20, 5
"""Mentions, and right and wrong ones among them, without which nothing can be said."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """A fitted calibration in plain numbers, as a config stores it.

    Attributes:
        features: Names of the features: ``fused``, views, and either with ``_lead``.
        means, scales: What standardises them.
        weights: Of the standardised features, 0 or more, so that a better score never makes an answer less probable.
        bias: Added to their sum, which is then the log-odds, unless there are knots.
        knots: The sum, ascending.
        levels: The probability at each knot, never falling; in between it is interpolated.

    Raises:
        ConfigError: The numbers do not fit together.
    """

    features: tuple[str, ...]
    means: tuple[float, ...]
    scales: tuple[float, ...]
    weights: tuple[float, ...]
    bias: float
    knots: tuple[float, ...] = ()
    levels: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        lists = (self.means, self.scales, self.weights)
        numbers = [*self.means, *self.scales, *self.weights, self.bias, *self.knots, *self.levels]
        fine = (
            all(len(values) == len(self.features) for values in lists)
            and len(self.knots) == len(self.levels)
            and all(isinstance(number, int | float) and math.isfinite(number) for number in numbers)
            and all(scale > 0 for scale in self.scales)
            and all(weight >= 0 for weight in self.weights)
            and list(self.knots) == sorted(self.knots)
            and list(self.levels) == sorted(self.levels)
            and all(0 <= level <= 1 for level in self.levels)
        )
        if not fine:
            wanted = "the numbers that 'ontolink tune' wrote, unchanged"
            raise ConfigError(Errors.SETTING_VALUE.format(setting="calibration", given=asdict(self), wanted=wanted))

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Calibration:
        """Read what ``to_config`` wrote.

        Raises:
            ConfigError: Something is missing, unknown or makes no sense.
        """
        values: dict[str, Any] = {key: tuple(v) if isinstance(v, list | tuple) else v for key, v in config.items()}
        try:
            return cls(**values)
        except TypeError as error:
            wanted = f"what 'ontolink tune' wrote ({error})"
            raise ConfigError(
                Errors.SETTING_VALUE.format(setting="calibration", given=dict(config), wanted=wanted)
            ) from error

    def to_config(self) -> dict[str, Any]:
        """Return plain lists and numbers."""
        return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}

    @property
    def views(self) -> frozenset[str]:
        """The views whose scores have weight in it."""
        used = {name.removesuffix(LEAD) for name, weight in zip(self.features, self.weights, strict=True) if weight}
        return frozenset(used - {"fused"})

    def probability(self, features: Mapping[str, Floats1d]) -> Floats1d:
        """Return how probable it is that each first candidate is right, (B,).

        A feature that is missing, or NaN or infinite, counts as average.
        """
        total = self._sum(features)
        if self.knots:
            return np.asarray(np.interp(total, self.knots, self.levels), np.float32)
        return np.asarray(1 / (1 + np.exp(-np.clip(total, -30, 30))), np.float32)

    def _sum(self, features: Mapping[str, Floats1d]) -> np.ndarray:
        table = _table(features, self.features)
        standard = (table - np.array(self.means)) / np.array(self.scales)
        known = np.where(np.isfinite(standard), standard, 0.0)
        return np.asarray(known @ np.array(self.weights, np.float64) + self.bias)


def features_of(
    fused: Floats2d, views: Mapping[str, Floats2d], valid: np.ndarray, first: Ints1d | None = None
) -> dict[str, Floats1d]:
    """Describe the first candidate of each of B pools: its scores and leads by view, and its fused score, (B,) each.

    Args:
        fused: Fused scores, (B, K).
        views: Scores by view, (B, K) each, NaN where there is none.
        valid: Which places hold a candidate, (B, K).
        first: The place of the first candidate, (B,); by default that of the highest fused score.
    """
    at = np.arange(len(fused))
    top = np.argmax(np.where(valid, fused, -np.inf), axis=1) if first is None else first
    features: dict[str, Floats1d] = {"fused": np.where(valid[at, top], fused[at, top], np.nan).astype(np.float32)}
    for view, scores in views.items():
        known = np.where(valid & np.isfinite(scores), scores, np.nan)
        own = known[at, top]
        rest = np.where(np.isnan(known), -np.inf, known)
        rest[at, top] = -np.inf
        best = rest.max(axis=1, initial=-np.inf)
        features[view] = own.astype(np.float32)
        features[view + LEAD] = np.where(np.isfinite(best), own - best, np.nan).astype(np.float32)
    return features


def is_enough(right: Bools1d) -> bool:
    """Whether there are enough mentions, and enough right and wrong ones among them, (B,), to calibrate on."""
    n, n_right = len(right), int(np.sum(right))
    return n >= FEWEST and min(n_right, n - n_right) >= FEWEST_OF_A_KIND


def fit_calibration(features: Mapping[str, Floats1d], right: Bools1d, method: Method = "isotonic") -> Calibration:
    """Fit a calibration.

    Args:
        features: What ``features_of`` says of B first candidates.
        right: Whether each is right, (B,).
        method: ``platt`` for the logistic regression alone, ``isotonic`` for both.

    Raises:
        DataError: There are too few mentions, or too few right or wrong ones among them.
    """
    from sklearn.isotonic import IsotonicRegression

    right = np.asarray(right, bool)
    n, n_right = len(right), int(right.sum())
    if not is_enough(right):
        raise DataError(Errors.FEW_TO_CALIBRATE.format(n=n, right=n_right, least=FEWEST, kind=FEWEST_OF_A_KIND))
    names = [name for name, values in features.items() if np.isfinite(values).any()]
    table = _table(features, names)
    known = np.where(np.isfinite(table), table, np.nan)
    means, scales = np.nanmean(known, axis=0), np.nanstd(known, axis=0)
    standard = np.nan_to_num((known - means) / np.where(scales > 0, scales, 1.0))
    weights, bias = _logistic(standard, right)
    used = np.flatnonzero(weights)
    plain = Calibration(
        tuple(names[column] for column in used),
        tuple(means[used].tolist()),
        tuple(scales[used].tolist()),
        tuple(weights[used].tolist()),
        bias,
    )
    if method == "platt" or not len(used):
        return plain
    total = plain._sum(features)
    stairs = IsotonicRegression(out_of_bounds="clip").fit(total, right)
    sure = 1 / (n + 2)  # no number of mentions makes anything certain
    return Calibration(
        *(plain.features, plain.means, plain.scales, plain.weights, bias),
        knots=tuple(np.asarray(stairs.X_thresholds_, float).tolist()),
        levels=tuple(np.clip(np.asarray(stairs.y_thresholds_, float), sure, 1 - sure).tolist()),
    )


def _logistic(standard: np.ndarray, right: Bools1d) -> tuple[np.ndarray, float]:
    """Fit weights of 0 or more: features are left out, the worst first, until none counts against itself."""
    from sklearn.linear_model import LogisticRegression

    columns = [column for column in range(standard.shape[1]) if standard[:, column].any()]
    weights = np.zeros(standard.shape[1])
    while columns:
        model = LogisticRegression(max_iter=1000).fit(standard[:, columns], right)
        found = model.coef_[0]
        if found.min() > 0:
            weights[columns] = found
            return weights, float(model.intercept_[0])
        columns.pop(int(found.argmin()))
    share = right.mean()
    return weights, float(np.log(share / (1 - share)))


def _table(features: Mapping[str, Floats1d], names: Sequence[str]) -> np.ndarray:
    """Put features side by side, (B, F); a missing one is NaN."""
    n = len(next(iter(features.values()), ()))
    unknown = np.full(n, np.nan)
    columns = [np.asarray(features.get(name, unknown), np.float64) for name in names]
    return np.stack(columns, axis=1) if columns else np.zeros((n, 0))
