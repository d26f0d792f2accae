"""Documents from files of any corpus format, one at a time, with the pipeline's tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any, Literal

from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span
from spacy.vocab import Vocab

from ..components.spans import NIL
from ..errors import ConfigError, DataError, Errors
from .formats import IdRules, Row, check_format, check_row, read_rows, sniff_path
from .records import GIVEN, SPANS_KEY, is_answer, spans_of
from .tally import STDIN, Place, Tally, name_of


def read_documents(
    path: Path,
    nlp: Language,
    *,
    given: bool = True,
    spans_key: str | None = None,
    whole_file: bool = False,
    tally: Tally | None = None,
    format: str | None = None,
    gold: bool = False,
) -> Iterator[Doc]:
    """Stream the documents of a file or folder, unprocessed but for the tokeniser.

    A file named ``.spacy`` is a DocBin; every other format is told from the content, gzipped or not: JSONL with
    mentions, PubTator, BioC JSON and XML, a folder (or a pair of files) of BRAT standoff. Everything else is text, one
    document per line, or all of it with ``whole_file``. ``-`` is standard input.

    Args:
        path: The file or folder.
        nlp: The pipeline whose tokeniser and vocabulary the documents get.
        given: Put the file's mentions in ``doc.spans["ontolink"]`` (a file without any leaves the group out), and their
            original offsets and gold ids in ``doc.user_data``. A mention that starts or ends inside a token is widened
            to whole tokens, none is lost.
        spans_key: Where a ``.spacy`` file has its mentions; by default its entities, or if it has none, the group
            ``"ontolink"`` (which ``ontolink link`` writes) or ``"sc"``.
        whole_file: Take a text as one document.
        tally: Counts what passes.
        format: The format, where it is not to be told from the content.
        gold: Ids are to be learned from or compared with: refuse a ``.spacy`` file in which a pipeline gave them all.
            Otherwise its mentions are taken, and their ids are no gold ids.

    Raises:
        DataError: The file is missing, or a line cannot be used; the message says which and why.
        ConfigError: There is no such format, or a group is named for a file that is no ``.spacy``.
    """
    check_format(format)
    tally = tally if tally is not None else Tally()
    if (format or sniff_path(path)) == "spacy":
        documents = _read_docbin(path, nlp.vocab, given, spans_key, "refuse" if gold else "drop")
    else:
        _check_key(path, spans_key)
        rows = read_rows(path, format, given=given, whole_file=whole_file, tally=tally)
        documents = (to_doc(row if given else {**row, "mentions": None}, nlp, place, tally) for place, row in rows)
    for doc in documents:
        tally.documents += 1
        tally.mentions += len(doc.user_data[GIVEN]["mentions"])
        yield doc
    tally.warn(name_of(path))


def read_corpus_rows(
    path: Path, format: str | None, rules: IdRules, spans_key: str | None, tally: Tally
) -> Iterator[tuple[Place, Row]]:
    """Yield the documents of a file or folder of any format as plain values, without a pipeline.

    Raises:
        DataError: The file is missing, or a line cannot be used; the message says which and why.
    """
    if (format or sniff_path(path)) == "spacy":
        docs = _read_docbin(path, Vocab(), True, spans_key, "keep")
        places = (Place(path, number) for number in count(1))
        rows: Iterator[tuple[Place, Row]] = (
            (at, check_row({**doc.user_data[GIVEN], "text": doc.text}, at, tally))
            for at, doc in zip(places, docs, strict=False)
        )
    else:
        _check_key(path, spans_key)
        rows = read_rows(path, format, rules=rules, tally=tally)
    for place, row in rows:
        tally.documents += 1
        tally.mentions += len(row.get("mentions", ()))
        yield place, row


def to_doc(row: Row, nlp: Language, place: Place, tally: Tally, everything: bool = False) -> Doc:
    """Make a document of a checked row; its mentions are spans of whole tokens.

    Args:
        row: The row.
        nlp: The pipeline whose tokeniser and vocabulary it gets.
        place: Where it comes from.
        tally: Counts mentions that are widened.
        everything: Keep in ``doc.user_data`` what a row may have beside text, id and mentions.

    Raises:
        DataError: The text is too long for the pipeline.
    """
    text, mentions = row["text"], row.get("mentions")
    if len(text) > nlp.max_length:
        raise place.problem(f"{len(text):,} characters, more than the pipeline's {nlp.max_length:,}; split it")
    doc = nlp.make_doc(text)
    rest = {key: value for key, value in row.items() if key != "text"} if everything else {}
    doc.user_data[GIVEN] = {**rest, "id": row["id"], "mentions": mentions or []}
    if mentions is not None:
        doc.spans[SPANS_KEY] = [_span(doc, mention, tally) for mention in mentions]
    return doc


def _span(doc: Doc, mention: Row, tally: Tally) -> Span:
    start, end = mention["start"], mention["end"]
    span = doc.char_span(start, end, label=mention["label"], alignment_mode="expand")
    tally.expanded += (span.start_char, span.end_char) != (start, end)
    return span


def _check_key(path: Path, spans_key: str | None) -> None:
    """Refuse a span group for a file that has none."""
    if spans_key is not None:
        raise ConfigError(Errors.NO_GROUPS_IN.format(path=name_of(path)))


def _read_docbin(
    path: Path, vocab: Vocab, given: bool, spans_key: str | None, answers: Literal["keep", "drop", "refuse"]
) -> Iterator[Doc]:
    """Stream the documents of a ``.spacy`` file; ``answers``: what to do with ids that a pipeline gave."""
    if path == STDIN:
        raise DataError(Errors.SPACY_FROM_STDIN)
    docs = docs_of(open_docbin(path), vocab, path)
    groups = {key for doc in docs for key in doc.spans}
    if spans_key is not None and spans_key not in groups:
        found = ", ".join(sorted(groups)) or "none"
        raise DataError(Errors.NO_GROUP.format(path=path, spans_key=spans_key, groups=found))
    spans_key = spans_key or own_group(docs)
    ids = answers == "keep" or not _are_answers(docs, spans_key)
    if answers == "refuse" and not ids:
        raise DataError(Errors.ANSWERS_NOT_GOLD.format(path=path))
    given = given and any(spans_of(doc, spans_key) for doc in docs)
    for number, doc in enumerate(docs, start=1):
        yield note_given(doc, number, given, spans_key, ids)


def open_docbin(path: Path) -> DocBin:
    """Open a ``.spacy`` file.

    Raises:
        DataError: It is missing, or no DocBin.
    """
    if not path.is_file():
        raise DataError(Errors.INPUT_MISSING.format(path=path))
    try:
        return DocBin().from_disk(path)
    except Exception as error:  # zlib and msgpack each have their own
        raise DataError(Errors.NOT_DOCBIN.format(path=path, reason=error)) from error


def docs_of(packed: DocBin, vocab: Vocab, path: Path) -> list[Doc]:
    """Unpack the documents of a ``.spacy`` file.

    Raises:
        DataError: One cannot be unpacked.
    """
    try:
        return list(packed.get_docs(vocab))
    except Exception as error:  # msgpack and struct each have their own
        raise DataError(Errors.NOT_DOCBIN.format(path=path, reason=error)) from error


def own_group(docs: Sequence[Doc]) -> str | None:
    """Return the group that has the mentions of unpacked documents; None if they are the entities."""
    if any(doc.ents for doc in docs):
        return None
    return SPANS_KEY if any(SPANS_KEY in doc.spans for doc in docs) else "sc"


def _are_answers(docs: Sequence[Doc], spans_key: str | None) -> bool:
    """Whether every id in unpacked documents is what a pipeline answered: then nobody has seen to them since."""
    spans = [
        span for doc in docs if not doc.user_data.get(GIVEN, {}).get("mentions") for span in spans_of(doc, spans_key)
    ]
    linked = [span for span in spans if span.kb_id_ not in ("", NIL)]
    return bool(linked) and all(map(is_answer, linked))


def note_given(doc: Doc, number: int, given: bool, spans_key: str | None, ids: bool = True) -> Doc:
    """Note on an unpacked document its id, by default its number, and with ``given`` the mentions that it came with.

    ``ids`` says whether their ids are gold ids.
    """
    noted = doc.user_data.get(GIVEN)
    before = _plain(noted) if isinstance(noted, dict) else {}
    mentions: list[dict[str, Any]] = []
    if given:
        spans = spans_of(doc, spans_key)
        # A file that was linked before has its answers on the spans, and its gold ids where they were read.
        mentions = before.get("mentions") or [_given(span, ids) for span in spans]
        doc.spans[SPANS_KEY] = [Span(doc, span.start, span.end, label=span.label_) for span in spans]
    id = before.get("id") or doc.user_data.get("id", number)
    doc.user_data[GIVEN] = {**before, "id": str(id), "mentions": mentions}
    return doc


def _given(span: Span, ids: bool) -> dict[str, Any]:
    own = [span.kb_id_] if ids and span.kb_id_ not in ("", NIL) else []
    return {"start": span.start_char, "end": span.end_char, "text": span.text, "label": span.label_, "kb_ids": own}


def _plain(value: Any) -> Any:
    """Return a value that went through a DocBin, which turns lists into tuples, as it was before."""
    if isinstance(value, dict):
        return {key: _plain(own) for key, own in value.items()}
    return [_plain(own) for own in value] if isinstance(value, list | tuple) else value
