"""The default encoder: n-grams as they are counted, and what the ontology's synonyms say about them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from ..errors import ConfigError, Errors, StateError
from ..files import REBUILD, open_tensors, replacing, write_tensors
from ..registry import check_part
from ..types import Encoder, EntityRows, Floats2d, Ints1d, Mention
from ..vectors import Vectors, join
from .around import AroundEncoder, digest_of
from .projection import learn_projection

if TYPE_CHECKING:
    from ..kb import KnowledgeBase

PART, WEIGHTS = "encoder", "synonyms.safetensors"
_LEARNT_FROM = 400_000  # entities


class SynonymEncoder(AroundEncoder):
    """Encodes as a sparse encoder does, and beside that in a few dimensions that it learns from synonyms.

    ``fit`` learns a projection of the sparse block that brings the names of one entity together: trigrams of ``renal``
    near those of ``kidney``, where the ontology says so. Cosines add up as ``(1 - weight) sparse + weight projected``.
    An ontology with hardly any synonyms gets no projection, and is encoded as by the sparse encoder alone.
    """

    def __init__(self, encoder: Encoder, dimensions: int = 64, weight: float = 0.5) -> None:
        """Take an encoder of one sparse block.

        Raises:
            ConfigError: ``dimensions`` is not positive, or ``weight`` is not from 0 to 1.
        """
        self.encoder = check_part(encoder, Encoder, PART)
        if dimensions < 1:
            raise ConfigError(
                Errors.SETTING_VALUE.format(setting="dimensions", given=dimensions, wanted="a positive number")
            )
        if not 0.0 <= weight <= 1.0:
            wanted = "the share of the projected part, from 0 to 1"
            raise ConfigError(Errors.SETTING_VALUE.format(setting="weight", given=weight, wanted=wanted))
        self.dimensions, self.weight = dimensions, float(weight)
        self._take(np.empty((0, 0), np.float32))

    def _take(self, projection: Floats2d) -> None:
        self._projection = projection
        self._digest = digest_of(projection)

    @property
    def id(self) -> str:
        """The weight, a digest of the projection, and the id of the sparse encoder."""
        return f"synonyms:{self.dimensions}:{self.weight:g}:{self._digest}({self.encoder.id})"

    @property
    def n_blocks(self) -> int:
        """How many blocks its vectors have: two, or without a projection one."""
        return 2 if self._projection.size else 1

    def fit(self, kb: KnowledgeBase) -> None:
        """Fit the sparse encoder, then learn the projection from what it makes of the names.

        Raises:
            ConfigError: It is not sparse.
        """
        self.encoder.fit(kb)
        some = _some_of(len(kb))
        rows = self.encoder.encode_entities(kb, some)
        names = rows.vectors.blocks[0]
        if len(rows.vectors.blocks) > 1 or not sp.issparse(names):
            reason = "it learns from one sparse block, as LexicalEncoder makes it"
            other = type(self.encoder).__name__
            raise ConfigError(Errors.ONE_OR_OTHER.format(one="SynonymEncoder", other=other, reason=reason))
        owner, parents = np.asarray(rows.owner), kb.parent_matrix
        if some is not None:
            owner, parents = np.searchsorted(some, owner).astype(np.int32), parents[some][:, some]
        self._take(learn_projection(names, owner, parents, self.dimensions))

    def encode_mentions(self, mentions: Sequence[Mention]) -> Vectors:
        """Encode mentions, (B, n-grams + dimensions). A mention without a known n-gram gives a zero vector."""
        return self._beside(self.encoder.encode_mentions(mentions))

    def encode_entities(self, kb: KnowledgeBase, entities: Ints1d | None = None) -> EntityRows:
        """Encode the entities (all by default), row by row as the sparse encoder does."""
        rows = self.encoder.encode_entities(kb, entities)
        return rows._replace(vectors=self._beside(rows.vectors))

    def _beside(self, sparse: Vectors) -> Vectors:
        if not self._projection.size:
            return sparse
        (block,) = sparse.blocks
        projected = Vectors((np.asarray(block @ self._projection, np.float32),)).normalised()
        return join((sparse, projected), (1.0 - self.weight, self.weight))

    def to_disk(self, path: Path) -> None:
        """Write the projection, and the sparse encoder into a folder of its own."""
        with replacing(Path(path)) as folder:
            folder.mkdir()
            self.encoder.to_disk(folder / PART)
            settings = np.asarray([self.dimensions, self.weight])
            write_tensors(folder / WEIGHTS, {"projection": self._projection, "settings": settings})

    def from_disk(self, path: Path) -> SynonymEncoder:
        """Take over the state of both.

        Raises:
            StateError: A file is missing, damaged or incomplete, or was made with other settings.
        """
        file = Path(path) / WEIGHTS
        arrays = open_tensors(file)
        try:
            projection, (dimensions, weight) = arrays["projection"], arrays["settings"].tolist()
        except KeyError as error:
            raise StateError(Errors.FILE_DAMAGED.format(path=file, reason=f"no {error}", rebuild=REBUILD)) from error
        saved, given = (int(dimensions), weight), (self.dimensions, self.weight)
        if saved != given:
            raise StateError(Errors.MISMATCH.format(path=path, what="dimensions, weight", saved=saved, given=given))
        self.encoder.from_disk(Path(path) / PART)
        self._take(projection)
        return self


def _some_of(n_entities: int) -> Ints1d | None:
    """Return the entities to learn from, None for all: of millions, no more are drawn into pairs than of these."""
    if n_entities <= _LEARNT_FROM:
        return None
    chosen = np.random.default_rng(0).choice(n_entities, _LEARNT_FROM, replace=False)
    return np.sort(chosen).astype(np.int32)


def make_synonym_encoder(encoder: Encoder, dimensions: int = 64, weight: float = 0.5) -> SynonymEncoder:
    """Make a ``SynonymEncoder``, which learns from the ontology's synonyms beside the n-grams of ``encoder``.

    Args:
        encoder: What counts n-grams; of one sparse block.
        dimensions: Dimensions of the projection that is learned when the ontology is built.
        weight: Share of the projected part in the cosine, from 0 to 1.
    """
    return SynonymEncoder(encoder, dimensions, weight)
