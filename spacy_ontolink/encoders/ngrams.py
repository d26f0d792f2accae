"""Character n-grams of words, for millions of names at once: arrays of 64-bit codes, no Python object per n-gram."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..text import normalise
from ..types import Ints1d
from .folding import fold

Codes = npt.NDArray[np.uint64]
Characters = npt.NDArray[np.uint32]

_NOT_WORD = re.compile(r"[\W_]+")
_INITIALS = re.compile(r"(?<!\S)([^\W\d]) (?=[^\W\d](?!\S))")
_LETTER_MEETS_DIGIT = re.compile(r"(?<=[^\W\d])(?=\d)|(?<=\d)(?=[^\W\d])")
_SPACE = np.uint32(ord(" "))
_BITS = np.uint64(21)  # a code point fits in 21 bits, so up to three characters are coded without loss
_ODD = np.uint64(0x9E3779B97F4A7C15)


def words(text: str) -> str:
    """Normalise to words of letters or digits with one space between them.

    Initials written apart are put together (``A-T``, ``A.T.`` and ``AT`` become one word), and numbers are set apart
    from letters (``BRCA1`` and ``BRCA 1`` become the same two words). Spellings and numerals are folded (``fold``).
    """
    text = _NOT_WORD.sub(" ", normalise(text)).strip()
    return fold(_LETTER_MEETS_DIGIT.sub(" ", _INITIALS.sub(r"\1", text)))


def ngrams(texts: Sequence[str], size: int, beginnings: Sequence[int]) -> tuple[Codes, Ints1d]:
    """Code the n-grams of each text's words, a word being padded by one space on either side.

    Args:
        texts: N texts as ``words`` returns them.
        size: The length of n-grams taken everywhere in a word, at least 3.
        beginnings: How many letters to take at the beginning of each word, once more for each number given.

    Returns:
        The code of every n-gram occurrence and the number of the text it is in; both of shape (occurrences,).
    """
    lengths = np.fromiter((len(text) for text in texts), np.int64, len(texts))
    # One string, single spaces between and around: an n-gram with a space inside would cross a word, so a text, border.
    joined = " " + " ".join(texts) + " " * (1 + max(size, *beginnings, 0))
    characters = np.frombuffer(joined.encode("utf-32-le", "replace"), np.uint32)
    # An n-gram belongs to the text of its second character, joined[start + 1], which is position `start` of the texts
    # laid end to end with one space after each.
    text_of = np.repeat(np.arange(len(texts), dtype=np.int32), lengths + 1)
    space = characters == _SPACE
    starts = [_starts(space, size, len(text_of))]
    starts += [_starts(space, 1 + letters, len(text_of), beginning=True) for letters in beginnings]
    codes = [
        _pack(characters, at, width) for at, width in zip(starts, (size, *(1 + n for n in beginnings)), strict=True)
    ]
    return np.concatenate(codes), text_of[np.concatenate(starts)]


def _starts(space: npt.NDArray[np.bool_], width: int, count: int, beginning: bool = False) -> npt.NDArray[np.int64]:
    """Where windows of ``width`` characters start that have no space inside, and for beginnings none at the end."""
    inside = ~space[1 : 1 + count]
    for offset in range(2, width if beginning else width - 1):
        inside &= ~space[offset : offset + count]
    return np.flatnonzero(inside & space[:count]) if beginning else np.flatnonzero(inside)


def _pack(characters: Characters, starts: npt.NDArray[np.int64], width: int) -> Codes:
    """Fold each window into 64 bits: exact up to three characters, beyond that with no collision to be expected."""
    code = characters[starts].astype(np.uint64)
    for offset in range(1, width):
        following = characters[starts + offset].astype(np.uint64)
        code = (code << _BITS | following) if offset < 3 else (code * _ODD) ^ (following * _ODD >> np.uint64(7))
    return code * _ODD + np.uint64(width)


def whole_words(texts: Sequence[str]) -> tuple[Codes, Ints1d]:
    """Code each word of each text, in order.

    Args:
        texts: N texts as ``words`` returns them.

    Returns:
        The code of every word and the number of the text it is in; both of shape (words,).
    """
    lengths = np.fromiter((len(text) for text in texts), np.int64, len(texts))
    characters = np.frombuffer(" ".join([*texts, ""]).encode("utf-32-le", "replace"), np.uint32)
    inside = characters != _SPACE
    begins = np.flatnonzero(inside & np.append(True, ~inside[:-1]))
    if not len(begins):
        return np.empty(0, np.uint64), np.empty(0, np.int32)
    place = np.arange(len(characters)) - np.repeat(begins, np.diff(np.append(begins, len(characters))))
    powers = np.cumprod(np.full(int(place.max()) + 1, _ODD))
    codes = np.add.reduceat(np.where(inside, characters * powers[place], np.uint64(0)), begins)
    text_of = np.repeat(np.arange(len(texts), dtype=np.int32), lengths + 1)
    return codes * _ODD, text_of[begins]
