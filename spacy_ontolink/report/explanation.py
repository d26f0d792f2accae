"""Reads off a linked span what every stage made of it; computes anew only what no stage keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..components.spans import NO_ANSWER, Answer, read_answer
from ..components.stage import view_of
from ..fusion import shares, zscores
from ..types import Floats1d
from .reasons import notes, reasons
from .values import Candidate, Explanation, Neighbour

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Span

    from ..kb import KnowledgeBase

MAX_PARENTS, MAX_CHILDREN = 3, 5
FUSED = "fused"


class Chain(NamedTuple):
    """A retriever and the stages after it that run, in order."""

    retriever: Any
    stages: Sequence[Any]

    def stage(self, view: str) -> Any:
        """Return the stage that gives this view, or None."""
        return next((stage for stage in self.stages if stage.view == view), None)


def chain_of(nlp: Language, name: str) -> Chain:
    """Return the chain that the retriever of this name heads."""
    retriever: Any = nlp.get_pipe(name)
    return Chain(retriever, [stage for stage in retriever.stages if stage.name in nlp.pipe_names])


def explain(span: Span, chain: Chain, k: int = 10) -> Explanation:
    """Explain the answer that a chain gave to a mention, with its best ``k`` candidates."""
    answer = read_answer(span, chain.retriever.settings.spans_key or "", chain.retriever.name)
    pool = answer or NO_ANSWER
    views = {view: view_of(pool, view) for view in pool.columns["scores"]}
    mixed = {view: own for view, own in views.items() if view != FUSED and own is not None} if FUSED in views else {}
    weights = shares(mixed, chain.stage(FUSED).weights) if mixed else {}
    candidates = _candidates(pool, chain.retriever.kb, mixed, weights, max(k, 2))
    text, start, end = span.doc.text, span.start_char, span.end_char
    return Explanation(
        left=text[:start],
        mention=text[start:end],
        right=text[end:],
        label=span.label_,
        id=answer.id if answer else "",
        texts=pool.texts,
        views=tuple(views),
        shares=weights,
        ranges={view: _range(scores) for view, scores in views.items()},
        candidates=candidates[:k],
        n_pool=len(pool.columns["id"]),
        reasons=reasons(span, answer, candidates, weights, chain),
        notes=notes(span, answer, weights, chain),
    )


def _candidates(
    answer: Answer, kb: KnowledgeBase, mixed: Mapping[str, Any], weights: Mapping[str, float], k: int
) -> tuple[Candidate, ...]:
    columns = answer.columns
    z = {view: zscores(mixed[view]) for view in weights}
    candidates = []
    for place, id in enumerate(columns["id"][:k]):
        parents, children = kb.parents(id), kb.children(id)
        candidates.append(
            Candidate(
                rank=place + 1,
                id=id,
                name=columns["name"][place],
                matched=columns["matched"][place],
                scope=columns["scope"][place],
                scores={view: scores[place] for view, scores in columns["scores"].items()},
                z={view: float(scores[place]) for view, scores in z.items()},
                parents=_named(kb, parents[:MAX_PARENTS]),
                children=_named(kb, children[:MAX_CHILDREN]),
                n_parents=len(parents),
                n_children=len(children),
                probability=columns["probability"][place] if "probability" in columns else None,
            )
        )
    return tuple(candidates)


def _named(kb: KnowledgeBase, ids: Sequence[str]) -> tuple[Neighbour, ...]:
    return tuple(map(Neighbour, ids, kb.names_of(kb.numbers_of(ids))))


def _range(scores: Floats1d | None) -> tuple[float, float]:
    finite = scores[np.isfinite(scores)] if scores is not None else np.zeros(0)
    return (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)
