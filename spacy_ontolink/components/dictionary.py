"""Finds mentions by looking the names of a knowledge base up in text: a baseline that needs no trained pipeline."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import chain, compress
from typing import TYPE_CHECKING

import numpy as np
from spacy.tokens import Doc, Span

from ..text import normalise
from ..types import Bools1d

if TYPE_CHECKING:
    from ..kb import KnowledgeBase

SHORTEST = 3
LONGEST_ACRONYM = 5
_BLOCK = 65_536

# A word with its combining marks, soft hyphens and zero-width characters, or one sign.
_PIECE = re.compile("(?:[^\\W_][\u0300-\u036f\u00ad\u200b-\u200d\u2060]*)+|[^\\w\\s]|_")


class DictionaryMatcher:
    """Finds the names of a knowledge base in a document: leftmost, longest, ignoring what ``normalise`` ignores.

    Other texts, such as generated aliases, may be looked for, too, by the same rules. ``allowed`` marks the entities
    whose names are looked for, (E,), all by default.
    Names shorter than three characters, names without a letter, and single words of ``stop_words`` are left out.
    A short name in capitals, such as "ALL", is found in capitals only. Names are kept as sorted 64-bit hashes, so that
    millions of them take megabytes; a false match would need two texts of one hash.
    """

    def __init__(
        self,
        kb: KnowledgeBase,
        stop_words: Collection[str] = (),
        others: Sequence[str] = (),
        allowed: Bools1d | None = None,
    ) -> None:
        self._lengths: dict[str, int] = {}  # first word -> bit n is set if a name has n words
        # An array for each block: a Python int takes four times its hash.
        word_blocks, acronym_blocks = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for texts in chain(_names_of(kb, allowed), [others]):
            words: list[int] = []
            acronyms: list[int] = []
            for text in texts:
                pieces = [piece for _, _, piece in _pieces(text)]
                if not _is_useful(pieces, stop_words):
                    continue
                acronym = len(text) <= LONGEST_ACRONYM and text.isupper()
                (acronyms if acronym else words).append(hash(" ".join(pieces)))
                self._lengths[pieces[0]] = self._lengths.get(pieces[0], 0) | 1 << len(pieces)
            word_blocks.append(np.asarray(words, np.int64))
            acronym_blocks.append(np.asarray(acronyms, np.int64))
        self._words, self._acronyms = np.unique(np.concatenate(word_blocks)), np.unique(np.concatenate(acronym_blocks))

    def __call__(self, doc: Doc) -> list[Span]:
        """Return the mentions of a document, in order, none overlapping; each begins and ends with a token."""
        pieces = list(_pieces(doc.text))
        starts = {token.idx for token in doc}
        ends = {token.idx + len(token) for token in doc}
        windows = [
            (pieces[first][0], pieces[first + length - 1][1], " ".join(p for _, _, p in pieces[first : first + length]))
            for first, (start, _, piece) in enumerate(pieces)
            if start in starts
            for length in _bits(self._lengths.get(piece, 0))
            if first + length <= len(pieces) and pieces[first + length - 1][1] in ends
        ]
        keys = np.asarray([hash(text) for _, _, text in windows], np.int64)
        is_word, is_acronym = _isin(keys, self._words), _isin(keys, self._acronyms)
        spans: list[Span] = []
        done = 0
        for (start, end, _), word, acronym in zip(windows, is_word, is_acronym, strict=True):
            if start >= done and (word or (acronym and doc.text[start:end].isupper())):
                spans.append(doc.char_span(start, end))
                done = end
        return spans


def _names_of(kb: KnowledgeBase, allowed: Bools1d | None) -> Iterator[list[str]]:
    """Yield the names of all entities, or of those allowed, a block at a time."""
    for start in range(0, kb.n_names, _BLOCK):
        texts = kb.name_texts(start, start + _BLOCK)
        kept = None if allowed is None else allowed[kb.name_owner[start : start + _BLOCK]]
        yield texts if kept is None else list(compress(texts, kept))


def _pieces(text: str) -> Iterator[tuple[int, int, str]]:
    """Cut text into normalised words and signs with the offsets they came from; dashes are spaces.

    Of a word that falls apart, such as "Interferonα", only the first piece has a start and only the last an end; the
    others are -1, so that no mention begins or ends inside of it.
    """
    for match in _PIECE.finditer(text):
        pieces = normalise(match[0]).split()
        for number, piece in enumerate(pieces, start=1):
            yield match.start() if number == 1 else -1, match.end() if number == len(pieces) else -1, piece


def _is_useful(pieces: list[str], stop_words: Collection[str]) -> bool:
    text = " ".join(pieces)
    return len(text) >= SHORTEST and any(map(str.isalpha, text)) and text not in stop_words


def _bits(mask: int) -> Iterator[int]:
    """Yield the positions of the bits that are set, the highest first."""
    while mask:
        highest = mask.bit_length() - 1
        yield highest
        mask ^= 1 << highest


def _isin(keys: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Say of each key whether a sorted table has it (np.isin would sort the table again)."""
    if not len(table):
        return np.zeros(len(keys), np.bool_)
    found: np.ndarray = table[np.minimum(np.searchsorted(table, keys), len(table) - 1)] == keys
    return found
