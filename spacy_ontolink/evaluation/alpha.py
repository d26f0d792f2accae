"""How recall depends on the weight of the last view in the fusion (PILOT, section 3.3), with the views as they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..components.fuse import VIEWS, tables_of
from ..components.spans import NO_ANSWER, read_answer
from ..components.stage import Item
from ..documents import SPANS_KEY
from ..training.grids import ALPHAS
from ..training.tuning import Pools, mix
from .outcomes import Outcome

if TYPE_CHECKING:
    from spacy.tokens import Doc


def alpha_curve(docs: Iterable[Doc], outcomes: Sequence[Outcome], retriever: Any, fuser: Any) -> dict[str, Any] | None:
    """Mix the views anew with every alpha of the paper's grid, and with the present one.

    Nothing is computed again but the mix; what a cascade passed over stays without a context score.

    Args:
        docs: The linked documents.
        outcomes: What became of their mentions, in order.
        retriever: The retriever.
        fuser: The last stage.

    Returns:
        The ``views``, the last of which alpha weighs; the present ``alpha``; and ``curve``, a list of ``alpha`` and
        ``recall_at_1`` over the mentions that have a gold id. None unless two views have weight and scores.
    """
    spans = [span for doc in docs for span in doc.spans.get(SPANS_KEY, ())]
    chosen = [(span, one) for span, one in zip(spans, outcomes, strict=True) if one.gold]
    answers = [read_answer(span, SPANS_KEY, retriever.name) or NO_ANSWER for span, _ in chosen]
    views, valid, tie = tables_of([
        Item(span, span.doc.text, answer) for (span, _), answer in zip(chosen, answers, strict=True)
    ])  # fmt: skip
    weighed = {view: fuser.weights[view] for view in VIEWS if view in views and fuser.weights.get(view, 0) > 0}
    if len(weighed) < 2 or not valid.shape[1]:
        return None
    right = np.zeros(valid.shape, bool)
    for row, (_, one), answer in zip(right, chosen, answers, strict=True):
        wanted = {entry.id for entry in one.live}
        row[: len(answer.columns["id"])] = [id in wanted for id in answer.columns["id"]]
    pools = Pools(views, valid, right, tie, np.zeros(len(right), np.int32))
    *_, last = weighed
    total = sum(weighed.values())
    present = weighed[last] / total
    base = {view: weight / (total - weighed[last]) for view, weight in weighed.items() if view != last}
    curve = [
        {"alpha": alpha, "recall_at_1": float(pools.right_first(pools.fused(mix(base, last, alpha))).mean())}
        for alpha in sorted({*ALPHAS, present})
    ]
    return {"views": list(weighed), "alpha": present, "curve": curve}
