"""How well mentions without an entity are told from the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


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
