"""The mentions that ``ontolink tune`` tunes on: annotated ones from a file, or held-out synonyms of the ontology."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..components.spans import NIL
from ..documents import GIVEN, SPANS_KEY, read_documents
from ..errors import DataError, Errors
from .pipelines import linkers, own_label

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

    from ..kb import KnowledgeBase
    from ..space import EntitySpace


@dataclass(frozen=True)
class Dev:
    """Documents with mentions in the group ``SPANS_KEY``, and what is right.

    Attributes:
        docs: The documents, without links.
        gold: For each mention of all documents in order, the numbers of the entities that are right; none is NIL.
        space: Where they are to be linked: the pipeline's space, or one without the synonyms held out.
        facts: What they are, in plain values.
    """

    docs: list[Doc]
    gold: list[frozenset[int]]
    space: EntitySpace
    facts: dict[str, Any]


def read_dev(nlp: Language, retriever: Any, path: Path, limit: int, seed: int, format: str | None = None) -> Dev:
    """Read annotated mentions, at most ``limit`` of them, chosen at random.

    Raises:
        DataError: The file cannot be used, or no mention that the retriever links has a gold id that is known.
    """
    docs, labels = list(read_documents(path, nlp, format=format, gold=True)), retriever.settings.labels
    ids = [mention["kb_ids"] for doc in docs for mention in doc.user_data[GIVEN]["mentions"]]
    given = [span.label_ for doc in docs for span in doc.spans.get(SPANS_KEY, ())]
    own = np.array([labels is None or label in labels for label in given], bool)
    if not any(of and linked for of, linked in zip(ids, own, strict=True)):
        hint = " Each mention needs 'kb_ids'." if ids else ""
        if any(ids):
            hint = f" '{retriever.name}' links {', '.join(labels)}; these are {', '.join(sorted({*given})) or 'none'}."
        raise DataError(Errors.NO_MENTIONS.format(path=path, verb="tune on", hint=hint))
    chosen = np.zeros(len(ids), bool)
    chosen[np.random.default_rng(seed).permutation(np.flatnonzero(own))[:limit]] = True
    number = 0
    for doc in docs:
        spans = list(doc.spans.get(SPANS_KEY, ()))
        doc.spans[SPANS_KEY] = [span for place, span in enumerate(spans, start=number) if chosen[place]]
        number += len(spans)
    ids = [[id for id in own if id not in ("", NIL)] for own, taken in zip(ids, chosen, strict=True) if taken]
    gold = _numbers(retriever.kb, ids)
    if not any(gold):
        hint = f" None of the {len(ids):,} has a gold id that the ontology knows."
        raise DataError(Errors.NO_MENTIONS.format(path=path, verb="tune on", hint=hint))
    docs = list(nlp.pipe([doc for doc in docs if doc.spans[SPANS_KEY]], disable=linkers(nlp)))
    facts = {
        "data": path.name,
        "mentions": len(ids),
        "mentions_in_file": len(chosen),
        "of_other_labels": int((~own).sum()),
        "without_gold": sum(not own for own in ids),
        "with_unknown_gold_only": sum(bool(own) and not known for own, known in zip(ids, gold, strict=True)),
    }
    return Dev(docs, gold, retriever.space, facts)


def held_out_dev(nlp: Language, retriever: Any, limit: int, seed: int) -> Dev:
    """Hold synonyms out of the ontology, about ``limit`` of them, each as a document that is a mention.

    Raises:
        DataError: The ontology has no synonyms.
    """
    from spacy.tokens import Span

    from ..training.holdout import hold_out

    found = hold_out(retriever.space, limit, seed)
    if not found.mentions:
        raise DataError(Errors.NO_SYNONYMS.format(name=retriever.kb.name))
    label = own_label(retriever)
    docs = []
    for text, _ in found.mentions:
        doc = nlp.make_doc(text)
        doc.spans[SPANS_KEY] = [Span(doc, 0, len(doc), label=label)]
        docs.append(doc)
    facts = {"data": None, "mentions": len(docs), "held_out_scopes": list(found.scopes)}
    return Dev(docs, [frozenset([number]) for _, number in found.mentions], found.space, facts)


def _numbers(kb: KnowledgeBase, ids: Sequence[Sequence[str]]) -> list[frozenset[int]]:
    """Return the numbers of the live entities that ids stand for today."""
    live = {id: kb.resolve(id) for own in ids for id in own}
    return [frozenset(kb.numbers_of([now for id in own if (now := live[id])]).tolist()) for own in ids]
