"""The documents of a chunk, before they have tokens, each with its row in the shard."""

from __future__ import annotations

import collections
import math
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc, DocBin

from ..documents import Tally
from ..documents.formats import Row, check_row
from ..documents.formats.lines import jsonl_row
from ..documents.formats.source import decode_line, open_source
from ..documents.reading import docs_of, note_given, open_docbin, own_group, to_doc
from ..documents.records import spans_of
from ..documents.tally import Place
from ..errors import DataError, Errors
from ..unpacking import lines_in
from .job import Job
from .shards import Chunk, Shard, open_parquet

_LISTS = ("tokens", "spaces", "cats", "flags", "user_data", "span_groups")
"""What a DocBin has an item of for each document."""


@dataclass(frozen=True)
class Record:
    """A document of a shard.

    Attributes:
        row: Its row in the shard, from 0.
        place: Where it stands, for messages.
        plain: Its id, text and mentions, or as much of them as can be read.
    """

    row: int
    place: Place
    plain: Row

    def doc(self, nlp: Language) -> Doc:
        """Make the document."""
        return to_doc(self.plain, nlp, self.place, Tally())


@dataclass(frozen=True)
class PackedRecord(Record):
    """A document of a ``.spacy`` shard, which has its tokens already."""

    packed: DocBin
    given: bool
    spans_key: str | None

    def doc(self, nlp: Language) -> Doc:
        (doc,) = docs_of(self.packed, nlp.vocab, self.place.path)
        return note_given(doc, self.place.line, self.given, self.spans_key)


@dataclass(frozen=True)
class Unreadable:
    """A row that is no document."""

    row: int
    plain: dict[str, Any]
    error: DataError


def plain(value: Any) -> Any:
    """Return a value as JSON can have it: bytes decoded, and what JSON has no kind for as its text."""
    if isinstance(value, dict):
        return {str(key): plain(own) for key, own in value.items()}
    if isinstance(value, list | tuple):
        return [plain(own) for own in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if value is None or isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return str(value)


def read_chunk(chunk: Chunk, job: Job) -> Iterator[Record | Unreadable]:
    """Yield the documents of a chunk; what cannot be read keeps nobody from the rest.

    Raises:
        DataError: The file is missing, or damaged as a whole.
    """
    if chunk.shard.format == "spacy":
        yield from _packed(chunk, job)
        return
    rows = _lines(chunk) if chunk.shard.format == "jsonl" else _parquet_rows(chunk, job)
    for number, value in rows:
        if isinstance(value, Unreadable):
            yield value
            continue
        place = Place(Path(chunk.shard.path), number + 1)
        try:
            row = jsonl_row(decode_line(value, place), place) if isinstance(value, bytes) else _text_row(value, place)
            row = check_row(row if job.given else {**row, "mentions": None}, place, Tally())
        except DataError as error:
            shown = {"raw": value.decode("utf-8", "replace")} if isinstance(value, bytes) else value
            yield Unreadable(number, shown, error)
            continue
        yield Record(number, place, row)


def _lines(chunk: Chunk) -> Iterator[tuple[int, bytes]]:
    with open_source(Path(chunk.shard.path)) as source:
        if source.file.seekable():
            source.file.seek(chunk.offset)
        else:  # packed: the lines before have to be unpacked
            collections.deque(islice(source.file, chunk.start), maxlen=0)
        lines = islice(lines_in(source.file), chunk.stop - chunk.start)
        for number, line in enumerate(lines, start=chunk.start):
            if line.strip():
                yield number, line


def _parquet_rows(chunk: Chunk, job: Job) -> Iterator[tuple[int, Row | Unreadable]]:
    """Yield the rows of a chunk; from a damaged page on, none of them can be read."""
    from pyarrow import ArrowException

    names = {job.text: "text", job.id: "id", "mentions": "mentions"}
    done, opened = chunk.start, False
    try:
        with open_parquet(chunk.shard) as file:
            present = [name for name in names if name in file.schema_arrow.names]
            groups, at = [], 0
            first, opened = None, True
            for group in range(file.num_row_groups):
                rows = file.metadata.row_group(group).num_rows
                if at < chunk.stop and at + rows > chunk.start:
                    first = at if first is None else first
                    groups.append(group)
                at += rows
            at = first or 0
            for batch in file.iter_batches(row_groups=groups, columns=present):
                start, stop = max(chunk.start - at, 0), min(chunk.stop - at, len(batch))
                for number in range(start, stop):
                    done = at + number + 1
                    yield done - 1, _parquet_row(batch, number, names, Place(Path(chunk.shard.path), done))
                at += len(batch)
                if at >= chunk.stop:
                    return
    except (ArrowException, OSError) as error:
        problem = DataError(Errors.BULK_UNREADABLE.format(path=chunk.shard.path, reason=error))
        if opened and getattr(error, "errno", None) is None:
            yield from ((number, Unreadable(number, {}, problem)) for number in range(done, chunk.stop))
            return
        raise problem from error


def _parquet_row(batch: Any, number: int, names: dict[str, str], place: Place) -> Row | Unreadable:
    row: dict[str, Any] = {}
    problem = None
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        try:
            row[names[name]] = plain(column[number].as_py())
        except UnicodeDecodeError as error:
            problem = place.problem(f"column '{name}' is not UTF-8 ({error})")
            row[names[name]] = error.object.decode("utf-8", "replace")
    return Unreadable(place.line - 1, row, problem) if problem else row


def _text_row(row: Row, place: Place) -> Row:
    if not isinstance(row.get("text"), str):
        raise place.problem("no text")
    id = row.get("id")
    return {**row, "id": str(place.line if id is None else id)}


def _packed(chunk: Chunk, job: Job) -> Iterator[PackedRecord]:
    path = Path(chunk.shard.path)
    packed = open_docbin(path)
    for number in range(chunk.start, chunk.stop):
        place = Place(path, number + 1)
        yield PackedRecord(number, place, {}, _slice(packed, number, number + 1), job.given, job.spans_key)


def _slice(packed: DocBin, start: int, stop: int) -> DocBin:
    """Return some of the packed documents without unpacking any."""
    part = DocBin(attrs=(), store_user_data=packed.store_user_data)
    part.attrs, part.strings = packed.attrs, packed.strings
    for name in _LISTS:
        setattr(part, name, getattr(packed, name)[start:stop])
    return part


def look(shards: Iterable[Shard], job: Job, nlp: Language) -> tuple[bool, str | None]:
    """Peek at the first shard that has documents."""
    return next((seen for shard in shards if (seen := peek(shard, job, nlp)) is not None), (False, None))


def peek(shard: Shard, job: Job, nlp: Language, number: int = 64) -> tuple[bool, str | None] | None:
    """Look at the first documents of a shard: return whether any has mentions, and the group of those of ``.spacy``.

    The group is None for entities, and for other formats. All is None if no document is there.

    Raises:
        DataError: The shard cannot be read, or no document of it has the group that was named.
    """
    if shard.format != "spacy":
        first = [record.plain for record in read_chunk(Chunk(shard, 0, number), job) if isinstance(record, Record)]
        return (any(bool(plain.get("mentions")) for plain in first), None) if first else None
    path = Path(shard.path)
    packed = open_docbin(path)
    docs = _readable(_slice(packed, 0, number), nlp, path)
    if not docs:
        return None
    if job.spans_key is not None and not any(job.spans_key in doc.spans for doc in docs):
        groups = {key for doc in _readable(packed, nlp, path) for key in doc.spans}
        if job.spans_key not in groups:
            found = ", ".join(sorted(groups)) or "none"
            raise DataError(Errors.NO_GROUP.format(path=path, spans_key=job.spans_key, groups=found))
    key = job.spans_key or own_group(docs)
    return any(spans_of(doc, key) for doc in docs), key


def _readable(packed: DocBin, nlp: Language, path: Path) -> list[Doc]:
    """Unpack the documents that can be."""
    docs: list[Doc] = []
    for number in range(len(packed)):
        with suppress(DataError):
            docs += docs_of(_slice(packed, number, number + 1), nlp.vocab, path)
    return docs
