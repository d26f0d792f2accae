"""A dense encoder whose space is turned so that synonyms of the ontology meet."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ..errors import ConfigError, Errors, StateError
from ..files import REBUILD, open_tensors, replacing, write_tensors
from ..registry import check_part
from ..types import Encoder, EntityRows, Floats2d, Ints1d, Mention
from ..vectors import Vectors
from .around import AroundEncoder, digest_of
from .progress import handed_on
from .projection import learn_alignment

if TYPE_CHECKING:
    from ..kb import KnowledgeBase

PART, WEIGHTS = "encoder", "alignment.safetensors"
_BLOCK = 65_536  # rows that are turned at a time, in single precision


class AlignedEncoder(AroundEncoder):
    """Encodes as a dense encoder does, and maps its vectors linearly, as it learned from the ontology's synonyms.

    ``fit`` encodes all names, learns in seconds, without torch, a square matrix that brings the names of one entity
    together, and starts from no change: an ontology with hardly any synonyms leaves the vectors as they were. The dense
    encoder itself is never changed, so that one set of weights serves any number of ontologies.
    """

    progress = handed_on("encoder")

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = check_part(encoder, Encoder, PART)
        self._fitted: tuple[str, EntityRows] | None = None
        self._take(np.empty((0, 0), np.float32))

    def _take(self, matrix: Floats2d) -> None:
        self._matrix = matrix
        self._digest = digest_of(matrix)

    @property
    def id(self) -> str:
        """A digest of the matrix, and the id of the dense encoder."""
        return f"aligned:{self._digest}({self.encoder.id})"

    def fit(self, kb: KnowledgeBase) -> None:
        """Fit the dense encoder, encode all names, and learn from them.

        Raises:
            ConfigError: It is not dense, or makes several blocks.
        """
        self.encoder.fit(kb)
        rows = self.encoder.encode_entities(kb)
        names = rows.vectors.blocks[0]
        if len(rows.vectors.blocks) > 1 or sp.issparse(names):
            reason = "it turns one dense block, as SentenceEncoder makes it"
            other = type(self.encoder).__name__
            raise ConfigError(Errors.ONE_OR_OTHER.format(one="AlignedEncoder", other=other, reason=reason))
        self._take(learn_alignment(names, np.asarray(rows.owner), kb.parent_matrix))
        self._fitted = kb.hash, rows

    def encode_mentions(self, mentions: Sequence[Mention]) -> Vectors:
        """Encode mentions, (B, D). Blank text gives a zero vector."""
        return self._turn(self.encoder.encode_mentions(mentions))

    def encode_entities(self, kb: KnowledgeBase, entities: Ints1d | None = None) -> EntityRows:
        """Encode the entities (all by default), row by row as the dense encoder does."""
        fitted, self._fitted = self._fitted, None  # what ``fit`` encoded is spared once, and not kept
        if entities is None and fitted is not None and fitted[0] == kb.hash:
            rows = fitted[1]
        else:
            rows = self.encoder.encode_entities(kb, entities)
        return rows._replace(vectors=self._turn(rows.vectors))

    def _turn(self, vectors: Vectors) -> Vectors:
        if not self._matrix.size:
            return vectors
        (block,) = vectors.blocks
        turned = np.empty(block.shape, block.dtype)
        for start in range(0, len(block), _BLOCK):
            part = block[start : start + _BLOCK].astype(np.float32) @ self._matrix
            turned[start : start + _BLOCK] = Vectors((part,)).normalised().blocks[0]
        return Vectors((turned,))

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_fitted": None}

    def to_disk(self, path: Path) -> None:
        """Write the matrix, and the dense encoder into a folder of its own."""
        with replacing(Path(path)) as folder:
            folder.mkdir()
            self.encoder.to_disk(folder / PART)
            write_tensors(folder / WEIGHTS, {"matrix": self._matrix})

    def from_disk(self, path: Path) -> AlignedEncoder:
        """Take over the state of both.

        Raises:
            StateError: A file is missing, damaged or incomplete.
        """
        file = Path(path) / WEIGHTS
        arrays = open_tensors(file)
        with np.errstate(over="ignore"):
            matrix = np.asarray(arrays.get("matrix", ()), np.float32)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not np.isfinite(matrix).all():
            reason = "no square matrix of finite numbers"
            raise StateError(Errors.FILE_DAMAGED.format(path=file, reason=reason, rebuild=REBUILD))
        self.encoder.from_disk(Path(path) / PART)
        self._take(matrix)
        return self


def make_aligned_encoder(encoder: Encoder) -> AlignedEncoder:
    """Make ``spacy-ontolink.AlignedEncoder.v1``, which turns the space of a dense encoder by the synonyms.

    Args:
        encoder: A dense encoder, such as a sentence encoder.
    """
    return AlignedEncoder(encoder)
