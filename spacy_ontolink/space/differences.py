"""In what words a mention and a name differ: as features, for many pairs at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ..encoders.ngrams import Codes, ngrams, whole_words, words
from ..types import Floats1d

BUCKETS = 1 << 18
"""Features there are: the first few by meaning, the others by the hash of one word, or of two."""
PLAIN = 8
"""Features by meaning: see ``differences``."""
LOST = 0
"""The first of these: the share of the mention's characters in words without a match."""

_ALIKE = 0.45  # Dice coefficient of the trigrams of two words from which on they are forms of one word
_MOST = 20  # pairs of differing words taken as features; of more, none tells anything
_PAIRS = 1 << 15  # pairs of texts compared at a time
_ODD = np.uint64(0x9E3779B97F4A7C15)

WordSet = tuple[int, ...]
Ints = npt.NDArray[np.int64]


class WordSets:
    """Texts as sets of words, which are numbered as they are met."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._sets: dict[str, WordSet] = {}

    def __call__(self, text: str) -> WordSet:
        """Return the numbers of a text's words, each once, ascending."""
        found = self._sets.get(text)
        if found is None:
            numbers = self._numbers
            found = tuple(sorted({numbers.setdefault(word, len(numbers)) for word in words(text).split()}))
            self._sets[text] = found
        return found

    def vocabulary(self) -> Vocabulary:
        """Return what is to be known of all words met so far."""
        return Vocabulary(list(self._numbers))


class Vocabulary:
    """Numbered words: their codes, their lengths, whether they are numbers, and how alike two of them are."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.code: Codes = whole_words(texts)[0]
        self.length = np.array([len(text) for text in texts], np.float32)
        self.is_number = np.array([text.isdigit() for text in texts], bool)
        codes, of = ngrams(texts, 3, ())
        _, column = np.unique(codes, return_inverse=True)
        shape = (len(texts), int(column.max(initial=0)) + 1)
        self._trigrams = sp.csr_matrix((np.ones(len(of), np.float32), (of, column)), shape=shape)
        self._trigrams.data[:] = 1  # those that a word has twice were summed
        self._size = np.asarray(self._trigrams.sum(axis=1)).ravel()

    def likeness(self, one: Ints, other: Ints) -> Floats1d:
        """Return Dice coefficients of the trigrams of pairs of words; a number is like no other word."""
        key, place = np.unique(one * len(self.length) + other, return_inverse=True)
        a, b = np.divmod(key, len(self.length))
        common = np.asarray(self._trigrams[a].multiply(self._trigrams[b]).sum(axis=1)).ravel()
        dice = 2 * common / np.maximum(self._size[a] + self._size[b], 1)
        dice[self.is_number[a] | self.is_number[b]] = 0
        return np.asarray(dice[place], np.float32)


def differences(vocabulary: Vocabulary, mentions: Sequence[WordSet], names: Sequence[WordSet]) -> sp.csr_matrix:
    """Compare pairs of word sets, of a mention and of a name, (P, BUCKETS).

    Words that are equal, or forms of one word, are matched. Features by meaning are, for mention and for name, the
    share of characters in words without a match, whether one of these is a number, and how many they are; then how
    unlike the matched forms are, and whether nothing is without a match. Each word without a match is one more feature,
    by side, and so is each pair of such words: what was said in place of what.
    """
    blocks = [
        _differences(vocabulary, mentions[start : start + _PAIRS], names[start : start + _PAIRS])
        for start in range(0, len(mentions), _PAIRS)
    ]
    return sp.vstack(blocks, format="csr") if blocks else sp.csr_matrix((0, BUCKETS), dtype=np.float32)


def _differences(vocabulary: Vocabulary, mentions: Sequence[WordSet], names: Sequence[WordSet]) -> sp.csr_matrix:
    n = len(mentions)
    sizes = [np.fromiter(map(len, side), np.int64, n) for side in (mentions, names)]
    sides = [np.fromiter((word for own in side for word in own), np.int64, int(size.sum()))
             for side, size in zip((mentions, names), sizes, strict=True)]  # fmt: skip
    pair_of = [np.repeat(np.arange(n), size) for size in sizes]
    left, right = _crossed(sizes[0], sizes[1])
    equal = sides[0][left] == sides[1][right]
    matched = [np.zeros(len(side), bool) for side in sides]
    matched[0][left[equal]] = matched[1][right[equal]] = True
    rest = ~matched[0][left] & ~matched[1][right]
    left, right = left[rest], right[rest]
    alike = vocabulary.likeness(sides[0][left], sides[1][right])
    near = alike >= _ALIKE
    unlike = np.zeros(len(sides[0]), np.float32)
    unlike[left[near]] = 1
    np.minimum.at(unlike, left[near], 1 - alike[near])
    matched[0][left[near]] = matched[1][right[near]] = True

    table = _Table()
    every, counts = np.arange(n), []
    for side in (0, 1):
        lost = np.flatnonzero(~matched[side])
        word, pair = sides[side][lost], pair_of[side][lost]
        characters = np.bincount(pair_of[side], vocabulary.length[sides[side]], n)
        counts.append(np.bincount(pair, minlength=n))
        table.add(every, side, np.bincount(pair, vocabulary.length[word], n) / np.maximum(characters, 1))
        table.add(every, 2 + side, np.bincount(pair, vocabulary.is_number[word], n) > 0)
        table.add(every, 4 + side, counts[side])
        table.add(pair, _bucket(vocabulary.code[word] * _ODD + np.uint64(side)))
    table.add(every, 6, np.bincount(pair_of[0], unlike, n))
    table.add(every, 7, (counts[0] == 0) & (counts[1] == 0))
    pair = pair_of[0][left]
    both = ~matched[0][left] & ~matched[1][right] & (counts[0][pair] * counts[1][pair] <= _MOST)
    one, other = vocabulary.code[sides[0][left[both]]], vocabulary.code[sides[1][right[both]]]
    table.add(pair[both], _bucket((one * _ODD) ^ (other + (one >> np.uint64(9)))))
    return table.matrix(n)


def _crossed(mention_sizes: Ints, name_sizes: Ints) -> tuple[Ints, Ints]:
    """Put each word of a pair's mention beside each word of its name: places among all words of either side."""
    width = np.repeat(name_sizes, mention_sizes)
    ends, begin = np.cumsum(width), np.repeat(np.cumsum(name_sizes) - name_sizes, mention_sizes)
    right = np.arange(int(width.sum())) - np.repeat(ends - width - begin, width)
    return np.repeat(np.arange(len(width)), width), right


class _Table:
    """Features as they are put together."""

    def __init__(self) -> None:
        self._rows: list[np.ndarray] = []
        self._columns: list[np.ndarray] = []
        self._values: list[np.ndarray] = []

    def add(self, row: np.ndarray, column: np.ndarray | int, value: np.ndarray | float = 1.0) -> None:
        self._rows.append(row)
        self._columns.append(np.broadcast_to(column, row.shape))
        self._values.append(np.broadcast_to(np.asarray(value, np.float32), row.shape))

    def matrix(self, n: int) -> sp.csr_matrix:
        columns = (np.concatenate(self._rows), np.concatenate(self._columns))
        matrix = sp.csr_matrix((np.concatenate(self._values), columns), shape=(n, BUCKETS))
        matrix.eliminate_zeros()
        return matrix


def _bucket(codes: Codes) -> np.ndarray:
    mixed = codes * _ODD
    mixed ^= mixed >> np.uint64(32)
    bucket: np.ndarray = PLAIN + (mixed % np.uint64(BUCKETS - PLAIN)).astype(np.int64)
    return bucket
