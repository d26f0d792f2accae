"""The retrieval stage on plain values: distinct requests in, answers out; no Doc."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..types import SCOPES, Bools1d, Hits, Mention, Reformulation, Reformulator
from .settings import Filter
from .spans import NIL, NO_ANSWER, Answer

if TYPE_CHECKING:
    from ..kb import KnowledgeBase
    from ..space import EntitySpace, Query

STAGE = "retriever"
_SCOPES = np.array(SCOPES, dtype=object)


class Request(NamedTuple):
    """One thing to look up. Equal requests get one encoding and the same answer."""

    mention: Mention
    long_form: Mention | None = None
    filter: str = ""
    """The label whose filter applies; "" for the general one."""
    sentence: Mention | None = None
    """The mention in a sentence, for a reformulator to read."""


def make_masks(
    kb: KnowledgeBase, filters: Filter | None, label_filters: Mapping[str, Filter]
) -> dict[str, Bools1d | None]:
    """Return the entities allowed by label, (E,); under "" for all other labels. None allows all.

    A label's filter narrows the general one.

    Raises:
        ConfigError: A branch that the KB does not have.
    """
    general = kb.mask(**filters) if filters else None
    masks: dict[str, Bools1d | None] = {"": general}
    for label, label_filter in label_filters.items():
        mask = kb.mask(**label_filter) if label_filter else None
        masks[label] = general if mask is None else mask if general is None else general & mask
    return masks


def answer(
    space: EntitySpace,
    requests: Sequence[Request],
    masks: Mapping[str, Bools1d | None],
    *,
    k: int,
    weights: Sequence[float],
    threshold: float | None,
    reformulator: Reformulator | None = None,
    composites: bool = False,
) -> list[Answer]:
    """Answer all requests, with one retrieval of the distinct ones per filter; blank mentions are not looked up."""
    from ..space.composite import split_composites
    from ..space.retrieval import retrieve

    answers: dict[Request, Answer] = {}
    waiting: dict[str, list[Request]] = {}
    for request in dict.fromkeys(requests):
        if request.mention.text.strip():
            waiting.setdefault(request.filter, []).append(request)
        else:
            answers[request] = NO_ANSWER
    rewritten = _reformulate(reformulator, [request for group in waiting.values() for request in group])
    for name, group in waiting.items():
        texts = [_texts(request, rewritten.get(request.sentence)) for request in group]
        queries = [query_of(request.mention, given) for request, given in zip(group, texts, strict=True)]
        hits = retrieve(space, queries, k, masks[name], tuple(weights))
        parts = split_composites(space, queries, hits, masks[name]) if composites else {}
        answers.update(zip(group, _answers(space, hits, threshold, texts, parts), strict=True))
    return [answers[request] for request in requests]


def query_of(mention: Mention, texts: Mapping[str, str]) -> Query:
    """Make the query of a mention and the texts beside it, which stand in the same context."""
    from ..space.retrieval import Query

    return Query(mention, **{kind: replace(mention, text=text) for kind, text in texts.items()})


def _reformulate(reformulator: Reformulator | None, requests: Sequence[Request]) -> dict[Mention | None, Reformulation]:
    sentences = list(dict.fromkeys(request.sentence for request in requests if request.sentence is not None))
    if reformulator is None or not sentences:
        return {}
    return dict(zip(sentences, reformulator.reformulate(sentences), strict=True))


def _texts(request: Request, rewritten: Reformulation | None) -> dict[str, str]:
    """The texts beside the mention, by kind; those that are of use."""
    long_form = request.long_form.text if request.long_form else ""
    given = {"long_form": long_form} | (rewritten._asdict() if rewritten else {})
    return {kind: text for kind, text in given.items() if text}


def _answers(
    space: EntitySpace,
    hits: Hits,
    threshold: float | None,
    texts: Sequence[Mapping[str, str]],
    parts: Mapping[int, tuple[str, ...]],
) -> list[Answer]:
    """Turn hits into columns: one vectorised look-up per batch, then slices; ``parts`` by number of the query."""
    kb, found = space.kb, hits.entities >= 0
    positions = space.rows.name[hits.rows[found]]
    entities = hits.entities[found]
    ids, names = _each_once([kb.ids_of, kb.names_of], entities)
    (matched,) = _each_once([kb.texts_of], positions)
    # Slices of tuples are tuples, which the garbage collector leaves alone once it has seen only texts in them; with
    # lists it would go through every candidate of every document again and again.
    scopes, scores = tuple(_SCOPES[kb.name_scope[positions]].tolist()), tuple(hits.scores[found].tolist())
    answers = []
    stop = 0
    for number, (count, beside) in enumerate(zip(found.sum(axis=1).tolist(), texts, strict=True)):
        start, stop = stop, stop + count
        columns = {
            "id": ids[start:stop],
            "name": names[start:stop],
            "matched": matched[start:stop],
            "scope": scopes[start:stop],
            "scores": {STAGE: scores[start:stop]},
        }
        if number in parts:
            columns["part"] = parts[number]
        linked = count and (threshold is None or scores[start] >= threshold)
        answers.append(Answer(ids[start] if linked else NIL, columns, beside))
    return answers


def _each_once(look_ups: Sequence[Callable[[np.ndarray], list[str]]], numbers: np.ndarray) -> list[tuple[str, ...]]:
    """Look numbers up, making one string of each: mentions of a batch share most of their candidates."""
    distinct, place = np.unique(numbers, return_inverse=True)
    return [tuple(np.array(look_up(distinct), dtype=object)[place].tolist()) for look_up in look_ups]
