"""The retriever's settings as one checked value."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..errors import ConfigError, Errors

Filter = Mapping[str, Sequence[str]]
"""Which entities may be candidates: ids' ``prefixes``, ``branches`` (a root and its descendants), ``types``."""

_NUMBERS = ("k", "batch_size", "pooling", "name_pooling", "threshold", "n_context", "n_sents")
FILTER_KEYS = ("prefixes", "branches", "types")


@dataclass(frozen=True, slots=True)
class RetrieverSettings:
    """What ``make_retriever`` documents.

    Raises:
        ConfigError: A setting makes no sense; the message lists all that do not.
    """

    k: int = 64
    weights: Sequence[float] = (1.0, 0.0, 0.0)
    pooling: float = 0.0
    name_pooling: float = 0.5
    spans_key: str | None = None
    labels: Sequence[str] | None = None
    labels_discard: Sequence[str] = ()
    filters: Filter | None = None
    label_filters: Mapping[str, Filter] = field(default_factory=dict)
    threshold: float | None = None
    overwrite: bool = True
    batch_size: int = 128
    abbreviations: bool = True
    composites: bool = False
    n_context: int = 64
    n_sents: int | None = None

    def __post_init__(self) -> None:
        problems = [
            Errors.SETTING.format(setting=setting, value=value, reason=reason)
            for setting, value, reason in self._problems()
        ]
        if problems:
            raise ConfigError("; ".join(problems))

    def _problems(self) -> list[tuple[str, object, str]]:
        numbers = {setting: value for setting in _NUMBERS if (value := getattr(self, setting)) is not None}
        if wrong := {setting: value for setting, value in numbers.items() if not isinstance(value, int | float)}:
            return [(setting, value, "a number is wanted") for setting, value in wrong.items()]
        checks: list[tuple[bool, str, object, str]] = [
            (self.k < 1, "k", self.k, "at least one candidate is needed"),
            (self.batch_size < 1, "batch_size", self.batch_size, "at least 1"),
            (self.n_context < 0, "n_context", self.n_context, "a number of tokens, 0 or more"),
            (self.n_sents is not None and self.n_sents < 0, "n_sents", self.n_sents, "null, 0 or more"),
            (not 0 <= self.pooling < math.inf, "pooling", self.pooling, "0 (off) or a positive weight"),
            (not 0 <= self.name_pooling < math.inf, "name_pooling", self.name_pooling, "0 (off) or a positive weight"),
            (
                self.threshold is not None and not -1 <= self.threshold <= 1,
                "threshold",
                self.threshold,
                "null, or a cosine between -1 and 1",
            ),
            (self.spans_key == "", "spans_key", self.spans_key, "null for doc.ents, or the key of a span group"),
            (
                len(self.weights) != 3 or not all(0 <= weight < math.inf for weight in self.weights),
                "weights",
                self.weights,
                "three weights, 0 or more: of the mention, its standard name and its hypernym",
            ),
            (not any(self.weights), "weights", self.weights, "one of them must be above 0"),
        ]
        problems = [(setting, value, reason) for wrong, setting, value, reason in checks if wrong]
        filters = {"filters": self.filters or {}} | {
            f"label_filters.{label}": value for label, value in self.label_filters.items()
        }
        return problems + [problem for name, value in filters.items() for problem in _filter_problems(name, value)]


def _filter_problems(name: str, value: Filter) -> list[tuple[str, object, str]]:
    problems: list[tuple[str, object, str]] = []
    for key, ids in value.items():
        if key not in FILTER_KEYS:
            problems.append((f"{name}.{key}", ids, f"the keys of a filter are {', '.join(FILTER_KEYS)}"))
        elif isinstance(ids, str):
            problems.append((f"{name}.{key}", ids, "a list is wanted"))
    return problems
