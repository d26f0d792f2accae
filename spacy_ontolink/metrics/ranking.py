"""How good rankings are, and how a mention's wording relates to the names of its entity."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
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
