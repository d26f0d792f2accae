"""All the names in what a language model says when it is asked for a list: commas, lines, JSON, prose, a cut end."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from ..text import normalise, one_line
from .cleaning import MOST_WORDS, ONLY_ID, REFUSAL, TAG, bare, lines, name_in, usable, without_lead

_MOST_LETTERS = 4000  # of an answer; what follows is no list of names of one thing
_MOST_OF_A_NAME = 400
_JSON = re.compile(r"[{\[]\s*(?:[\"{\[]|[}\]])")
_STRING = re.compile(r'(:\s*)?"((?:[^"\\]|\\.)*)"(?=(\s*:)?)')
_BULLET = re.compile(r"^\s*(?:[-*\u2022\u2013\u2023\u25aa+>#]+\s+|\(?\d{1,3}[.)]\s+)")
_LIST = re.compile(r"^\[(.*)\]$")
_STOPS = "|;\n\u3001\uff0c\uff1b\u060c"  # separators wherever they stand; some write lists with commas of their own
_OPEN, _CLOSE = "([{\uff08", ")]}\uff09"
_QUOTES = {'"': '"', "\u201c": "\u201d", "\u00ab": "\u00bb", "'": "'", "\u2018": "\u2019", "\u201e": "\u201c", "`": "`"}
_UNCLOSED = re.compile(r"\s*\([^()]*$")
_AND = re.compile(r"^(?:and|or|and/or)\s+", re.IGNORECASE)
# Words of sentences, which names have not: "May-Hegglin anomaly" has no verb.
_SENTENCE = re.compile(
    r"(?<![\w-])(?:is|are|was|were|be|which|because|refers|means|this|these|it|its|they|you)(?![\w'’-])"
    r"|\b[Ii]t['’]s\b"
    r"|\b(?:I|you|we|they)\b (?:can|could|have|hope|would|will|am|think)\b"
)
_ARTICLE = re.compile(r"^(?:the|a|an|this|these|it|any|all)\s", re.IGNORECASE)


class Names(NamedTuple):
    """What an answer gives.

    Attributes:
        names: Distinct names, as they were written, in the order of the answer.
        dropped: How many others there were, by reason: ``name`` (the entity's own), ``repeated``, ``definition``,
            ``long``, ``prose``, ``id``, ``useless`` (a number, a single letter, "none").
    """

    names: list[str]
    dropped: Counter[str]


def read_names(
    answer: str, *, name: str = "", definition: str = "", id: str = "", max_words: int = MOST_WORDS
) -> Names:
    """Salvage the names in an answer; a refusal, an essay or nothing gives none.

    Names are equal if ``normalise`` makes them so. Commas inside brackets, quotes, numbers and items of a list do not
    separate. Any language will do.

    Args:
        answer: What a language model said.
        name: The entity's own name, which is no answer.
        definition: What the model was asked about.
        id: The entity's id.
        max_words: A name with more words than these is none.
    """
    reader = _Reader(normalise(name), normalise(definition), normalise(id), max_words)
    text = TAG.sub("", bare(answer, _MOST_LETTERS))
    found = _from_json(text)
    if found is None:
        reader.take_lines(text)
    else:
        for part, is_item in found:
            if is_item:
                reader.take([part])
            else:
                reader.take_lines(part)
    return Names(reader.names, reader.dropped)


class _Reader:
    """Takes pieces of an answer and keeps those that are names."""

    def __init__(self, name: str, definition: str, id: str, max_words: int) -> None:
        self.name, self.definition, self.id, self.max_words = name, definition, id, max_words
        self.names: list[str] = []
        self.dropped: Counter[str] = Counter()
        self._seen: set[str] = set()

    def take_lines(self, text: str) -> None:
        """Take what stands in lines, until one refuses to answer; an item of a list is one name."""
        found = list(lines(text))
        bullets = sum(bool(_BULLET.match(line)) for line in found) > 1
        for line in found:
            if REFUSAL.search(line):
                return
            is_item = bullets and bool(_BULLET.match(line))
            line = without_lead(line)
            if self._is_definition(line):
                self.dropped["definition"] += 1
                continue
            self._take_line(line, [line] if is_item else _split(line))

    def _take_line(self, line: str, pieces: list[str]) -> None:
        """Take the pieces of a line, unless they are those of a sentence."""
        bad = sum(self._is_prose(piece) for piece in pieces)
        sentence = _ARTICLE.match(line) and line.endswith((".", "!", "?"))
        if len(pieces) > 1 and bad and (2 * bad >= len(pieces) or sentence):
            self.dropped["prose"] += 1
        else:
            self.take(pieces)

    def take(self, pieces: list[str]) -> None:
        """Keep the pieces that are names, count the others."""
        for piece in pieces:
            text = one_line(_UNCLOSED.sub("", _AND.sub("", name_in(piece[:_MOST_OF_A_NAME], ""))))
            key = normalise(text)
            if reason := self._reason_against(piece, text, key):
                self.dropped[reason] += 1
            elif text:
                self._seen.add(key)
                self.names.append(text)

    def _reason_against(self, piece: str, text: str, key: str) -> str:
        if not key:
            return "useless" if piece.strip() else ""
        tests = {
            "id": key == self.id or ONLY_ID.fullmatch(text),
            "definition": self._is_definition(piece),
            "name": key == self.name,
            "repeated": key in self._seen,
            "prose": _SENTENCE.search(text),
            "long": len(text.split()) > self.max_words or len(piece) >= _MOST_OF_A_NAME,
            "useless": not usable(text, self.max_words),
        }
        return next((reason for reason, holds in tests.items() if holds), "")

    def _is_definition(self, text: str) -> bool:
        """Tell the definition, and any long stretch of it, from a name that happens to stand in it."""
        key = normalise(text).rstrip(".")
        if not key or not self.definition:
            return False
        long = len(key.split()) > min(self.max_words, 6)
        return key == self.definition.rstrip(".") or (long and (key in self.definition or self.definition in key))

    def _is_prose(self, piece: str) -> bool:
        return bool(_SENTENCE.search(piece)) or len(piece.split()) > self.max_words


def _split(line: str) -> list[str]:
    """Cut a line at its separators; where brackets or quotes are not closed, they count for nothing."""
    if match := _LIST.match(line.strip()):
        line = match[1]
    pieces, closed = _cut(line, whole=True)
    return pieces if closed else _cut(line, whole=False)[0]


def _cut(line: str, whole: bool) -> tuple[list[str], bool]:
    """Cut a line, ``whole``: not inside brackets and quotes; also tell whether all of these are closed."""
    pieces, start, depth, quote = [], 0, 0, ""
    for place, letter in enumerate(line):
        if quote:
            quote = "" if letter == quote and not line[place + 1 : place + 2].isalnum() else quote
        elif whole and letter in _QUOTES and not line[start:place].strip():
            quote = _QUOTES[letter]
        elif whole and letter in _OPEN:
            depth += 1
        elif whole and letter in _CLOSE:
            depth = max(depth - 1, 0)
        elif not depth and (letter in _STOPS or (letter == "," and _separates(line, place))):
            pieces.append(line[start:place])
            start = place + 1
    return [*pieces, line[start:]], not (depth or quote)


def _separates(line: str, place: int) -> bool:
    """Tell the comma of a list from that of ``2,3-dihydroxy`` and ``N,N-dimethyl``."""
    before, after = line[max(place - 3, 0) : place], line[place + 1 : place + 4]
    return not after[:1].strip() or after[0] in _QUOTES or (len(before + after) == 6 and (before + after).isalpha())


def _from_json(text: str) -> list[tuple[str, bool]] | None:
    """Return the texts in JSON, be it cut, and whether each is an item of a list; None where there is no JSON."""
    start = _JSON.search(text)
    if start is None:
        return None
    found: list[tuple[str, bool]] = []
    rest = text[start.start() :]
    while (start := _JSON.search(rest)) is not None:
        try:
            value, end = json.JSONDecoder(strict=False).raw_decode(rest, start.start())
        except (ValueError, RecursionError):
            strings = _STRING.findall(rest[start.start() :])
            return found + [(text, not after_key) for after_key, text, is_key in strings if not is_key]
        found += _texts(value)
        rest = rest[end:]
    return found


def _texts(value: Any, is_item: bool = False) -> Iterator[tuple[str, bool]]:
    if isinstance(value, str):
        yield value, is_item
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item, isinstance(value, list))
