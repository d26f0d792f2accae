"""BioC JSON, read as it comes: a collection, a list of them, documents on their own, or one on each line."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TextIO

from ...errors import DataError, Errors
from ..tally import Place, Tally, name_of
from .bioc import document_of, row_of
from .ids import IdRules
from .rows import Row, load_json
from .source import Source

_CHUNK = 1 << 20
# A quote alone is a string that goes on in the next chunk.
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]]|"', re.DOTALL)
_COLON = re.compile(r"\s*:")
_HOLDERS = ('"documents"', '"PubTator3"')
_OPENING = {"}": "{", "]": "["}


def read_bioc_json(source: Source, rules: IdRules, tally: Tally) -> Iterator[tuple[Place, Row]]:
    """Yield the documents, holding one at a time; a document is whatever has passages.

    Raises:
        DataError: It is not JSON, is cut short, or a document in it cannot be used.
    """
    for line, text, header in _Scanner(source).documents():
        place = Place(source.path, line)
        try:
            document = load_json(text)
        except ValueError as error:
            raise place.problem(f"the document that begins here is not JSON ({error})") from error
        yield place, row_of(document, header, place, rules, tally)


@dataclass
class _Frame:
    """An object or a list that is open; ``start`` counts from the beginning of the buffer."""

    kind: str
    start: int
    is_document: bool = False
    is_collection: bool = False


class _Scanner:
    """Cuts documents out of JSON by its brackets and strings alone, so that nothing else need be held."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._buffer, self._at, self._line = "", 0, 1
        self._open: list[_Frame] = []
        self._header: Row = {}

    def documents(self) -> Iterator[tuple[int, str, Row]]:
        """Yield each document's line, its text, and what its collection says before it."""
        for chunk in self._chunks():
            self._buffer += chunk
            while (token := _TOKEN.search(self._buffer, self._at)) and token[0] != '"':
                if token[0] in _HOLDERS or token[0] == '"passages"':
                    if _COLON.match(self._buffer, token.end()) is None and not self._buffer[token.end() :].strip():
                        break  # whether it is a key, the next chunk tells
                    self._key(token)
                elif token[0] in "{[":
                    self._between(token.start())
                    self._open.append(_Frame(token[0], token.start()))
                elif token[0] in _OPENING:
                    frame = self._close(token)
                    if frame.is_document:
                        yield self._line_of(frame.start), self._buffer[frame.start : token.end()], self._header
                elif not self._open:
                    raise self._problem(token.start(), "a string where a document should be")
                self._at = token.end()
            else:
                self._at = token.start() if token else len(self._buffer) if self._open else self._at
            self._forget()
        if self._open:
            raise self._problem(self._open[-1].start, "it is cut short: what begins here has no end")
        self._between(len(self._buffer))

    def _chunks(self) -> Iterator[str]:
        decoder, first = codecs.getincrementaldecoder("utf-8")(), True
        while True:
            data = self._source.file.read(_CHUNK)
            try:
                text = decoder.decode(data, final=not data)
            except UnicodeDecodeError as error:
                line = self._line_of(len(self._buffer)) + error.object[: error.start].count(b"\n")
                reason = f"not UTF-8 (byte 0x{error.object[error.start]:02x})" if data else "it is cut short"
                raise Place(self._source.path, line).problem(reason) from error
            yield text.removeprefix("\ufeff") if first else text
            first = False
            if not data:
                return

    def _key(self, token: re.Match[str]) -> None:
        """Take note of what the key of an object shows it to be."""
        frame = self._open[-1] if self._open else None
        if frame is None or frame.kind != "{" or any(other.is_document for other in self._open):
            return
        if _COLON.match(self._buffer, token.end()) is None:
            return
        if token[0] == '"passages"':
            frame.is_document = True
            return
        frame.is_collection = True
        before = self._buffer[frame.start : token.start()].rstrip().rstrip(",")
        try:
            header: dict[str, Any] = load_json(before + "}")
        except ValueError as error:
            raise self._problem(frame.start, f"not JSON ({error})") from error
        self._header = {key: header[key] for key in ("source", "date", "key", "infons") if header.get(key)}

    def _close(self, token: re.Match[str]) -> _Frame:
        if not self._open or self._open[-1].kind != _OPENING[token[0]]:
            raise self._problem(token.start(), f"not JSON: '{token[0]}' closes nothing")
        return self._open.pop()

    def _between(self, end: int) -> None:
        """Make sure that between documents there is nothing else."""
        if not self._kept() and (not self._open or self._open[-1].kind == "["):
            other = self._buffer[self._at : end].strip(" \t\r\n,\x1e")
            if other:
                raise self._problem(self._at, f"{other[:20]!r} where a document should be")

    def _kept(self) -> list[_Frame]:
        """The open objects that may turn out to be documents, or the beginnings of collections."""
        return [frame for frame in self._open if frame.kind == "{" and not frame.is_collection]

    def _forget(self) -> None:
        """Let go of what no document needs."""
        cut = min([self._at, *(frame.start for frame in self._kept())])
        self._line += self._buffer.count("\n", 0, cut)
        self._buffer = self._buffer[cut:]
        self._at -= cut
        for frame in self._open:
            frame.start = max(0, frame.start - cut)

    def _line_of(self, position: int) -> int:
        return self._line + self._buffer.count("\n", 0, position)

    def _problem(self, position: int, reason: str) -> DataError:
        line = self._line_of(position)
        name = name_of(self._source.path)
        return DataError(Errors.NOT_BIOC.format(path=f"{name}, line {line}", format="BioC JSON", reason=reason))


class BiocJsonWriter:
    """Writes one collection, document by document."""

    def __init__(self, file: TextIO) -> None:
        self._file, self._begun = file, False

    def write(self, row: Row) -> None:
        """Write a document; the collection is that of the first one."""
        self._begin(row.get("collection") or {})
        self._file.write(json.dumps(document_of(row), ensure_ascii=False))

    def _begin(self, header: Row) -> None:
        if self._begun:
            self._file.write(",\n")
            return
        self._begun = True
        fields = {"source": "", "date": "", "key": "", "infons": {}, **header}
        self._file.write(json.dumps(fields, ensure_ascii=False)[:-1] + ', "documents": [\n')

    def close(self) -> None:
        """Write the end."""
        if not self._begun:
            self._begin({})
        self._file.write("\n]}\n")
