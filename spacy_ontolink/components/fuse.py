"""``ontolink_fuse``: mixes the views, says how sure the answer is, and rejects it if not sure enough (PILOT, 3.3)."""

# No "from __future__ import annotations" here: spaCy checks the config against this signature.
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from spacy.language import Language

from ..calibration import Calibration, features_of
from ..errors import ConfigError, Errors, check_setting
from ..fusion import EXACT_NAME, EXACT_SYNONYM, NOT_EXACT, batch_fuse, batch_order, check_weights, ties
from ..text import normalise
from .listening import ANY
from .spans import NIL, Answer
from .stage import Item, Stage, reranked, view_of

__all__ = ["Fuser", "make_fuse"]

VIEWS = ("retriever", "surface", "context")
_KINDS = {"NAME": EXACT_NAME, "EXACT": EXACT_SYNONYM}


class Fuser(Stage):
    """Mixes the z-scores of the views present, (1 - alpha) z(surface) + alpha z(context) in PILOT, and decides.

    Raises:
        ConfigError: The weights are unusable, or there is a threshold but no calibration for it to act on.
    """

    view = "fused"

    def __init__(
        self,
        name: str = "ontolink_fuse",
        weights: Mapping[str, float] | None = None,
        *,
        calibration: Mapping[str, Any] | None = None,
        threshold: float | None = None,
        upstream: str = ANY,
        batch_size: int = 128,
        nlp: Language | None = None,
    ) -> None:
        super().__init__(name, upstream, batch_size, nlp)
        self.weights = check_weights(weights or {"surface": 0.5, "context": 0.5})
        unknown = [view for view in self.weights if view not in VIEWS]
        check_setting("weights", unknown, not unknown, f"weights of these views only: {', '.join(VIEWS)}")
        self.calibration = Calibration.from_config(calibration) if calibration else None
        fine = threshold is None or 0 <= threshold <= 1
        check_setting("threshold", threshold, fine, "null, or a probability between 0 and 1")
        if threshold is not None and self.calibration is None:
            raise ConfigError(Errors.NO_CALIBRATION.format(name=name, threshold=threshold))
        self.threshold = threshold

    @property
    def decides(self) -> bool:
        """Always: what came after would undo the mix and the threshold."""
        return True

    def needs(self, view: str) -> bool:
        """Whether a view has weight, or a place in the calibration."""
        return self.weights.get(view, 0) > 0 or (self.calibration is not None and view in self.calibration.views)

    def revise(self, items: Sequence[Item]) -> list[Answer | None]:
        """Mix, rank, and reject what is less probable than the threshold."""
        views, valid, tie = tables_of(items)
        fused = batch_fuse(views, self.weights, valid)
        order = batch_order(fused, tie)
        counts = valid.sum(axis=1).tolist()
        answers = [
            reranked(item.answer, self.view, scores[:count], places[:count])
            for item, scores, places, count in zip(items, fused, order, counts, strict=True)
        ]
        if self.calibration is None:
            return [*answers]
        probability = self.calibration.probability(features_of(fused, views, valid, order[:, 0]))
        return [self._judge(answer, p) for answer, p in zip(answers, probability.tolist(), strict=True)]

    def _judge(self, answer: Answer, probability: float) -> Answer:
        """Note how probable the first candidate is, and reject it below the threshold."""
        count = len(answer.columns["id"])
        columns = answer.columns | {"probability": (probability, *[None] * (count - 1))}
        accepted = self.threshold is None or probability >= self.threshold
        return Answer(answer.id if accepted else NIL, columns, answer.texts)


def tables_of(items: Sequence[Item]) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    """Put the candidates of B mentions into tables, (B, K).

    Returns:
        Scores by view, NaN where there is none, of the views that any mention has; which places hold a candidate; and
        the places where scores do not decide (``fusion.ties``), those without a candidate last.
    """
    counts = [len(item.answer.columns["id"]) for item in items]
    valid = np.arange(max(counts, default=0)) < np.array(counts, int)[:, None]
    views = {view: table for view in VIEWS if (table := _table(items, view, valid)) is not None}
    tie = np.full(valid.shape, valid.shape[1], np.int32)
    for row, item, count in zip(tie, items, counts, strict=True):
        row[:count] = ties(_exactness(item))
    return views, valid, tie


def _table(items: Sequence[Item], view: str, valid: np.ndarray) -> np.ndarray | None:
    table = np.full(valid.shape, np.nan, np.float32)
    for row, item in zip(table, items, strict=True):
        scores = view_of(item.answer, view)
        if scores is not None:
            row[: len(scores)] = scores
    return table if np.isfinite(table).any() else None


def _exactness(item: Item) -> list[int]:
    """How each candidate's matched name meets the very text of the mention, or its long form.

    The retriever gives such a name the score 1, so that few others need to be compared.
    """
    columns = item.answer.columns
    kinds = [NOT_EXACT] * len(columns["id"])
    perfect = [place for place, score in enumerate(columns["scores"].get("retriever", ())) if score >= 1]
    texts = {normalise(text) for text in (item.mention().text, item.answer.texts.get("long_form", "")) if text}
    for place in perfect:
        if columns["scope"][place] in _KINDS and normalise(columns["matched"][place]) in texts:
            kinds[place] = _KINDS[columns["scope"][place]]
    return kinds


@Language.factory(
    "ontolink_fuse",
    assigns=["token.ent_kb_id", "span._.kb_ents", "span._.ontolink"],
    requires=["span._.ontolink"],
    default_config={
        "upstream": ANY,
        "weights": {"surface": 0.5, "context": 0.5},
        "calibration": None,
        "threshold": None,
        "batch_size": 128,
    },
)
def make_fuse(
    nlp: Language,
    name: str,
    upstream: str,
    weights: dict[str, float],
    calibration: dict[str, Any] | None,
    threshold: float | None,
    batch_size: int,
) -> Fuser:
    """Make the component that mixes the scores of the stages before it and decides.

    Args:
        nlp: The pipeline.
        name: The component's name.
        upstream: The name of the retriever whose candidates are decided on; "*" for the nearest before it.
        weights: By view ("retriever", "surface", "context"); (1 - alpha) and alpha in PILOT. A view that is not there
            leaves its share to the others; one without weight is not computed. If none of the views with weight is
            there, those that are decide.
        calibration: What makes probabilities of scores, as ``ontolink tune`` writes it; null for none.
        threshold: A first candidate that is less probable gives "NIL"; null for no threshold.
        batch_size: The most documents whose mentions are decided together.

    Source:
        PILOT (arXiv 2608.04144), section 3.3: the weighted sum of z-scores. Calibration and threshold are not in it.
    """
    return Fuser(
        name,
        weights,
        calibration=calibration,
        threshold=threshold,
        upstream=upstream,
        batch_size=batch_size,
        nlp=nlp,
    )
