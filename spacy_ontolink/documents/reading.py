"""Documents from files, one at a time: plain text, JSONL with mentions, and spaCy's ``.spacy``."""

from __future__ import annotations

import gzip
import json
import logging
import re
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Any, cast

from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span

from ..components.spans import NIL
from ..errors import DataError, Errors
from .records import GIVEN, SPANS_KEY, spans_of

logger = logging.getLogger(__name__)

STDIN = Path("-")
_SURROGATE = re.compile("[\ud800-\udfff]")  # JSON can hold half a character, a tokeniser cannot


@dataclass
class Tally:
    """What was read: ``expanded`` mentions were widened to whole tokens, ``differing`` ones claim another text."""

    documents: int = 0
    mentions: int = 0
    expanded: int = 0
    differing: int = 0
    first_differing: str = ""


def read_documents(
    path: Path,
    nlp: Language,
    *,
    given: bool = True,
    spans_key: str | None = None,
    whole_file: bool = False,
    tally: Tally | None = None,
) -> Iterator[Doc]:
    """Stream the documents of a file, unprocessed but for the tokeniser.

    A file named ``.spacy`` is a DocBin; one named ``.jsonl``, or whose first line is a JSON object, is JSONL (``.gz``
    too); everything else is text, one document per line, or all of it with ``whole_file``. ``-`` is standard input.

    Args:
        path: The file.
        nlp: The pipeline whose tokeniser and vocabulary the documents get.
        given: Put the file's mentions in ``doc.spans["ontolink"]`` (a file without any leaves the group out), and their
            original offsets and gold ids in ``doc.user_data``. A mention that starts or ends inside a token is widened
            to whole tokens, none is lost.
        spans_key: Where a ``.spacy`` file has its mentions; by default its entities, or if it has none, the group
            ``"ontolink"`` (which ``ontolink link`` writes) or ``"sc"``.
        whole_file: Take a text as one document.
        tally: Counts what passes.

    Raises:
        DataError: The file is missing, or a line cannot be used; the message says which and why.
    """
    tally = tally if tally is not None else Tally()
    if path != STDIN and not path.is_file():
        raise DataError(Errors.INPUT_MISSING.format(path=path))
    if path.suffix == ".spacy":
        documents = _read_docbin(path, nlp, given, spans_key, tally)
    else:
        documents = _read_lines(path, nlp, given, whole_file, tally)
    for doc in documents:
        tally.documents += 1
        yield doc
    if tally.differing:
        logger.warning(
            "%s: %d mention(s) have another text than their offsets show (first: %s); the offsets are used",
            path, tally.differing, tally.first_differing,
        )  # fmt: skip


def _read_lines(path: Path, nlp: Language, given: bool, whole_file: bool, tally: Tally) -> Iterator[Doc]:
    with _open(path) as file:
        lines = ((number, _decode(line, path, number)) for number, line in enumerate(file, start=1))
        blank: list[str] = []
        json_lines = not {".jsonl", ".ndjson"}.isdisjoint(path.suffixes)
        for number, line in lines:
            if not line.strip():
                blank.append(line)
            elif json_lines or line.lstrip().startswith("{"):
                rest = chain([(number, line)], lines)
                yield from (_json_document(line, nlp, given, path, n, tally) for n, line in rest if line.strip())
            elif whole_file:
                text = "".join([*blank, line, *(line for _, line in lines)])
                yield _document(nlp, text, path.name, path, number)
            else:
                rest = chain([(number, line)], lines)
                yield from (_document(nlp, line.rstrip("\r\n"), str(n), path, n) for n, line in rest if line.strip())


@contextmanager
def _open(path: Path) -> Iterator[IO[bytes]]:
    if path == STDIN:
        if sys.stdin is None:
            raise DataError(Errors.INPUT_MISSING.format(path="standard input is closed"))
        yield sys.stdin.buffer
        return
    file = cast(IO[bytes], gzip.open(path) if path.suffix == ".gz" else path.open("rb"))
    try:
        with file:
            yield file
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise DataError(Errors.NOT_GZIP.format(path=path, reason=error)) from error


def _decode(line: bytes, path: Path, number: int) -> str:
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise _problem(
            path, number, f"not UTF-8 (byte 0x{line[error.start]:02x} in column {error.start + 1})"
        ) from error


def _document(nlp: Language, text: str, id: str, path: Path, number: int) -> Doc:
    if len(text) > nlp.max_length:
        raise _problem(path, number, f"{len(text):,} characters, more than the pipeline's {nlp.max_length:,}; split it")
    doc = nlp.make_doc(_SURROGATE.sub("\ufffd", text))
    doc.user_data[GIVEN] = {"id": id, "mentions": []}
    return doc


def _json_document(line: str, nlp: Language, given: bool, path: Path, number: int, tally: Tally) -> Doc:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _problem(path, number, f"not JSON ({error})") from error
    if not isinstance(row, dict) or not isinstance(row.get("text"), str):
        raise _problem(path, number, 'no text: each line is an object like {"id": …, "text": …, "mentions": […]}')
    doc = _document(nlp, row["text"], str(row.get("id", number)), path, number)
    mentions = row.get("mentions")
    if mentions is not None and not isinstance(mentions, list):
        raise _problem(path, number, f"'mentions' is {type(mentions).__name__}, not a list")
    if given and mentions is not None:
        spans = [_span(doc, _mention(mention, row["text"], path, number), path, number, tally) for mention in mentions]
        doc.spans[SPANS_KEY] = spans
    return doc


def _mention(mention: Any, text: str, path: Path, number: int) -> dict[str, Any]:
    """Check a mention and return it with its gold ids as a list; other keys of it are kept."""
    try:
        start, end = mention["start"], mention["end"]
    except (TypeError, KeyError) as error:
        raise _problem(path, number, f"a mention without 'start' and 'end': {mention!r}") from error
    if type(start) is not int or type(end) is not int or not 0 <= start < end <= len(text):
        raise _problem(path, number, f"mention {start}…{end} does not lie in a text of {len(text)} characters")
    ids = mention.get("kb_ids") or []
    ids = [ids] if isinstance(ids, str) else ids
    if not isinstance(ids, list) or not all(isinstance(id, str) for id in ids):
        raise _problem(path, number, f"'kb_ids' of mention {start}…{end} is not a list of ids: {ids!r}")
    return {
        **mention,
        "text": mention.get("text", text[start:end]),
        "label": str(mention.get("label") or ""),
        "kb_ids": ids,
    }


def _span(doc: Doc, mention: dict[str, Any], path: Path, number: int, tally: Tally) -> Span:
    start, end = mention["start"], mention["end"]
    span = doc.char_span(start, end, label=mention["label"], alignment_mode="expand")
    tally.mentions += 1
    tally.expanded += (span.start_char, span.end_char) != (start, end)
    if mention["text"] != doc.text[start:end] and "segments" not in mention:
        tally.differing += 1
        tally.first_differing = tally.first_differing or f"line {number}, {start}…{end}"
    doc.user_data[GIVEN]["mentions"].append(mention)
    return span


def _read_docbin(path: Path, nlp: Language, given: bool, spans_key: str | None, tally: Tally) -> Iterator[Doc]:
    try:
        docs = list(DocBin().from_disk(path).get_docs(nlp.vocab))
    except Exception as error:  # zlib, msgpack and struct each have their own
        raise DataError(Errors.NOT_DOCBIN.format(path=path, reason=error)) from error
    groups = {key for doc in docs for key in doc.spans}
    if spans_key is not None and spans_key not in groups:
        found = ", ".join(sorted(groups)) or "none"
        raise DataError(Errors.NO_GROUP.format(path=path, spans_key=spans_key, groups=found))
    if spans_key is None and not any(doc.ents for doc in docs):
        spans_key = SPANS_KEY if SPANS_KEY in groups else "sc"
    given = given and any(spans_of(doc, spans_key) for doc in docs)
    for number, doc in enumerate(docs, start=1):
        before = doc.user_data.get(GIVEN, {})
        mentions: list[dict[str, Any]] = []
        if given:
            spans = spans_of(doc, spans_key)
            # A file that was linked before has its answers on the spans, and its gold ids where they were read.
            mentions = [_again(mention) for mention in before.get("mentions", ())] or [_given(span) for span in spans]
            doc.spans[SPANS_KEY] = [Span(doc, span.start, span.end, label=span.label_) for span in spans]
        id = before.get("id") or doc.user_data.get("id", number)
        doc.user_data[GIVEN] = {"id": str(id), "mentions": mentions}
        tally.mentions += len(mentions)
        yield doc


def _given(span: Span) -> dict[str, Any]:
    ids = [span.kb_id_] if span.kb_id_ not in ("", NIL) else []
    return {"start": span.start_char, "end": span.end_char, "text": span.text, "label": span.label_, "kb_ids": ids}


def _again(mention: dict[str, Any]) -> dict[str, Any]:
    """A mention that went through a DocBin, which turns lists into tuples."""
    return {**mention, "kb_ids": list(mention.get("kb_ids", ()))}


def _problem(path: Path, line: int, reason: str) -> DataError:
    name = "standard input" if path == STDIN else path
    return DataError(Errors.BAD_LINE.format(path=name, line=line, reason=reason))
