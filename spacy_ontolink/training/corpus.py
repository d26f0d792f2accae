"""Mentions of an unlabelled corpus, kept in a file, so that the corpus need not fit in memory."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from ..text import normalise


@dataclass(frozen=True, slots=True)
class CorpusMention:
    """A mention that was found in the corpus: where it stands, its sentence, and gold ids if the corpus has any.

    ``start`` and ``end`` are offsets in the document's text; the sentence starts at ``sentence_start``, and is cut to
    what is near the mention where it is very long.
    """

    doc: str
    start: int
    end: int
    text: str
    sentence_start: int
    sentence: str
    label: str = ""
    gold: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CorpusDocument:
    """A document's text and the mentions found in it."""

    id: str
    text: str
    mentions: tuple[CorpusMention, ...]


class MentionFile:
    """Documents and their mentions in a temporary file without a name: read as often as needed, gone when closed.

    In memory are counts and the distinct texts of mentions only.

    Attributes:
        documents: Documents seen; those without a mention are not kept.
        blank: Mentions without any letter, digit or sign, which are left out.
        with_gold: Mentions with gold ids.
        texts: How often each text is a mention.
    """

    def __init__(self, folder: Path | None = None) -> None:
        """Open the file, in ``folder``: the system's own folder for temporary files may be in memory."""
        self._file: Any = tempfile.TemporaryFile(dir=folder)
        self.documents = self.blank = self.with_gold = 0
        self.texts: Counter[str] = Counter()

    def __enter__(self) -> MentionFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._file.close()

    def __len__(self) -> int:
        """Return the number of mentions, repeated ones included."""
        return self.texts.total()

    def write(self, documents: Iterable[CorpusDocument]) -> None:
        """Add documents at the end."""
        self._file.seek(0, 2)
        for document in documents:
            self.documents += 1
            mentions = [mention for mention in document.mentions if normalise(mention.text)]
            self.blank += len(document.mentions) - len(mentions)
            self.with_gold += sum(bool(mention.gold) for mention in mentions)
            self.texts.update(mention.text for mention in mentions)
            if mentions:
                row = [document.id, document.text, [_packed(mention) for mention in mentions]]
                self._file.write(json.dumps(row).encode() + b"\n")

    def __iter__(self) -> Iterator[CorpusDocument]:
        """Read all documents that have a mention; several readings may go on side by side."""
        place = 0
        while True:
            self._file.seek(place)
            line = self._file.readline()
            place = self._file.tell()
            if not line:
                return
            id, text, mentions = json.loads(line)
            yield CorpusDocument(id, text, tuple(_unpacked(id, text, mention) for mention in mentions))


def _packed(mention: CorpusMention) -> list[Any]:
    sentence_end = mention.sentence_start + len(mention.sentence)
    return [mention.start, mention.end, mention.sentence_start, sentence_end, mention.label, mention.gold]


def _unpacked(id: str, text: str, packed: list[Any]) -> CorpusMention:
    start, end, first, last, label, gold = packed
    return CorpusMention(id, start, end, text[start:end], first, text[first:last], label, tuple(gold))
