"""Find the abbreviations that a text defines, after Schwartz and Hearst (PSB 2003): ``body fat percentage (BFP)``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..coordination import coordination

_MAX_SHORT = 10  # characters of a short form, the paper's limit
_MAX_LONG = 250  # characters looked at per bracket: keeps the time linear in the text
_CLOSING = {"(": ")", "[": "]", "（": "）"}
_BRACKET = re.compile(r"[()\[\]（）]")
_SHORT_ENDS = re.compile(r"[;,:=<>()\[\]（）]")
_SENTENCE_END = re.compile(r"[;!?]\s|(?<=\w\w\w)\.\s|(?<=[)\]）])\.\s")
_QUOTES = " \t\r\n\"'“”‘’«»`"
_NOT_SPACE = re.compile(r"\S+")
_WORD = re.compile(r"\w+")
_SMALL_WORDS = frozenset("a an and by for from in of on or the to with".split())


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


def find_joint_abbreviations(text: str) -> list[tuple[str, str]]:
    """Find short and long forms that are defined together: ``Duchenne or Becker muscular dystrophy (DMD/BMD)``.

    A long form need not stand in the text in one piece.
    """
    return [pair for start, end in _bracketed(text) for pair in _joint(text, start, end)]


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
    if not is_short_form(short):
        return None
    stop = start - 1
    words = _words_before(text, stop)[-_max_words(short) :]
    if not words:
        return None
    begin = words[0].start()
    at = _align_initials(short, text[begin:stop])
    if at is None and (swapped := _swapped_initials(short, [word[0] for word in words])):
        begin, at = words[-swapped].start(), 0
    if at is None:
        at = align(short, text[begin:stop])
    return None if at is None else _checked(short, short_start, *_trim(text[begin + at : stop], begin + at))


def _words_before(text: str, stop: int) -> list[re.Match[str]]:
    """The words of the sentence before a bracket, as far as a long form may reach back."""
    begin = max(0, stop - _MAX_LONG)
    for sentence_end in _SENTENCE_END.finditer(text, begin, stop):
        begin = sentence_end.end()
    return list(_NOT_SPACE.finditer(text, begin, stop))


def _joint(text: str, start: int, end: int) -> list[tuple[str, str]]:
    """Read several short forms in one bracket, each of its part of what stands before: an addition to the paper."""
    shorts = coordination(_SHORT_ENDS.split(text[start : min(end, start + _MAX_LONG)], maxsplit=1)[0])
    words = _words_before(text, start - 1)
    if shorts is None or not words:
        return []
    longs = coordination(text[words[0].start() : start - 1], len(shorts.pieces))
    forms = [" ".join(piece) for piece in shorts.pieces]
    if longs is None or len(longs.pieces) != len(forms) or not all(map(is_short_form, forms)):
        return []
    found = [_reading(form, [longs.part(number, 0, after) for after in range(longs.most_after + 1)])
             for number, form in enumerate(forms)]  # fmt: skip
    return [(form, long) for form, long in zip(forms, found, strict=True) if long]


def _reading(short: str, texts: Sequence[str]) -> str:
    """Return the long form in the first of several texts that has one for ``short``; "" if none has."""
    for text in texts:
        at = align(short, text)
        if at is not None and _checked(short, 0, text[at:], 0) and len(text[at:].split()) <= _max_words(short):
            return text[at:]
    return ""


def _long_inside(text: str, start: int, end: int) -> Abbreviation | None:
    if end - start > _MAX_LONG:
        return None
    long, long_start = _trim(text[start:end].split(";")[0], start)
    begin = max(0, start - 2 * _MAX_SHORT)
    words = list(_NOT_SPACE.finditer(text, begin, start - 1))
    if not words or (words[-1].start() == begin > 0 and not text[begin - 1].isspace()):
        return None
    short, short_start = _trim(words[-1][0].lstrip("([（"), words[-1].end() - len(words[-1][0].lstrip("([（")))
    if not is_short_form(short) or len(long.split()) > _max_words(short) or align(short, long) != 0:
        return None
    return _checked(short, short_start, long, long_start)


def _trim(form: str, start: int) -> tuple[str, int]:
    """Strip white space and quotes; the start moves along."""
    left = form.lstrip(_QUOTES)
    return left.rstrip(_QUOTES), start + len(form) - len(left)


def is_short_form(form: str) -> bool:
    """Whether a text could be a short form, by its length and letters."""
    return 2 <= len(form) <= _MAX_SHORT and form[0].isalnum() and any(map(str.isalpha, form)) and len(form.split()) <= 2


def _max_words(short: str) -> int:
    return min(len(short) + 5, 2 * len(short))


def align(short: str, text: str) -> int | None:
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


def _align_initials(short: str, text: str) -> int | None:
    """Find the words at the end whose initials are ``short``, small words left out: attenuated APC (AAPC).

    An addition to the paper, whose shortest match may take a letter from inside the next word.
    """
    letters = [letter for letter in short.lower() if letter.isalnum()]
    for word in reversed(list(_WORD.finditer(text))):
        if word[0][0].lower() == letters[-1]:
            letters.pop()
            if not letters:
                return word.start()
        elif word[0] not in _SMALL_WORDS:
            return None
    return None


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
