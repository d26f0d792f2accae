"""Definitions as further rows, for any encoder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..files import replacing
from ..registry import check_part
from ..types import Encoder, EntityRows, Ints1d, Mention
from ..vectors import Vectors, stack
from .progress import handed_on

if TYPE_CHECKING:
    from ..kb import KnowledgeBase

PART = "encoder"
_BLOCK = 16_384  # definitions at a time


class DefinitionEncoder:
    """Encodes as another encoder does, and each entity's definition as one more row of the entity.

    The other encoder takes a definition for a mention without context. The row stands behind that of the primary name,
    whose position it repeats. It finds entities that are described in other words than they are named, at about twice
    the cost of building and searching.
    """

    progress = handed_on("encoder")

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = check_part(encoder, Encoder, PART)

    @property
    def id(self) -> str:
        """That of the other encoder, with a mark."""
        return f"definitions({self.encoder.id})"

    @property
    def uses_context(self) -> bool:
        """Whether the other encoder reads the text around a mention."""
        return getattr(self.encoder, "uses_context", False)

    @property
    def n_blocks(self) -> int:
        """That of the other encoder."""
        return getattr(self.encoder, "n_blocks", 1)

    def fit(self, kb: KnowledgeBase) -> None:
        """Fit the other encoder; definitions have no part in it."""
        self.encoder.fit(kb)

    def encode_mentions(self, mentions: Sequence[Mention]) -> Vectors:
        """Encode mentions as the other encoder does."""
        return self.encoder.encode_mentions(mentions)

    def encode_entities(self, kb: KnowledgeBase, entities: Ints1d | None = None) -> EntityRows:
        """Encode the entities (all by default) with their definitions; one that gives a zero vector is left out."""
        rows = self.encoder.encode_entities(kb, entities)
        numbers = np.unique(rows.owner)
        blocks = [self._encode(kb, numbers[start : start + _BLOCK]) for start in range(0, len(numbers), _BLOCK)]
        vectors = stack([rows.vectors, *blocks])
        defined = np.flatnonzero(vectors.take(slice(len(rows.owner), None)).norms() > 0)
        behind = np.searchsorted(rows.owner, numbers[defined]) + 1
        order = np.insert(np.arange(len(rows.owner)), behind, len(rows.owner) + defined)
        source = np.insert(np.arange(len(rows.owner)), behind, behind - 1)
        return EntityRows(vectors.take(order), rows.owner[source], rows.name[source])

    def _encode(self, kb: KnowledgeBase, numbers: Ints1d) -> Vectors:
        return self.encoder.encode_mentions([Mention(kb.definition_of(number)) for number in numbers.tolist()])

    def to_disk(self, path: Path) -> None:
        """Write the other encoder into a folder of its own."""
        with replacing(Path(path)) as folder:
            folder.mkdir()
            self.encoder.to_disk(folder / PART)

    def from_disk(self, path: Path) -> DefinitionEncoder:
        """Take over the state of the other encoder."""
        self.encoder.from_disk(Path(path) / PART)
        return self


def make_definition_encoder(encoder: Encoder) -> DefinitionEncoder:
    """Make a ``DefinitionEncoder``, which adds a row for each entity's definition.

    Args:
        encoder: What encodes names, mentions and definitions alike.
    """
    return DefinitionEncoder(encoder)
