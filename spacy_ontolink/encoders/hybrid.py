"""Lexical and dense vectors side by side, with one weight."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ConfigError, Errors, StateError
from ..files import REBUILD, read_json, replacing, write_json
from ..registry import check_part
from ..types import Encoder, EntityRows, Ints1d, Mention
from ..vectors import Vectors, join
from .lexical import LexicalEncoder
from .progress import handed_on
from .synonyms import SynonymEncoder

if TYPE_CHECKING:
    from ..kb import KnowledgeBase

PARTS = ("lexical", "dense")
SETTINGS = "hybrid.json"


class HybridEncoder:
    """Encodes with a lexical and a dense encoder: cosines add up as ``(1 - weight) lexical + weight dense``."""

    progress = handed_on("dense")

    def __init__(self, lexical: Encoder, dense: Encoder, *, weight: float = 0.6) -> None:
        self.lexical = check_part(lexical, Encoder, "lexical")
        self.dense = check_part(dense, Encoder, "dense")
        if not 0.0 <= weight <= 1.0:
            wanted = "the share of the dense part, from 0 to 1"
            raise ConfigError(Errors.SETTING_VALUE.format(setting="weight", given=weight, wanted=wanted))
        self.weight = float(weight)

    @property
    def id(self) -> str:
        """The ids of both parts, and the weight."""
        return f"hybrid:{self.weight:g}({self.lexical.id}|{self.dense.id})"

    @property
    def uses_context(self) -> bool:
        """Whether a part reads the text around a mention."""
        return any(getattr(part, "uses_context", False) for part in (self.lexical, self.dense))

    @property
    def parts(self) -> tuple[tuple[Encoder, float], ...]:
        """Both parts with their weights in the cosine, in the order of the blocks."""
        return (self.lexical, 1.0 - self.weight), (self.dense, self.weight)

    @property
    def n_blocks(self) -> int:
        """How many blocks its vectors have: those of the lexical part, then those of the dense one."""
        return sum(getattr(part, "n_blocks", 1) for part, _ in self.parts)

    def fit(self, kb: KnowledgeBase) -> None:
        """Fit both parts."""
        self.lexical.fit(kb)
        self.dense.fit(kb)

    def encode_mentions(self, mentions: Sequence[Mention]) -> Vectors:
        """Encode mentions with both parts, (B, D_lexical + D_dense). Blank text gives a zero vector."""
        return self._join(self.lexical.encode_mentions(mentions), self.dense.encode_mentions(mentions))

    def encode_entities(self, kb: KnowledgeBase, entities: Ints1d | None = None) -> EntityRows:
        """Encode the entities (all by default) with both parts, row by row.

        Raises:
            StateError: The parts give other rows: another number, owner or name.
        """
        lexical, dense = (part.encode_entities(kb, entities) for part in (self.lexical, self.dense))
        _check_aligned(lexical, dense)
        return EntityRows(self._join(lexical.vectors, dense.vectors), lexical.owner, lexical.name)

    def to_disk(self, path: Path) -> None:
        """Write the settings, and each part into a folder of its own."""
        with replacing(Path(path)) as folder:
            folder.mkdir()
            for name in PARTS:
                getattr(self, name).to_disk(folder / name)
            write_json(folder / SETTINGS, self._settings())

    def from_disk(self, path: Path) -> HybridEncoder:
        """Take over the state of both parts.

        Raises:
            StateError: It is missing or damaged, or its weight or a part's type is not that of this object.
        """
        saved = read_json(Path(path) / SETTINGS)
        for what, given in self._settings().items():
            if not isinstance(saved, dict) or what not in saved:
                reason = f"no {what!r}"
                raise StateError(Errors.FILE_DAMAGED.format(path=Path(path) / SETTINGS, reason=reason, rebuild=REBUILD))
            if saved[what] != given:
                raise StateError(Errors.MISMATCH.format(path=path, what=f"a {what}", saved=saved[what], given=given))
        for name in PARTS:
            getattr(self, name).from_disk(Path(path) / name)
        return self

    def _settings(self) -> dict[str, object]:
        return {"weight": self.weight, **{f"{name} part": type(getattr(self, name)).__name__ for name in PARTS}}

    def _join(self, lexical: Vectors, dense: Vectors) -> Vectors:
        return join((lexical, dense), (1.0 - self.weight, self.weight))


def make_hybrid_encoder(dense: Encoder, lexical: Encoder | None = None, weight: float = 0.6) -> HybridEncoder:
    """Make a ``HybridEncoder`` of two encoders, whose cosines are mixed.

    Args:
        dense: Any encoder with a row for each name, such as a sentence encoder.
        lexical: An encoder of n-grams; null for the retriever's default one.
        weight: Share of the dense one in the cosine, from 0 to 1.
    """
    default: Any = SynonymEncoder(LexicalEncoder())
    return HybridEncoder(default if lexical is None else lexical, dense, weight=weight)


def _check_aligned(lexical: EntityRows, dense: EntityRows) -> None:
    counts = len(lexical.owner), len(dense.owner)
    common = min(counts)
    differs = (lexical.owner[:common] != dense.owner[:common]) | (lexical.name[:common] != dense.name[:common])
    if counts[0] != counts[1] or differs.any():
        row = int(np.argmax(differs)) if differs.any() else common
        raise StateError(
            Errors.ROWS_UNALIGNED.format(
                first="lexical", n_first=counts[0], second="dense", n_second=counts[1], row=row
            )
        )
