"""Links and training pairs on documents in ``.spacy`` files, taken over to the next release of an ontology."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from spacy.tokens import Doc, DocBin, Span
from spacy.vocab import Vocab

from ..components.spans import NIL, RECORDS
from ..errors import DataError, Errors
from .records import GIVEN
from .repoint import line_of
from .successors import Successors


def repoint_docs(path: Path, out: Path, lost: TextIO, follow: Successors, pairs: bool, vocab: Vocab) -> None:
    """Copy a ``.spacy`` file with the ids of its entities and span groups brought up to date.

    A span of a group whose id is lost goes from a file of ``pairs``; elsewhere it stays without an id, as
    every entity does. Gold ids and candidates on the documents are led on, too.

    Raises:
        DataError: The file cannot be read.
    """
    try:
        bin = DocBin().from_disk(path)
        docs = list(bin.get_docs(vocab))
    except Exception as error:  # zlib, msgpack and struct each have their own
        raise DataError(Errors.NOT_DOCBIN.format(path=path, reason=error)) from error
    result = DocBin(attrs=bin.attrs, store_user_data=True)
    for number, doc in enumerate(docs, start=1):
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
        kept = [(span, new) for span, new in spans if new or not span.kb_id_ or not pairs]
        follow.dropped += len(spans) - len(kept)
        doc.spans[key] = [
            Span(doc, span.start, span.end, label=span.label, kb_id=new, span_id=span.id) for span, new in kept
        ]
    for key, value in doc.user_data.items():
        if key == GIVEN:
            doc.user_data[key] = {**value, "mentions": [_mention(m, follow.find) for m in value.get("mentions", ())]}
        elif isinstance(key, tuple) and key[:2] == ("._.", RECORDS) and value:
            doc.user_data[key] = [_record(record, follow.find) for record in value]
    return gone


def _mention(mention: Mapping[str, Any], find: Callable[[str], str]) -> dict[str, Any]:
    return {**mention, "kb_ids": _distinct(map(find, mention.get("kb_ids", ())))}


def _distinct(ids: Any) -> list[str]:
    return [id for id in dict.fromkeys(ids) if id]


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
