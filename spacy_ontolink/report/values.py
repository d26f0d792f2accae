"""What a report shows of one mention; nothing in it reaches back to a pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

BESIDE = {"long_form": "long form", "standard_name": "standard name", "hypernym": "hypernym"}
"""What people call the texts that were looked up beside a mention."""


class Neighbour(NamedTuple):
    """An entity next to a candidate in the hierarchy."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """One entity that the mention may mean.

    Attributes:
        scores: By view; None where the view did not score it.
        z: Of the views that the fusion mixed, over the whole pool.
        parents, children: The first few of them.
        n_parents, n_children: How many there are.
        probability: That it is right; of the first candidate, from a calibrated fusion.
    """

    rank: int
    id: str
    name: str
    matched: str
    scope: str
    scores: Mapping[str, float | None]
    z: Mapping[str, float] = field(default_factory=dict)
    parents: tuple[Neighbour, ...] = ()
    children: tuple[Neighbour, ...] = ()
    n_parents: int = 0
    n_children: int = 0
    probability: float | None = None

    @property
    def title(self) -> str:
        """Id and name, as sentences have them."""
        return f"{self.id} '{self.name}'"


@dataclass(frozen=True, slots=True)
class Explanation:
    """One mention, what was made of it, and why.

    Attributes:
        left, mention, right: The text around the mention, and its own.
        id: The answer: an id, ``NIL`` (looked up, none found) or "" (not looked up).
        texts: What was looked up beside the mention: ``long_form``, ``standard_name``, ``hypernym``.
        views: Whose scores there are, in the order of the pipeline; the last one decided.
        shares: Weights with which the last view mixed the others, which sum to 1; empty if it mixed none.
        ranges: The lowest and the highest score of each view in the whole pool.
        candidates: The best ones, best first.
        n_pool: How many candidates there are.
        reasons: Why this is the answer, in one or two sentences.
        notes: What else there is to know, such as a stage that had nothing to do.
    """

    left: str
    mention: str
    right: str
    label: str
    id: str
    texts: Mapping[str, str]
    views: tuple[str, ...]
    shares: Mapping[str, float]
    ranges: Mapping[str, tuple[float, float]]
    candidates: tuple[Candidate, ...]
    n_pool: int
    reasons: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def linked(self) -> Candidate | None:
        """The candidate that is the answer, if one is."""
        return next((candidate for candidate in self.candidates if candidate.id == self.id), None)


def number(value: float | None) -> str:
    """Write a score."""
    return "–" if value is None else f"{value:.3f}"


def apart(first: float, second: float) -> tuple[str, str]:
    """Write two numbers with as many decimals as it takes to tell them apart, from three to six."""
    for decimals in range(3, 7):
        texts = f"{first:.{decimals}f}", f"{second:.{decimals}f}"
        if texts[0] != texts[1]:
            break
    return texts
