"""Find the abbreviations that a text defines, after Schwartz and Hearst (PSB 2003): ``body fat percentage (BFP)``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

_MAX_SHORT = 10  # characters of a short form, the paper's limit
_MAX_LONG = 250  # characters looked at per bracket: keeps the time linear in the text
_CLOSING = {"(": ")", "[": "]", "（": "）"}
_BRACKET = re.compile(r"[()\[\]（）]")
_SHORT_ENDS = re.compile(r"[;,:=<>()\[\]（）]")
_SENTENCE_END = re.compile(r"[;!?]\s|(?<=\w\w\w)\.\s|(?<=[)\]）])\.\s")
_QUOTES = " \t\r\n\"'“”‘’«»`"
_NOT_SPACE = re.compile(r"\S+")
_WORD = re.compile(r"\w+")


class Abbreviation(NamedTuple):
    """A short form and what it stands for; for both, ``text[start : start + len(form)] == form``."""

    short: str
    long: str
    short_start: int
    long_start: int


def find_abbreviations(text: str) -> list[Abbreviation]:
    """Find the definitions ``long form (SF)`` and ``SF (long form)``, in the order in which their brackets close."""
    found = (_short_inside(text, start, end) or _long_inside(text, start, end) for start, end in _bracketed(text))
    return [definition for definition in found if definition]


def long_forms(text: str) -> dict[str, str]:
    """Map each short form that the text defines to its long form; the first definition wins."""
    forms: dict[str, str] = {}
    for found in find_abbreviations(text):
        forms.setdefault(found.short, found.long)
    return forms


def expand(mention: str, forms: Mapping[str, str]) -> str | None:
    """Write out each short form that is a word (or its plural) of ``mention``; None if there is none.

    A mention that spells the long form out already is left alone.
    """
    if mention in forms:
        return forms[mention]
    expanded = mention
    for short, long in forms.items():
        if short in mention and long not in mention:
            expanded = re.sub(rf"(?<!\w){re.escape(short)}s?(?!\w)", lambda _, long=long: long, expanded)  # type: ignore[misc]
    return None if expanded == mention else expanded


def _bracketed(text: str) -> Iterator[tuple[int, int]]:
    """Yield the inside of each matching pair of brackets, inner pairs first."""
    expected: list[tuple[str, int]] = []
    for match in _BRACKET.finditer(text):
        if match[0] in _CLOSING:
            expected.append((_CLOSING[match[0]], match.end()))
        elif expected and expected[-1][0] == match[0]:
            yield expected.pop()[1], match.start()


def _short_inside(text: str, start: int, end: int) -> Abbreviation | None:
    inside = _SHORT_ENDS.split(text[start : min(end, start + _MAX_LONG)], maxsplit=1)[0]
    short, short_start = _trim(inside, start)
    if not _is_short_form(short):
        return None
    stop = start - 1
    begin = max(0, stop - _MAX_LONG)
    for sentence_end in _SENTENCE_END.finditer(text, begin, stop):
        begin = sentence_end.end()
    words = list(_NOT_SPACE.finditer(text, begin, stop))[-_max_words(short) :]
    if not words:
        return None
    swapped = _swapped_initials(short, [word[0] for word in words])
    begin = words[-swapped if swapped else 0].start()
    at = 0 if swapped else _align(short, text[begin:stop])
    return None if at is None else _checked(short, short_start, *_trim(text[begin + at : stop], begin + at))


def _long_inside(text: str, start: int, end: int) -> Abbreviation | None:
    if end - start > _MAX_LONG:
        return None
    long, long_start = _trim(text[start:end].split(";")[0], start)
    begin = max(0, start - 2 * _MAX_SHORT)
    words = list(_NOT_SPACE.finditer(text, begin, start - 1))
    if not words or (words[-1].start() == begin > 0 and not text[begin - 1].isspace()):
        return None
    short, short_start = _trim(words[-1][0].lstrip("([（"), words[-1].end() - len(words[-1][0].lstrip("([（")))
    if not _is_short_form(short) or len(long.split()) > _max_words(short) or _align(short, long) != 0:
        return None
    return _checked(short, short_start, long, long_start)


def _trim(form: str, start: int) -> tuple[str, int]:
    """Strip white space and quotes; the start moves along."""
    left = form.lstrip(_QUOTES)
    return left.rstrip(_QUOTES), start + len(form) - len(left)


def _is_short_form(form: str) -> bool:
    return 2 <= len(form) <= _MAX_SHORT and form[0].isalnum() and any(map(str.isalpha, form)) and len(form.split()) <= 2


def _max_words(short: str) -> int:
    return min(len(short) + 5, 2 * len(short))


def _align(short: str, text: str) -> int | None:
    """Find the letters and digits of ``short`` in ``text``, from right to left; the first one must start a word."""
    at = len(text)
    for position in range(len(short) - 1, -1, -1):
        letter = short[position].lower()
        if not letter.isalnum():
            continue
        at -= 1
        while at >= 0 and (text[at].lower() != letter or (position == 0 and at > 0 and text[at - 1].isalnum())):
            at -= 1
        if at < 0:
            return None
    return at


def _swapped_initials(short: str, words: list[str]) -> int:
    """Return how many last words have the letters of ``short`` as initials, in another order: myotonic dystrophy (DM).

    0 if they do not, or do in the same order. An addition to the paper.
    """
    initials = "".join(word[0] for word in words[-len(short) :]).lower()
    letters = short.lower()
    return len(short) if short.isupper() and initials != letters and sorted(initials) == sorted(letters) else 0


def _checked(short: str, short_start: int, long: str, long_start: int) -> Abbreviation | None:
    """Refuse what only looks like a definition."""
    words = _WORD.findall(long)
    if len(long) <= len(short) or short in words or len(_BRACKET.findall(long)) % 2:
        return None
    # An ordinary word in brackets, such as "(see)", has no capital; then the initials must spell it.
    if short.islower() and "".join(word[0] for word in words).lower() != short:
        return None
    return Abbreviation(short, long, short_start, long_start)
