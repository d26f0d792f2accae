"""Character n-grams inside words, for millions of names at once: arrays of 64-bit codes, no Python object per n-gram."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..text import normalise
from ..types import Ints1d

Codes = npt.NDArray[np.uint64]

_NOT_WORD = re.compile(r"[\W_]+")
_SPACE = np.uint32(ord(" "))
_BITS = np.uint64(21)  # a code point fits in 21 bits, so up to three characters are coded without loss
_ODD = np.uint64(0x9E3779B97F4A7C15)


def words(text: str) -> str:
    """Normalise, and keep only letters and digits of any script, as words with one space between them."""
    return _NOT_WORD.sub(" ", normalise(text)).strip()


def ngrams(texts: Sequence[str], sizes: Sequence[int]) -> tuple[Codes, Ints1d]:
    """Code the n-grams of each text's words, a word being padded by one space on either side.

    Args:
        texts: N texts as ``words`` returns them.
        sizes: The lengths of n-grams, each at least 2.

    Returns:
        The code of every n-gram occurrence and the number of the text it is in; both of shape (occurrences,).
    """
    lengths = np.fromiter((len(text) for text in texts), np.int64, len(texts))
    # One string, single spaces between and around: an n-gram with a space inside would cross a word, so a text, border.
    joined = " " + " ".join(texts) + " " * max(sizes)
    characters = np.frombuffer(joined.encode("utf-32-le", "replace"), np.uint32)
    text_of = np.repeat(np.arange(len(texts), dtype=np.int32), lengths + 1)
    codes, owners = [], []
    for size in sizes:
        starts, packed = _windows(characters, size, len(text_of))
        codes.append(packed)
        # An n-gram belongs to the text of its second character, joined[start + 1], which is position `start` of the
        # texts laid end to end with one space after each.
        owners.append(text_of[starts])
    return np.concatenate(codes), np.concatenate(owners)


def _windows(characters: npt.NDArray[np.uint32], size: int, count: int) -> tuple[npt.NDArray[np.int64], Codes]:
    """Start and code of every window of ``size`` characters that touches a space at its ends only."""
    space = characters == _SPACE
    if size == 2:  # nothing inside; two spaces meet only where a text is empty
        inside = ~(space[:count] & space[1 : 1 + count])
    else:
        inside = ~space[1 : 1 + count]
    for offset in range(2, size - 1):
        inside &= ~space[offset : offset + count]
    starts = np.flatnonzero(inside)
    packed = characters[starts].astype(np.uint64)
    for offset in range(1, size):
        following = characters[starts + offset].astype(np.uint64)
        packed = (packed << _BITS | following) if offset < 3 else (packed * _ODD) ^ (following * _ODD >> np.uint64(7))
    return starts, packed * _ODD + np.uint64(size)
