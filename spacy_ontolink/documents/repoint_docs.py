"""Links and training pairs on documents in ``.spacy`` files, taken over to the next release of an ontology."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from spacy.tokens import Doc, DocBin, Span
from spacy.vocab import Vocab

from ..components.spans import NIL, RECORDS
from .reading import docs_of, open_docbin
from .records import GIVEN, SPANS_KEY
from .repoint import line_of, walk
from .repoint_pairs import settle
from .successors import Successors


def repoint_docs(path: Path, out: Path, lost: TextIO, follow: Successors, pairs: bool, vocab: Vocab) -> None:
    """Copy a ``.spacy`` file with the ids of its entities and span groups brought up to date.

    A span of a group whose id is lost goes from a file of ``pairs``; elsewhere it stays without an id, as every entity
    does. Pairs of one span with entities that were merged become one. Gold ids and candidates on the documents are led
    on, too.

    Raises:
        DataError: The file cannot be read.
    """
    packed = open_docbin(path)
    result = DocBin(attrs=packed.attrs, store_user_data=True)
    for number, doc in enumerate(docs_of(packed, vocab, path), start=1):
        for span, id in _repoint(doc, follow, pairs):
            about = {"document": number, "start": span.start_char, "end": span.end_char, "text": span.text, "lost": id}
            lost.write(line_of(about))
        result.add(doc)
    result.to_disk(out)


def _repoint(doc: Doc, follow: Successors, pairs: bool) -> list[tuple[Span, str]]:
    """Bring a document up to date; return the spans whose ids are lost, with these."""
    gone: list[tuple[Span, str]] = []

    def led_on(span: Span) -> str:
        id = span.kb_id_
        new = follow(id) if id and id != NIL else id
        if id and not new:
            gone.append((span, id))
        return new

    for span in doc.ents:
        new = led_on(span)
        for token in span:
            token.ent_kb_id_ = new
    for key, group in doc.spans.items():
        spans = [(span, led_on(span)) for span in group]
        kept = [spans[place] for place in _settled(doc, key, spans, follow)] if pairs else spans
        doc.spans[key] = [
            Span(doc, span.start, span.end, label=span.label, kb_id=new, span_id=span.id) for span, new in kept
        ]
    aside = Successors(follow.releases)  # the mentions of a file stand on the document as spans, too: counted above
    for key, value in doc.user_data.items():
        if key == GIVEN:
            doc.user_data[key] = {**value, **walk({"mentions": value.get("mentions", ())}, aside, pairs, [])}
        elif isinstance(key, tuple) and key[:2] == ("._.", RECORDS) and value:
            doc.user_data[key] = [_record(record, follow.find) for record in value]
    return gone


def _settled(doc: Doc, key: str, spans: Sequence[tuple[Span, str]], follow: Successors) -> list[int]:
    """Return the places of the spans that stay; pairs of the file stand on the document as spans, one for each."""
    given = doc.user_data.get(GIVEN, {}).get("mentions", ()) if key == SPANS_KEY else ()
    places = [(one["start"], one["end"]) for one in given] if len(given) == len(spans) else [
        (span.start_char, span.end_char) for span, _ in spans
    ]  # fmt: skip
    old = [{"start": s, "end": e, "kb_ids": [span.kb_id_]} for (s, e), (span, _) in zip(places, spans, strict=True)]
    new = [
        {**one, "kb_ids": [id] if id else []} if id or not span.kb_id_ else None
        for one, (span, id) in zip(old, spans, strict=True)
    ]
    return list(settle(old, new, follow))


def _record(record: Mapping[str, Any], find: Callable[[str], str]) -> dict[str, Any]:
    """Lead the ids of a record of candidates on; of those that are one entity now the first stays."""
    columns = record["columns"]
    ids = [find(id) for id in columns["id"]]
    places = [place for place, id in enumerate(ids) if id and id not in ids[:place]]

    def taken(values: Sequence[Any]) -> list[Any]:
        return [values[place] for place in places]

    lists = {key: taken(values) for key, values in columns.items() if key != "scores"}
    scores = {stage: taken(values) for stage, values in columns["scores"].items()}
    id = record["id"] if record["id"] in ("", NIL) else find(record["id"])
    return {**record, "id": id, "columns": {**lists, "id": [ids[place] for place in places], "scores": scores}}
