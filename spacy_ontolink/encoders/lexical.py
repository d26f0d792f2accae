"""TF-IDF over character n-grams of words. No torch, no training, milliseconds to load."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from ..errors import ConfigError, Errors, OntologyError, StateError
from ..files import REBUILD, open_tensors, write_tensors
from ..types import EntityRows, Floats1d, Ints1d, Mention
from ..vectors import Vectors, stack
from .names import name_blocks, positions_of
from .ngrams import Codes, ngrams, words

if TYPE_CHECKING:
    from ..kb import KnowledgeBase

_BLOCK = 100_000  # names at a time


class LexicalEncoder:
    """Weigh n-grams by ``(1 + log tf) · idf`` and scale to unit length; one row per name.

    The n-grams are all of ``size`` characters inside a word (padded by a space on either side), and the first letters
    of each word: one letter ties abbreviations to what they stand for, four act as a stem. N-grams that no name of the
    KB has are left out, so a mention that shares none gets a zero vector.
    ``idf = 1 + ln((1 + names) / (1 + names with the n-gram))``.
    """

    uses_context = False
    by_name = True

    def __init__(self, size: int = 3, beginnings: Sequence[int] = (1, 4)) -> None:
        """Take the length of n-grams and the numbers of first letters.

        Raises:
            ConfigError: ``size`` is not within 3 to 8, or a beginning not within 1 to 8.
        """
        if not 3 <= size <= 8 or any(not 1 <= letters <= 8 for letters in beginnings):
            raise ConfigError(Errors.BAD_NGRAMS.format(size=size, beginnings=list(beginnings)))
        self.size = size
        self.beginnings = tuple(sorted(set(beginnings)))
        self._vocabulary: Codes = np.empty(0, np.uint64)
        self._idf: Floats1d = np.empty(0, np.float32)

    @property
    def id(self) -> str:
        """``folded-lexical:``, the kind of n-grams, and a digest of the vocabulary and its weights."""
        digest = hashlib.sha256(self._vocabulary.tobytes() + self._idf.tobytes()).hexdigest()[:16]
        return f"folded-lexical:{self.size}:{'-'.join(map(str, self.beginnings))}:{digest}"

    def fit(self, kb: KnowledgeBase) -> None:
        """Count in how many names each n-gram occurs."""
        vocabulary, counts, total = np.empty(0, np.uint64), np.empty(0, np.int64), 0
        for texts in name_blocks(kb, positions_of(kb, None), _BLOCK):
            codes, owners = self._ngrams(texts)
            order = np.lexsort((owners, codes))
            codes, owners = codes[order], owners[order]
            once = np.ones(len(codes), bool)
            once[1:] = (codes[1:] != codes[:-1]) | (owners[1:] != owners[:-1])
            found, found_counts = np.unique(codes[once], return_counts=True)
            merged, inverse = np.unique(np.concatenate([vocabulary, found]), return_inverse=True)
            summed = np.zeros(len(merged), np.int64)
            np.add.at(summed, inverse, np.concatenate([counts, found_counts]))
            vocabulary, counts, total = merged, summed, total + len(texts)
        if not len(vocabulary):
            raise OntologyError(Errors.NO_NGRAMS.format(name=kb.name, n=total))
        self._vocabulary = vocabulary
        self._idf = (1 + np.log((1 + total) / (1 + counts))).astype(np.float32)

    def encode_mentions(self, mentions: Sequence[Mention]) -> Vectors:
        """Encode mentions, (B, n-grams); text around them is not used."""
        return self._encode([mention.text for mention in mentions])

    def encode_entities(self, kb: KnowledgeBase, entities: Ints1d | None = None) -> EntityRows:
        """Encode every name of all entities, or of those given."""
        positions = positions_of(kb, entities)
        blocks = [self._encode(texts) for texts in name_blocks(kb, positions, _BLOCK)]
        return EntityRows(stack(blocks or [self._encode([])]), np.asarray(kb.name_owner)[positions], positions)

    def _encode(self, texts: Sequence[str]) -> Vectors:
        if not len(self._vocabulary):
            raise StateError(Errors.NOT_FITTED)
        codes, owners = self._ngrams(texts)
        columns = np.searchsorted(self._vocabulary, codes)
        columns[columns == len(self._vocabulary)] = 0
        known = self._vocabulary[columns] == codes
        shape = (len(texts), len(self._vocabulary))
        ones = np.ones(int(known.sum()), np.float32)
        counts = sp.csr_matrix((ones, (owners[known], columns[known].astype(np.int32))), shape=shape)
        counts.sum_duplicates()
        counts.data = (1 + np.log(counts.data)) * self._idf[counts.indices]
        return Vectors((counts,)).normalised()

    def _ngrams(self, texts: Sequence[str]) -> tuple[Codes, Ints1d]:
        return ngrams([words(text) for text in texts], self.size, self.beginnings)

    def to_disk(self, path: Path) -> None:
        """Write the vocabulary and its weights."""
        path.mkdir(parents=True, exist_ok=True)
        arrays: dict[str, np.ndarray] = {
            "vocabulary": self._vocabulary,
            "idf": self._idf,
            "ngrams": np.asarray([self.size, *self.beginnings], np.int64),
        }
        write_tensors(path / "lexical.safetensors", arrays)

    def from_disk(self, path: Path) -> LexicalEncoder:
        """Open them again.

        Raises:
            StateError: The file is missing, damaged or incomplete, or was made with other n-grams.
        """
        file = path / "lexical.safetensors"
        arrays = open_tensors(file)
        try:
            self._vocabulary, self._idf = arrays["vocabulary"], arrays["idf"]
            size, *beginnings = map(int, arrays["ngrams"])
        except KeyError as error:
            raise StateError(Errors.FILE_DAMAGED.format(path=file, reason=f"no {error}", rebuild=REBUILD)) from error
        saved, given = (size, tuple(beginnings)), (self.size, self.beginnings)
        if saved != given:
            raise StateError(Errors.MISMATCH.format(path=path, what="n-grams", saved=saved, given=given))
        return self


def make_lexical_encoder(size: int = 3, beginnings: Sequence[int] = (1, 4)) -> LexicalEncoder:
    """Make a ``LexicalEncoder``, which weighs character n-grams by TF-IDF.

    Args:
        size: Characters of an n-gram, 3 to 8.
        beginnings: How many first letters of each word count as n-grams of their own, 1 to 8 each.
    """
    return LexicalEncoder(size, beginnings)
