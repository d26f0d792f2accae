"""How good rankings are, in all and by overlap; how well probabilities and NIL hold."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

Overlap = Literal["HO", "LO", "NO"]

RECALL_AT = (1, 5, 50, 64)
"""The depths both papers report: PILOT pools 50 candidates, Sci-ZSEL 64."""

OVERLAPS: tuple[Overlap, ...] = ("HO", "LO", "NO")

_WORD = re.compile(r"[a-z0-9]+")
# Scripts without spaces give one long run; each ideograph carries meaning by itself.
_OTHER = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]|[^\s\u3400-\u9fff\uf900-\ufaff]+")


def overlap(mention: str, names: Sequence[str]) -> Overlap:
    """Say how a mention's wording relates to the gold entities' primary names; any of them may satisfy (section 8).

    HO: the lower-cased mention is a substring of a name. LO: it shares a token ``[a-z0-9]+`` with one; a mention
    without such tokens is compared by its words in its own script (by ideographs where there are no spaces).
    NO: neither.
    """
    mention, names = mention.lower().strip(), [name.lower() for name in names]
    if mention and any(mention in name for name in names):
        return "HO"
    words = set(_WORD.findall(mention))
    if words:
        return "LO" if any(words.intersection(_WORD.findall(name)) for name in names) else "NO"
    words = _other_words(mention)
    return "LO" if any(words & _other_words(name) for name in names) else "NO"


def _other_words(text: str) -> set[str]:
    # Marks stay with their letters (vowel signs of Indic scripts are no word characters to `re`).
    letters = "".join(c if unicodedata.category(c)[0] in "LMN" else " " for c in unicodedata.normalize("NFKC", text))
    return set(_OTHER.findall(letters))


def rank_of_gold(ranked: Sequence[str], gold: Sequence[str]) -> int:
    """Return the 1-based rank of the first gold id in ``ranked``, or 0 when none is there."""
    wanted = set(gold)
    return next((rank for rank, id in enumerate(ranked, start=1) if id in wanted), 0)


def summarise(ranks: Sequence[int] | np.ndarray, at: Sequence[int] = RECALL_AT) -> dict[str, Any]:
    """Summarise ranks (1-based, 0 = not found) as n, recall_at_k and mrr; the measures of no mention are None."""
    found = np.asarray(ranks, dtype=np.int64)
    n = len(found)
    result: dict[str, Any] = {"n": n}
    for k in at:
        result[f"recall_at_{k}"] = float(np.mean((found > 0) & (found <= k))) if n else None
    reciprocal = np.divide(1.0, found, out=np.zeros(n), where=found > 0)
    result["mrr"] = float(reciprocal.mean()) if n else None
    return result


def evaluate_ranking(
    mentions: Sequence[str],
    gold: Sequence[Sequence[str]],
    ranked: Sequence[Sequence[str]],
    *,
    resolve: Callable[[str], str | None] = lambda id: id,
    name_of: Callable[[str], str] = lambda id: "",
    at: Sequence[int] = RECALL_AT,
) -> dict[str, Any]:
    """Measure rankings against gold ids, every mention counting once, repeated ones included.

    Args:
        mentions: Their texts, (B,).
        gold: The gold ids of each mention, any of them counts. A mention without is counted in ``n_without_gold`` only.
        ranked: The candidate ids of each mention, best first.
        resolve: Gives the live id of a gold id, or None for one that the knowledge base does not know; a mention with
            only unknown ids counts as wrong, in stratum NO.
        name_of: Gives the primary name of a live id.
        at: Depths of recall.

    Returns:
        ``n``, ``recall_at_k`` for each depth, ``mrr``, the same ``by_overlap`` for HO, LO and NO, and the counts
        ``n_without_gold``, ``n_unknown_gold`` (mentions all of whose ids are unknown), ``gold_ids_unknown`` and
        ``gold_ids_resolved`` (distinct ids that are unknown, or led to another id).
    """
    ranks: list[int] = []
    strata: list[Overlap] = []
    live_of: dict[str, str | None] = {}
    unknown_mentions = 0
    for mention, ids, candidates in zip(mentions, gold, ranked, strict=True):
        if not ids:
            continue
        for id in ids:
            if id not in live_of:
                live_of[id] = resolve(id)
        live = [found for id in ids if (found := live_of[id]) is not None]
        unknown_mentions += not live
        ranks.append(rank_of_gold(candidates, live))
        strata.append(overlap(mention, [name_of(id) for id in live]))
    by_stratum = np.asarray(strata, dtype="U2")
    array = np.asarray(ranks, dtype=np.int64)
    return {
        **summarise(array, at),
        "by_overlap": {stratum: summarise(array[by_stratum == stratum], at) for stratum in OVERLAPS},
        "n_without_gold": len(mentions) - len(ranks),
        "n_unknown_gold": unknown_mentions,
        "gold_ids_unknown": sum(live is None for live in live_of.values()),
        "gold_ids_resolved": sum(live is not None and live != id for id, live in live_of.items()),
    }


def auroc(scores: Sequence[float] | np.ndarray, positive: Sequence[bool] | np.ndarray) -> float | None:
    """Return the chance that a positive scores above a negative, ties counting half; None if one of them is missing."""
    values, mask = np.asarray(scores, np.float64), np.asarray(positive, bool)
    n_positive, n_negative = int(mask.sum()), int((~mask).sum())
    if not n_positive or not n_negative:
        return None
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - (counts - 1) / 2  # the mean rank, from 1, of equal values
    return float((middle[place][mask].sum() - n_positive * (n_positive + 1) / 2) / (n_positive * n_negative))


def reliability(
    probabilities: Sequence[float] | np.ndarray, correct: Sequence[bool] | np.ndarray, bins: int = 10
) -> list[dict[str, Any]]:
    """Compare claimed with actual accuracy in bins of equal width.

    Returns:
        For each bin that is not empty ``from``, ``to``, ``n``, the mean ``probability`` and the ``accuracy``.
    """
    claimed, right = np.asarray(probabilities, np.float64), np.asarray(correct, bool)
    number = np.clip((claimed * bins).astype(int), 0, bins - 1)
    rows: list[dict[str, Any]] = []
    for bin in np.unique(number).tolist():
        inside = number == bin
        rows.append(
            {
                "from": bin / bins,
                "to": (bin + 1) / bins,
                "n": int(inside.sum()),
                "probability": float(claimed[inside].mean()),
                "accuracy": float(right[inside].mean()),
            }
        )
    return rows


def expected_calibration_error(
    probabilities: Sequence[float] | np.ndarray, correct: Sequence[bool] | np.ndarray, bins: int = 10
) -> float | None:
    """Return the mean gap between claimed and actual accuracy, weighted by bin; None of nothing."""
    rows = reliability(probabilities, correct, bins)
    total = sum(row["n"] for row in rows)
    return sum(row["n"] * abs(row["probability"] - row["accuracy"]) for row in rows) / total if total else None


def evaluate_nil(
    is_nil: Sequence[bool] | np.ndarray, said_nil: Sequence[bool] | np.ndarray, correct: Sequence[bool] | np.ndarray
) -> dict[str, Any]:
    """Measure how well mentions without an entity are told from the others.

    Args:
        is_nil: Whether the mention has no entity, (B,).
        said_nil: Whether the answer was ``NIL``, (B,).
        correct: Whether the best candidate is right, (B,); where it is right and ``NIL`` was said, a link is lost.

    Returns:
        ``n``, ``n_nil``, ``nil_precision``, ``nil_recall``, ``nil_f1`` (None where there is nothing to divide by), and
        ``accuracy``, in which a ``NIL`` rightly said counts as right.
    """
    gold, said, right = (np.asarray(values, bool) for values in (is_nil, said_nil, correct))
    hits = int((gold & said).sum())
    precision = hits / int(said.sum()) if said.any() else None
    recall = hits / int(gold.sum()) if gold.any() else None
    return {
        "n": len(gold),
        "n_nil": int(gold.sum()),
        "nil_precision": precision,
        "nil_recall": recall,
        "nil_f1": 2 * hits / int(gold.sum() + said.sum()) if gold.any() or said.any() else None,
        "accuracy": float(np.where(said, gold, right & ~gold).mean()) if len(gold) else None,
    }
