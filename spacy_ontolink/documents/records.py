"""One mention of a linked document as plain values: the row that every output format shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from spacy.tokens import Doc, Span

from ..components.spans import read_spans, records_of

GIVEN = "ontolink_given"
"""Key of ``doc.user_data`` for what a file said of a document: its id, and its mentions in the order of the spans."""

SPANS_KEY = "ontolink"
"""Span group for mentions that were read from a file or found by the command line."""


def spans_of(doc: Doc, spans_key: str | None) -> Sequence[Span]:
    """Return the mentions of a document: a span group, or its entities when ``spans_key`` is None."""
    return read_spans(doc, spans_key or "")


def candidates_of(span: Span) -> list[dict[str, Any]]:
    """Return the ranked candidates that the pipeline left on a span."""
    return list(span._.ontolink or ()) if Span.has_extension("ontolink") else []


def is_answer(span: Span) -> bool:
    """Whether the span has the id that a component gave it: its records travel with the document."""
    return any(record["id"] == span.kb_id_ and record["label"] == span.label_ for record in records_of(span))


def parts_of(span: Span) -> list[tuple[str, str, float]]:
    """Return text, id and score of each part of a composite mention that was linked by its parts."""
    return list(span._.kb_parts or ()) if Span.has_extension("kb_parts") else []


def document_id(doc: Doc) -> str:
    """Return the id that the document's file gave it."""
    return str(doc.user_data.get(GIVEN, {}).get("id", ""))


def mention_records(doc: Doc, spans_key: str | None, k: int) -> list[dict[str, Any]]:
    """Describe each mention: offsets, text and label, the link, and its best ``k`` candidates.

    Offsets are those of the file where it gave any (the span may be wider, since it ends where tokens end), and
    ``kb_ids`` are its gold ids. ``kb_id`` is the answer: an id, ``NIL`` (looked, found none) or empty (not looked).
    A composite mention that was linked by its parts has them under ``parts``.
    """
    given: dict[tuple[int, int, str], list[dict[str, Any]]] = {}
    for mention in doc.user_data.get(GIVEN, {}).get("mentions", []):
        place = doc.char_span(mention["start"], mention["end"], label=mention["label"], alignment_mode="expand")
        given.setdefault(_key(place), []).append(mention)
    records = []
    for span in spans_of(doc, spans_key):
        same = given.get(_key(span))
        records.append(_record(span, same.pop(0) if same else None, k))
    return records


def probability_of(record: Mapping[str, Any]) -> float | None:
    """Return how probable the answer of a mention's record is, if its pipeline is calibrated."""
    best: Mapping[str, Any] = next((one for one in record["candidates"] if one["id"] == record["kb_id"]), {})
    return best.get("probability")


def _key(span: Span) -> tuple[int, int, str]:
    """What a mention of a file and a span must share to be the same: after widening, offsets and label."""
    return span.start_char, span.end_char, span.label_


def _record(span: Span, given: dict[str, Any] | None, k: int) -> dict[str, Any]:
    record: dict[str, Any] = {"start": span.start_char, "end": span.end_char, "text": span.text, "label": span.label_}
    if given:
        record.update(given)
    candidates = candidates_of(span)
    record["kb_id"] = span.kb_id_
    best = next((candidate for candidate in candidates if candidate["id"] == span.kb_id_), None)
    if best:
        record.update({key: best.get(key) for key in ("name", "matched", "score")})
    if parts := parts_of(span):
        record["parts"] = [{"text": text, "kb_id": id, "score": score} for text, id, score in parts]
    record["candidates"] = candidates[:k]
    return record
