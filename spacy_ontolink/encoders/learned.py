"""An encoder that is trained from scratch on an ontology's own names, and links without torch or a model hub."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from ..errors import StateError
from ..files import open_tensors, write_json, write_tensors
from ..models.folder import CONFIG
from ..models.stored import StoredModel
from ..models.transformer import unloadable
from ..types import EntityRows, Floats2d, Ints1d, Mention
from ..vectors import Vectors
from .names import name_blocks, positions_of
from .ngrams import Codes, ngrams, whole_words, words

if TYPE_CHECKING:
    from ..kb import KnowledgeBase

TYPE, WEIGHTS = "ontolink-ngrams", "model.safetensors"
SIZE, BEGINNINGS = 3, (1, 4)  # the n-grams of LexicalEncoder
_WORD = np.uint64(0x5851F42D4C957F2D)  # sets the code of a word apart from that of an n-gram
_BLOCK = 16_384  # names at a time


class NgramEncoder:
    """Sum the learned vectors of a text's n-grams and words, each times ``1 + log tf``, and scale to unit length.

    The n-grams are those of ``LexicalEncoder``. What the model was not trained on is left out, so a text of nothing
    else gets a zero vector. The folder is written by ``ontolink train retriever`` with ``configs/train_ngrams.cfg``:
    unlike trigrams that are counted, learned ones tell that ``renal`` is near ``kidney`` where the ontology says so.
    """

    uses_context = False
    by_name = True

    def __init__(self, model: str) -> None:
        self.stored = StoredModel("learned", model, {})
        self._vocabulary: Codes | None = None
        self._vectors: Floats2d = np.empty((0, 0), np.float32)

    @property
    def id(self) -> str:
        """The model's kind and the revision of its files."""
        return self.stored.id

    def load(self) -> Codes:
        """Load the weights, if they are not loaded yet; return the vocabulary.

        Raises:
            ConfigError: The folder holds no such model.
            StateError: A saved folder is damaged or gone.
        """
        if self._vocabulary is None:
            self._vocabulary, self._vectors = read_model(self.stored.checked().path)
        return self._vocabulary

    def fit(self, kb: KnowledgeBase) -> None:
        """Do nothing: the model is trained already."""

    def encode_mentions(self, mentions: Sequence[Mention]) -> Vectors:
        """Encode the mentions' texts, (B, D) float32. Blank text gives a zero vector."""
        return Vectors((self._encode([mention.text for mention in mentions]),))

    def encode_entities(self, kb: KnowledgeBase, entities: Ints1d | None = None) -> EntityRows:
        """Encode every name of the entities (all by default), (N, D) float32, streaming over the name table."""
        self.load()
        names, done = positions_of(kb, entities), 0
        vectors = np.zeros((len(names), self._vectors.shape[1]), np.float32)
        for texts in name_blocks(kb, names, _BLOCK):
            vectors[done : done + len(texts)] = self._encode(texts)
            done += len(texts)
        return EntityRows(Vectors((vectors,)), np.asarray(kb.name_owner)[names].astype(np.int32), names)

    def to_disk(self, path: Path) -> None:
        """Write a self-contained copy of the model's folder."""
        self.stored.to_disk(path)

    def from_disk(self, path: Path) -> NgramEncoder:
        """Take over a saved model; its weights are read and checked at first use, so the folder must stay.

        Raises:
            StateError: A file is missing, or it is another model than this one.
        """
        self.stored.from_disk(path)
        self._vocabulary = None
        return self

    def _encode(self, texts: Sequence[str]) -> Floats2d:
        sums = np.asarray(weigh(texts, self.load()) @ self._vectors, np.float32)
        norms = np.linalg.norm(sums, axis=1, keepdims=True)
        unit: Floats2d = np.divide(sums, norms, out=np.zeros_like(sums), where=norms > 0)
        return unit


def make_ngram_encoder(model: str) -> NgramEncoder:
    """Make an ``NgramEncoder``, whose n-grams were trained on an ontology's names; loads nothing yet.

    Args:
        model: A folder that ``ontolink train retriever`` wrote with ``configs/train_ngrams.cfg``.
    """
    return NgramEncoder(model)


def find_codes(texts: Sequence[str]) -> tuple[Codes, Ints1d]:
    """Code all n-grams and words of each text: the codes, and the number of the text that each is in."""
    clean = [words(text) for text in texts]
    (codes, owners), (whole, whole_owners) = ngrams(clean, SIZE, BEGINNINGS), whole_words(clean)
    return np.concatenate([codes, whole ^ _WORD]), np.concatenate([owners, whole_owners])


def weigh(texts: Sequence[str], vocabulary: Codes) -> sp.csr_matrix:
    """Return ``1 + log tf`` of each text and each code of the vocabulary (ascending), (N, V)."""
    codes, owners = find_codes(texts)
    columns = np.searchsorted(vocabulary, codes)
    columns[columns == len(vocabulary)] = 0
    known = vocabulary[columns] == codes if len(vocabulary) else np.zeros(len(codes), bool)
    ones = np.ones(int(known.sum()), np.float32)
    counts = sp.csr_matrix((ones, (owners[known], columns[known])), shape=(len(texts), len(vocabulary)))
    counts.sum_duplicates()
    counts.data = 1 + np.log(counts.data)
    return counts


def is_model(path: str) -> bool:
    """Tell whether a folder holds such a model."""
    try:
        config = json.loads((Path(path).expanduser() / CONFIG).read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(config, dict) and config.get("model_type") == TYPE


def write_model(path: Path, vocabulary: Codes, vectors: Floats2d) -> None:
    """Write a model into the folder ``path``: codes (V,), ascending, and their vectors (V, D)."""
    path.mkdir(parents=True, exist_ok=True)
    write_json(path / CONFIG, {"model_type": TYPE, "hidden_size": vectors.shape[1]})
    write_tensors(path / WEIGHTS, {"codes": vocabulary, "vectors": vectors.astype(np.float16)})


def read_model(path: Path) -> tuple[Codes, Floats2d]:
    """Read the codes and the vectors of a model.

    Raises:
        ConfigError: The folder holds none, or its arrays do not fit together.
    """
    if not is_model(str(path)):
        raise unloadable(path, f"its {CONFIG} does not say that it is of the type {TYPE}")
    try:
        arrays = open_tensors(path / WEIGHTS)
        codes, vectors = np.array(arrays["codes"]), np.asarray(arrays["vectors"], np.float32)
    except (StateError, KeyError) as error:
        raise unloadable(path, f"{WEIGHTS}: {error}") from error
    if codes.dtype != np.uint64 or vectors.shape[:-1] != codes.shape or (codes[1:] <= codes[:-1]).any():
        raise unloadable(path, f"{WEIGHTS}: codes and vectors do not fit together")
    return codes, vectors
