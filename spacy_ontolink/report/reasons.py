"""Why the winner won, or why nobody did, in plain sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..components.spans import NIL
from ..types import SCOPES
from .values import BESIDE, Candidate, apart

if TYPE_CHECKING:
    from spacy.tokens import Span

    from ..components.spans import Answer
    from ..kb import KnowledgeBase
    from .explanation import Chain

NAMES = {
    "NAME": "the name",
    "EXACT": "an exact synonym",
    "NARROW": "a narrow synonym",
    "BROAD": "a broad synonym",
    "RELATED": "a related synonym",
}


def reasons(
    span: Span, answer: Answer | None, candidates: Sequence[Candidate], shares: Mapping[str, float], chain: Chain
) -> tuple[str, ...]:
    """Say why this is the answer, in one or two sentences.

    Args:
        span: The mention.
        answer: What the chain said of it.
        candidates: At least the first two.
        shares: Weights of the views in the fusion; empty without one.
        chain: The retriever and its stages.
    """
    if answer is None or not candidates:
        return (_nothing(span, answer, chain.retriever),)
    first = candidates[0]
    if answer.id == NIL:
        return (_rejected(first, chain),)
    named = _exact(span.text, answer, first, chain.retriever.kb)
    if len(candidates) == 1:
        return (f"{named or f'{first.title} is'}{', which is' if named else ''} the only candidate.",)
    second = candidates[1]
    lead = _lead(first, second, shares)
    return (f"{named}, which {lead}." if named else f"{first.title} {lead}.", *_better(first, second, shares))


def notes(span: Span, answer: Answer | None, shares: Mapping[str, float], chain: Chain) -> tuple[str, ...]:
    """Say which stages gave no score, and why."""
    if answer is None or answer.id == NIL or not answer.columns["id"]:
        return ()
    found = []
    for stage in chain.stages:
        if stage.view in answer.columns["scores"]:
            continue
        if not stage.is_read([span.doc]):
            found.append(f"'{stage.name}' did not run: the fusion gives its score no weight.")
        elif stage.view == "context":
            found.append(f"The cascade passed over '{stage.name}': {_decided(span, stage, chain)}.")
    return tuple(found)


def _nothing(span: Span, answer: Answer | None, retriever: Any) -> str:
    settings, label = retriever.settings, span.label_
    if answer is None:
        labels = ", ".join(f"'{known}'" for known in settings.labels or ())
        return f"Not looked up: '{retriever.name}' links mentions of the labels {labels} only, not of '{label}'."
    if label in settings.labels_discard:
        return f"NIL without looking: '{retriever.name}' discards mentions of the label '{label}'."
    allowed = " that its filters allow" if settings.filters or label in settings.label_filters else ""
    return f"NIL: no entity{allowed} has a name that is in any way similar."


def _rejected(first: Candidate, chain: Chain) -> str:
    """Say which threshold stood against the first candidate, with both numbers."""
    fuse, retriever = chain.stage("fused"), chain.retriever
    if fuse is not None and first.probability is not None and fuse.threshold is not None:
        given, wanted = apart(first.probability, fuse.threshold)
        probability = f"{first.title} is right with a probability of {given}"
        return f"NIL: {probability}, below the threshold of {wanted} in '{fuse.name}'."
    threshold, score = retriever.settings.threshold, first.scores["retriever"]
    if threshold is None or score is None:
        return f"NIL: {first.title} was rejected."
    given, wanted = apart(score, threshold)
    later = "; no later stage looked at it" if chain.stages else ""
    best = f"the best score, {given} of {first.title}"
    return f"NIL: {best}, is below the threshold of {wanted} in '{retriever.name}'{later}."


def _exact(text: str, answer: Answer, first: Candidate, kb: KnowledgeBase) -> str:
    """Say that the mention, or a text looked up beside it, is a name of the winner; "" if none is."""
    number = kb.number_of(first.id)
    for kind, words in {"": text, **answer.texts}.items():
        positions = kb.exact_names([words])[1]
        owners = kb.name_owner[positions]
        own = positions[owners == number]
        if len(own):
            others = len(set(owners.tolist())) - 1
            which = f", the {BESIDE[kind]}," if kind else ""
            also = f" (and a name of {others} other{'s' if others > 1 else ''})" if others else ""
            return f"'{words}'{which} is {NAMES[SCOPES[kb.name_scope[own].min()]]} of {first.title}{also}"
    return ""


def _lead(first: Candidate, second: Candidate, shares: Mapping[str, float]) -> str:
    """Say how far the winner is ahead in the score that decided, and what that is made of."""
    view = list(first.scores)[-1]
    best, other = first.scores[view], second.scores[view]
    if best is None:
        return f"keeps its place, as no candidate has a {view} score"
    if other is None:
        return f"is the only one that has a {view} score"
    ahead, nothing = apart(best - other, 0.0)
    if ahead == nothing:
        return f"comes first of those that have its {view} score, {best:.3f}, by {_tie(shares)}"
    if shares:
        parts = sorted(((share * (first.z[key] - second.z[key]), key) for key, share in shares.items()), reverse=True)
        made_of = ", ".join(f"{key} {part:+.3f}" for part, key in parts if shares[key])
        return f"leads {second.title} by {ahead} in the {view} score ({made_of})"
    return "leads {} by {} in the {} score ({} to {})".format(second.title, ahead, view, *apart(best, other))


def _tie(shares: Mapping[str, float]) -> str:
    return "an exact name, or else by its id" if shares else "its place before"


def _better(first: Candidate, second: Candidate, shares: Mapping[str, float]) -> tuple[str, ...]:
    """Say in what the runner-up is better."""
    found = []
    for view in list(first.scores)[:-1]:
        best, other = first.scores[view], second.scores[view]
        if best is not None and other is not None and other > best:
            weightless = ", which has no weight" if shares and not shares.get(view) else ""
            found.append("in the {} score ({} to {}{})".format(view, *apart(other, best), weightless))
    return (f"{second.title} is better {' and '.join(found)}.",) if found else ()


def _decided(span: Span, stage: Any, chain: Chain) -> str:
    """Say which of the cascade's conditions held."""
    from ..components.cascade import unique_names

    exact, margin = stage.settings.cascade_exact, stage.settings.cascade_margin
    if margin is None or (exact and unique_names(chain.retriever.kb, [span.text])):
        return f"'{span.text}' is a name of one entity only, which came first"
    return f"the first candidate led by {margin:g} or more"
