"""Linking scores for ``nlp.evaluate``, ``spacy evaluate`` and ``spacy train``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

from spacy.scorer import Scorer
from spacy.tokens import Span
from spacy.training import Example

from .spans import NIL, candidate_ids, read_spans


def make_linking_scorer() -> Callable[..., dict[str, Any]]:
    """Make the scorer of ids, and of how often the candidates hold the right one."""
    return linking_score


def linking_score(examples: Iterable[Example], *, spans_key: str | None = None, **_: Any) -> dict[str, Any]:
    """Score the ids, and how often the candidates hold the right one.

    ``nel_micro_p``, ``_r``, ``_f`` (macro and per type too) are spaCy's measure, of ``doc.ents`` or of the group
    ``spans_key``: only mentions found in both docs count. ``nel_recall_at_1`` and ``nel_recall_at_k`` are over those
    of them that have a gold id and were looked up, with all their candidates; None if there is no such mention.
    """
    sides = [side for example in examples for side in _sides(example, spans_key or "")]
    ranks = [_rank(gold, span) for sides_ in sides for gold, span in _looked_up(*sides_)]
    # The measure is in Scorer.score_links, which looks at nothing but the ents of both docs. There a mention without
    # any id in both would be a hit, were the empty id not among the negative labels.
    pairs = [SimpleNamespace(reference=SimpleNamespace(ents=gold), predicted=SimpleNamespace(ents=predicted))
             for gold, predicted in sides]  # fmt: skip
    return {
        **Scorer.score_links(pairs, negative_labels=[NIL, ""]),
        "nel_recall_at_1": ranks.count(1) / len(ranks) if ranks else None,
        "nel_recall_at_k": sum(rank > 0 for rank in ranks) / len(ranks) if ranks else None,
    }


def _sides(example: Example, group: str) -> Iterator[tuple[list[Span], list[Span]]]:
    """Yield gold and predicted spans that may be compared by their offsets alone: in a group, those of one label."""
    gold, predicted = read_spans(example.reference, group), read_spans(example.predicted, group)
    if not group:
        yield gold, predicted
        return
    for label in sorted({span.label_ for span in gold}):
        yield [span for span in gold if span.label_ == label], [span for span in predicted if span.label_ == label]


def _looked_up(gold: Sequence[Span], predicted: Sequence[Span]) -> Iterator[tuple[str, Span]]:
    """Yield the gold id and the predicted span of each mention that has both an id and an answer."""
    ids = {(span.start_char, span.end_char): span.kb_id_ for span in gold}
    for span in predicted:
        gold_id = ids.get((span.start_char, span.end_char), "")
        if gold_id not in ("", NIL) and span.kb_id_:
            yield gold_id, span


def _rank(gold_id: str, span: Span) -> int:
    """Return the position of the gold id among the candidates, from 1; 0 if it is not among them."""
    ids = list(candidate_ids(span))
    return ids.index(gold_id) + 1 if gold_id in ids else 0
