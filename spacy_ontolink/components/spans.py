"""Reads mentions from a Doc and writes answers onto it: the one file that touches spans, tokens and extensions.

The answer is the span's ``kb_id_``. The candidates are a list of *records* in a hidden extension attribute of the span,
which spaCy keeps in ``doc.user_data`` by character offsets, so that ``to_bytes``, ``DocBin``, ``Doc.from_docs`` and
``Span.as_doc`` carry them. Spans of equal offsets share that list, hence each record names its retriever, group and
label; the stages after a retriever replace its record by one with their scores added. A record holds plain msgpack
types only and is replaced, never changed: equal mentions share their columns.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from spacy.tokens import Doc, Span
from spacy.training import Example

from ..abbreviations import long_forms
from ..errors import Warnings
from ..types import NIL as NIL
from ..types import Mention

logger = logging.getLogger(__name__)

MAX_TOKENS, MAX_CHARS = 64, 1000
"""A longer mention is cut: no ontology has such names, and engines would cut it silently or take for ever."""

SENTENCE_TOKENS = 40
"""Most tokens to either side of a mention that a reformulator gets to read."""

RECORDS = "ontolink_records"
"""The hidden extension attribute that holds the records."""
_NONE = float("-inf")

Columns = dict[str, Any]
"""Candidates, best first: lists ``id``, ``name``, ``matched``, ``scope``, and ``scores``, one list per stage.

Of a composite mention also ``part``: the text of its part that a candidate was found for, "" for the whole mention.
"""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a stage says of one mention: the entity's id or ``NIL``, its candidates, and the texts looked up beside it.

    ``texts`` may have ``long_form``, ``standard_name`` and ``hypernym``.
    """

    id: str
    columns: Columns
    texts: Mapping[str, str] = field(default_factory=dict)


NO_ANSWER = Answer(NIL, {"id": [], "name": [], "matched": [], "scope": [], "scores": {}})


def register_extensions() -> None:
    """Add ``span._.kb_ents``, ``kb_parts`` and ``ontolink``; needed to read saved documents without a pipeline.

    An attribute of that name that another package made (scispaCy's ``kb_ents``) stays as it is, with a warning.
    """
    if not Span.has_extension(RECORDS):
        Span.set_extension(RECORDS, default=None)
    for name, getter in (("kb_ents", kb_ents), ("kb_parts", kb_parts), ("ontolink", ontolink)):
        if not Span.has_extension(name):
            Span.set_extension(name, getter=getter)
        elif Span.get_extension(name)[2] is not getter:
            logger.warning(Warnings.EXTENSION_TAKEN.format(name=name))


def read_spans(doc: Doc, group: str) -> list[Span]:
    """Return ``doc.ents`` for the group ``""``, else the spans of that group, if it exists, in order."""
    if not group:
        return list(doc.ents)
    return list(doc.spans[group]) if group in doc.spans else []


def read_mention(span: Span, text: str, n_context: int = 0, n_sents: int | None = None) -> tuple[Mention, bool]:
    """Return the mention, with up to ``n_context`` tokens to either side, and whether it had to be cut.

    ``text`` is ``doc.text``. ``n_sents`` keeps the context to the mention's sentence and so many to either side.
    """
    start, end = span.start_char, span.end_char
    cut = span.end - span.start > MAX_TOKENS or end - start > MAX_CHARS
    if cut:
        end = min(start + MAX_CHARS, span[: min(MAX_TOKENS, len(span))].end_char)
    if not n_context:
        return Mention(text[start:end]), cut
    first, last = _context(span, n_context, n_sents)
    return Mention(text[start:end], text[first:start], text[span.end_char : last]), cut


def read_sentence(span: Span, text: str, mention: Mention) -> Mention:
    """Return the mention in its sentence, or where sentences are unknown or long, in some words around it."""
    first, last = _context(span, SENTENCE_TOKENS, 0)
    return Mention(mention.text, text[first : span.start_char], text[span.end_char : last])


def read_abbreviations(doc: Doc, text: str) -> Mapping[str, str]:
    """Map short to long forms, as scispaCy's detector left them on the doc, or else as found in its text."""
    theirs = doc._.abbreviations if doc.has_extension("abbreviations") else None
    if not theirs:
        return long_forms(text) if "(" in text or "[" in text or "（" in text else {}
    return {short: long for short, long in map(_abbreviation, theirs) if short and long}


def read_answer(span: Span, group: str, component: str) -> Answer | None:
    """Return what a retriever and the stages after it have said of the span so far, if anything."""
    key = (component, group, span.label_)
    for record in records_of(span):
        if (record["component"], record["group"], record["label"]) == key:
            return Answer(record["id"], record["columns"], record.get("texts") or {})
    return None


def write_answers(
    spans: Sequence[Span],
    answers: Sequence[Answer | None],
    *,
    group: str,
    component: str,
    overwrite: bool,
    revises: bool = False,
) -> set[str]:
    """Write an answer onto each span of ``read_spans(doc, group)``; None leaves a span alone.

    ``component`` is the retriever at the head of the chain; a later stage ``revises`` the id that the chain gave, and
    may reject it. Without ``overwrite``, an id that a span has already from elsewhere stays; the
    candidates are stored all the same. A ``NIL`` never replaces the id that another retriever gave: it says that this
    ontology lacks the mention, not that all do.

    Returns:
        The retrievers whose ids were replaced by others; "" for ids that nothing of this library gave.
    """
    replaced: set[str] = set()
    items = spans[0].doc.spans[group] if group and spans else None
    for position, (span, answer) in enumerate(zip(spans, answers, strict=True)):
        if answer is None:
            continue
        own, others = _store(span, answer, group, component)
        taken = span.kb_id_ not in ("", NIL, own if revises else NIL)
        if (taken and not overwrite) or (answer.id == NIL and span.kb_id_ in others):
            continue
        if span.kb_id_ not in ("", NIL, own, answer.id):
            replaced.add(others.get(span.kb_id_, ""))
        if items is not None:  # reading an item makes a copy, so the id must go into a new one
            items[position] = Span(span.doc, span.start, span.end, label=span.label, kb_id=answer.id, span_id=span.id)
        else:
            for token in span:
                token.ent_kb_id_ = answer.id
    return replaced


def copy_mentions(examples: Iterable[Example], group: str) -> None:
    """Give the predicted docs the mentions of the reference docs, without their ids."""
    for example in examples:
        doc = example.predicted
        copies = (
            doc.char_span(span.start_char, span.end_char, label=span.label_, span_id=span.id_)
            for span in read_spans(example.reference, group)
        )
        aligned = [span for span in copies if span is not None]
        if group:
            doc.spans[group] = aligned
        else:
            doc.ents = aligned


def candidate_ids(span: Span) -> Sequence[str]:
    """Return the ids of the span's candidates, best first."""
    record = _record(span)
    return record["columns"]["id"] if record else []


def kb_ents(span: Span) -> list[tuple[str, float]]:
    """Return ``(id, score)`` of each candidate, best first; the score is the last stage's, -inf where it has none."""
    record = _record(span)
    if not record or not record["columns"]["scores"]:
        return []
    columns = record["columns"]
    scores = list(columns["scores"].values())[-1]
    return [(id, _NONE if score is None else score) for id, score in zip(columns["id"], scores, strict=True)]


def kb_parts(span: Span) -> list[tuple[str, str, float]]:
    """Return ``(text, id, score)`` of the best candidate of each part of a composite mention, best first.

    Empty for a mention of one piece, and for one that got no id.
    """
    record = _record(span)
    if not record or record["id"] == NIL or "part" not in record["columns"]:
        return []
    found: dict[str, tuple[str, str, float]] = {}
    for part, (id, score) in zip(record["columns"]["part"], kb_ents(span), strict=True):
        if part:
            found.setdefault(part, (part, id, score))
    return list(found.values())


def ontolink(span: Span) -> list[dict[str, Any]]:
    """Return the candidates, best first: id, name, matched name and its scope, scores by stage, rank from 1.

    A stage that could not score a candidate, or passed it over, gave it None. The ``probability`` that the id is right
    is that of the first candidate, from a calibrated ``ontolink_fuse``. Candidates of a composite mention have the
    ``part`` that they were found for.
    """
    record = _record(span)
    if not record or not record["columns"]["scores"]:
        return []
    columns = record["columns"]
    stages = list(columns["scores"])
    scores = list(
        zip(*([None if s == _NONE else s for s in known] for known in columns["scores"].values()), strict=True)
    )
    return [
        {
            "id": columns["id"][i],
            "name": columns["name"][i],
            "matched": columns["matched"][i],
            "scope": columns["scope"][i],
            "score": scores[i][-1],
            "scores": dict(zip(stages, scores[i], strict=True)),
            "rank": i + 1,
            "probability": columns["probability"][i] if "probability" in columns else None,
            **({"part": columns["part"][i]} if "part" in columns else {}),
        }
        for i in range(len(columns["id"]))
    ]


def _record(span: Span) -> Mapping[str, Any] | None:
    """Choose among the records at the span's offsets: its label's, and of these the one that gave its id.

    Of several that gave it, as two retrievers may give ``NIL``, one with candidates. A span without a label, such as a
    slice of the doc, may take any.
    """
    records = records_of(span)
    own = [record for record in records if record["label"] == span.label_] or ([] if span.label else records)
    chosen = [record for record in own if record["id"] == span.kb_id_] or own
    chosen = [record for record in chosen if record["columns"]["id"]] or chosen
    return chosen[-1] if chosen else None


def records_of(span: Span) -> Sequence[Mapping[str, Any]]:
    """Return the records at the span's offsets, whatever its label."""
    return span.doc.user_data.get(_key(span)) or ()


def _key(span: Span) -> tuple[str, str, int, int]:
    """Return where spaCy keeps the records of the span, as ``span._`` would find it, which takes longer."""
    return "._.", RECORDS, span.start_char, span.end_char


def _store(span: Span, answer: Answer, group: str, component: str) -> tuple[str, dict[str, str]]:
    """Replace the chain's record of the span; return the id that it gave before, and who gave which other id."""
    label = span.label_
    record = {"component": component, "group": group, "label": label, "id": answer.id, "columns": answer.columns}
    if answer.texts:
        record["texts"] = dict(answer.texts)
    before = records_of(span)
    if not before:
        span.doc.user_data[_key(span)] = [record]
        return "", {}
    is_own = [(old["component"], old["group"], old["label"]) == (component, group, label) for old in before]
    others = [old for old, own in zip(before, is_own, strict=True) if not own]
    span.doc.user_data[_key(span)] = [*others, record]
    own_id = next((old["id"] for old, own in zip(before, is_own, strict=True) if own), "")
    same = [other for other in others if (other["group"], other["label"]) == (group, label)]
    return own_id, {other["id"]: other["component"] for other in same}


def _context(span: Span, n_context: int, n_sents: int | None) -> tuple[int, int]:
    """Return the character offsets at which the context starts and ends."""
    doc = span.doc
    first, last = max(0, span.start - n_context), min(len(doc), span.end + n_context)
    if n_sents is not None and doc.has_annotation("SENT_START"):
        starts = [token.i for token in doc[first:last] if token.is_sent_start]
        before = [i for i in starts if i <= span.start]
        after = [i for i in starts if i >= span.end]
        first = before[-1 - n_sents] if len(before) > n_sents else first
        last = after[n_sents] if len(after) > n_sents else last
    return doc[first].idx, doc[last - 1].idx + len(doc[last - 1])


def _abbreviation(found: Any) -> tuple[str, str]:
    """Read scispaCy's abbreviation: a span with ``_.long_form``, or a dict when made serialisable."""
    if isinstance(found, Mapping):
        return str(found.get("short_text", "")), str(found.get("long_text", ""))
    long = found._.long_form if found.has_extension("long_form") else None
    return found.text, getattr(long, "text", None) or str(long or "")
