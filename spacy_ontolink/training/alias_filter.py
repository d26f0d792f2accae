"""The ontology-aware filter: an alias must be near its entity, and nearer than any neighbour (Sci-ZSEL, 5.2.2)."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..errors import DataError, Errors, Warnings, check_setting
from ..kb import KnowledgeBase
from ..types import Bools1d, Encoder, Floats1d
from .aliases import Alias
from .likeness import TOLERANCE, compare, encode_texts

TAU = 0.9  # the paper's, for BioLORD; see docs/benchmarks.md for other encoders
DRIFT, ANCHOR = "drift", "anchor"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Judged:
    """An alias with what the filter says of it.

    Attributes:
        alias: The alias.
        anchor: Similarity of the entity's name and the alias.
        drift: The highest similarity of a neighbour's name and the alias; -1 where there is no neighbour.
        neighbour: The id of the neighbour that won; "" where there is none.
        kept: Whether the alias passed.
        reason: Why not: "drift" (also where it is too far from its own name as well) or "anchor"; "" if it passed.
    """

    alias: Alias
    anchor: float
    drift: float
    neighbour: str
    kept: bool
    reason: str


class FilterCounts(NamedTuple):
    """How many aliases there were and passed, and how many each condition is against; ``both`` are in either one.

    ``drift`` + ``anchor`` - ``both`` are dropped.
    """

    aliases: int
    kept: int
    drift: int
    anchor: int
    both: int

    @property
    def retained(self) -> float:
        """The share that passed; 0 of none."""
        return self.kept / self.aliases if self.aliases else 0.0


def judge(
    kb: KnowledgeBase, aliases: Sequence[Alias], encoder: Encoder, *, tau: float = TAU, use_drift: bool = True
) -> list[Judged]:
    """Judge aliases: one passes if its likeness to its entity's name is at least ``tau`` and that to any neighbour's.

    Likeness is the cosine of the encoder's vectors of both as mentions. Neighbours are parents, children and siblings;
    where there are none, only ``tau`` decides. Memory grows with the number of distinct texts.

    Args:
        kb: The ontology.
        aliases: In any order.
        encoder: Any encoder, fitted.
        tau: The paper's 0.9 is for BioLORD; other encoders need another one.
        use_drift: False leaves out the condition on neighbours.

    Raises:
        ConfigError: ``tau`` is not within -1 to 1.
        DataError: An alias is of an entity that the knowledge base does not have.
    """
    check_setting("tau", tau, -1 <= tau <= 1, "a number from -1 to 1")
    owner = kb.numbers_of([alias.entity for alias in aliases])
    if (owner < 0).any():
        lost = dict.fromkeys(alias.entity for alias, number in zip(aliases, owner, strict=True) if number < 0)
        examples = ", ".join(list(lost)[:3])
        raise DataError(Errors.ALIASES_UNKNOWN.format(n=int((owner < 0).sum()), kb=kb.name, examples=examples))
    if not len(owner):
        return []
    if use_drift and not kb.parent_matrix.nnz:
        _log.warning(Warnings.NO_HIERARCHY.format(name=kb.name))
    alike = compare(kb, owner, encode_texts(kb, owner, [alias.text for alias in aliases], encoder))
    near = alike.neighbour >= 0
    ids = np.full(len(owner), "", object)
    ids[near] = kb.ids_of(alike.neighbour[near])
    drifts, far = failures(alike.anchor, alike.drift, tau)
    drifts &= use_drift
    reasons = np.where(drifts, DRIFT, np.where(far, ANCHOR, ""))
    columns = (alike.anchor.tolist(), alike.drift.tolist(), ids.tolist(), reasons.tolist())
    return [
        Judged(alias, round(anchor, 6), round(drift, 6), id, not reason, reason)
        for alias, anchor, drift, id, reason in zip(aliases, *columns, strict=True)
    ]


def failures(anchor: Floats1d, drift: Floats1d, tau: float) -> tuple[Bools1d, Bools1d]:
    """Return for each alias whether it drifts (``anchor < drift``), and whether it is too far (``anchor < tau``)."""
    return anchor < drift - TOLERANCE, anchor < tau - TOLERANCE


def count(judged: Iterable[Judged], tau: float = TAU) -> FilterCounts:
    """Count what each condition is against, be it the reason given or not.

    Args:
        judged: What ``judge`` said.
        tau: What they were judged with.
    """
    rows = [(item.anchor, item.drift, item.kept) for item in judged]
    anchor, drift, kept = np.array(rows, np.float32).reshape(-1, 3).T
    drifts, far = failures(anchor, drift, tau)
    return FilterCounts(len(rows), *(int(column.sum()) for column in (kept, drifts, far, drifts & far)))
