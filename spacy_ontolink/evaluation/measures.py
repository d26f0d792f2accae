"""All measures of a run, with their intervals, as plain values ready for JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..components.spans import NIL
from ..kb.relations import KINDS
from ..metrics import (
    OVERLAPS,
    RECALL_AT,
    Resampling,
    evaluate_nil,
    expected_calibration_error,
    reliability,
    summarise,
)
from .outcomes import Outcome

EXAMPLES = 5
"""Ids that are named beside their number."""


def measures_of(outcomes: Sequence[Outcome], resampling: Resampling) -> dict[str, Any]:
    """Measure a run, every mention counting once, repeated ones included.

    Recall and MRR are over the mentions that have a gold id; one whose ids are all unknown to the knowledge base is
    wrong whatever was found, in the stratum NO. ``nil`` is over all mentions; there a mention has an entity only if one
    of its ids is known.

    Args:
        outcomes: The mentions.
        resampling: Draws for the intervals, over the same mentions.

    Returns:
        ``n``, ``recall_at_k``, ``mrr`` and their ``intervals``, the same ``by_overlap``, ``by_label`` and
        ``by_namespace``; ``nil``; ``calibration`` (None without probabilities); ``composite``, how many of the ids of
        composite mentions were given (None if there is no such mention); ``relations`` of wrong answers to
        right ones; ``recall_curve``, by depth; how the intervals were made (``resampling``); and what was odd.
    """
    given = np.array([bool(one.gold) for one in outcomes], bool)
    ranks = np.array([one.rank for one in outcomes], np.int64)
    overlaps = _groups([(one.overlap,) for one in outcomes], OVERLAPS)
    labels, spaces = _groups([(one.label,) for one in outcomes]), _groups([one.namespaces for one in outcomes])
    parts = [given, *(mask & given for group in (overlaps, labels, spaces) for mask in group.values())]
    found = iter(_summaries(ranks, parts, resampling))
    return {
        **next(found),
        "by_overlap": {name: next(found) for name in overlaps},
        "by_label": {name: next(found) for name in labels},
        "by_namespace": {name: next(found) for name in spaces},
        "nil": _nil(outcomes, ranks == 1, resampling),
        "calibration": _calibration(outcomes),
        "composite": _composite(outcomes),
        "relations": _relations(outcomes),
        "recall_curve": recall_by_depth(ranks[given]),
        "resampling": resampling.facts(),
        **_odd(outcomes),
    }


def reached(ranks: np.ndarray) -> np.ndarray:
    """Return what each mention adds to recall at each depth of ``RECALL_AT`` and to the MRR, (B, 5)."""
    found = ranks > 0
    reciprocal = np.divide(1.0, ranks, out=np.zeros(len(ranks)), where=found)
    return np.stack([*(found & (ranks <= k) for k in RECALL_AT), reciprocal], axis=1).astype(np.float64)


MEASURES = (*(f"recall_at_{k}" for k in RECALL_AT), "mrr")
"""The names of the columns of ``reached``."""


def _groups(keys: Sequence[Sequence[str]], order: Sequence[str] = ()) -> dict[str, np.ndarray]:
    """Return which mentions belong to each group, the largest group first; a mention may belong to several."""
    counts = Counter(key for own in keys for key in own)
    names = order or [name for name, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
    return {name: np.array([name in own for own in keys], bool) for name in names}


def _summaries(ranks: np.ndarray, parts: Sequence[np.ndarray], resampling: Resampling) -> list[dict[str, Any]]:
    """Summarise parts of the mentions, with intervals from the same draws."""
    columns = reached(ranks).T
    tops = (column * part for part in parts for column in columns)
    bounds = iter(resampling.intervals(tops, (part for part in parts for _ in columns)))
    return [{**summarise(ranks[part]), "intervals": {name: next(bounds) for name in MEASURES}} for part in parts]


def _nil(outcomes: Sequence[Outcome], first_is_right: np.ndarray, resampling: Resampling) -> dict[str, Any]:
    is_nil = np.array([not one.live for one in outcomes], bool)
    said = np.array([one.answer in ("", NIL) for one in outcomes], bool)
    right = np.array([one.is_right for one in outcomes], bool)
    hits, everything = is_nil & said, np.ones(len(outcomes), bool)
    shares = {"nil_precision": (hits, said), "nil_recall": (hits, is_nil), "accuracy": (right, everything)}
    bounds = resampling.intervals(*zip(*shares.values(), strict=True))
    measured = evaluate_nil(is_nil, said, first_is_right)
    return {**measured, "n_said_nil": int(said.sum()), "intervals": dict(zip(shares, bounds, strict=True))}


def _calibration(outcomes: Sequence[Outcome]) -> dict[str, Any] | None:
    known = [(one.probability, one.rank == 1) for one in outcomes if one.probability is not None]
    if not known:
        return None
    claimed, right = np.array([p for p, _ in known]), np.array([is_right for _, is_right in known])
    return {
        "n": len(known),
        "expected_calibration_error": expected_calibration_error(claimed, right),
        "brier": float(((claimed - right) ** 2).mean()),
        "reliability": reliability(claimed, right),
    }


def _composite(outcomes: Sequence[Outcome]) -> dict[str, Any] | None:
    """Measure mentions whose parts have gold ids of their own, over ids: any gold id is not enough here."""
    several = [one for one in outcomes if one.composite and len(one.live) > 1]
    if not several:
        return None
    gold = [{entry.id for entry in one.live} for one in several]
    right = sum(len(ids.intersection(one.ids)) for one, ids in zip(several, gold, strict=True))
    given = sum(len(set(one.ids)) for one in several)
    return {
        "n": len(several),
        "id_precision": right / given if given else None,
        "id_recall": right / sum(map(len, gold)),
        "all_found": sum(ids <= set(one.ids) for one, ids in zip(several, gold, strict=True)) / len(several),
    }


def _relations(outcomes: Sequence[Outcome]) -> dict[str, int]:
    """Count what wrong answers are to the right ones."""
    counts = Counter(one.relation.kind for one in outcomes if one.relation)
    return {kind: counts[kind] for kind in KINDS if kind != "same"}


def recall_by_depth(ranks: Sequence[int] | np.ndarray) -> list[float]:
    """Return recall at every depth down to the greatest of ``RECALL_AT``; nothing of no mention."""
    found, deepest = np.asarray(ranks, np.int64), max(RECALL_AT)
    at = np.bincount(found[(found > 0) & (found <= deepest)], minlength=deepest + 1)[1:]
    shares: list[float] = (np.cumsum(at) / len(found)).tolist() if len(found) else []
    return shares


def _odd(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Count what is not as it should be, so that nothing is dropped silently."""
    leads = {id: now for one in outcomes for id, now in zip(one.gold, one.leads, strict=True)}
    unknown = sorted(id for id, now in leads.items() if not now)
    resolved = sorted((id, now) for id, now in leads.items() if now and now != id)
    return {
        "n_without_gold": sum(not one.gold for one in outcomes),
        "n_unknown_gold": sum(bool(one.gold) and not one.live for one in outcomes),
        "gold_ids_unknown": len(unknown),
        "gold_ids_resolved": len(resolved),
        "examples": {"unknown": unknown[:EXAMPLES], "resolved": [list(pair) for pair in resolved[:EXAMPLES]]},
        "n_not_looked_up": sum(not one.answer for one in outcomes),
        "mentions_without_token": sum(one.fit == "none" for one in outcomes),
        "mentions_widened": sum(one.fit == "widened" for one in outcomes),
    }
