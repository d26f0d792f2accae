"""BLINK's cross-encoder and read-and-select, trained by cross-entropy over a set of candidates (Sci-ZSEL, A.4)."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from ..errors import check_setting
from ..models.devices import pick_device, runs_low
from ..models.folder import ModelFolder, find_model
from ..models.marked import MarkedTokenizer
from ..models.part import TransformerPart
from ..models.transformer import tensors
from ..rerankers.cross_encoder import make_cross_encoder
from ..rerankers.networks import (
    DROPOUT,
    HEAD,
    Make,
    cross_encoder,
    cross_scores,
    open_network,
    read,
    read_and_select,
    save_network,
    select,
    start_network,
)
from ..rerankers.pairs import mark_places, pair_rows
from ..rerankers.read_and_select import make_read_and_select
from .hard_negatives import Negatives
from .reranker_data import CandidateSet, Describe, Pool
from .reranker_task import RerankerTask, Tick

Tensor = Any


class CrossEncoderTask(RerankerTask):
    """Trains BLINK's cross-encoder: each pair of a mention and a candidate is scored by itself.

    Args:
        pools: The mentions.
        describe: Gives the texts of entities.
        negatives: How negatives are chosen.
        seed: Of all that is drawn.
        model: Where to begin: any transformer, which gets markers and a random head, or a folder that has them.
        mention_tokens: The most tokens of the mention and the text around it.
        entity_tokens: The most tokens of the candidate.
        dropout: Rate of transformer and head.
        scoring_batch: Pairs scored at a time when hard negatives are mined.
        device: Where to compute.
        dtype: What to compute in.
        tick: See ``RerankerTask``.

    Raises:
        ConfigError: The model cannot be loaded, or does not read inputs of that length.
    """

    make: Make = staticmethod(cross_encoder)
    make_part: Any = staticmethod(make_cross_encoder)

    def __init__(
        self,
        pools: Sequence[Pool],
        describe: Describe,
        negatives: Negatives,
        seed: int = 0,
        *,
        model: str,
        mention_tokens: int = 64,
        entity_tokens: int = 128,
        dropout: float = DROPOUT,
        scoring_batch: int = 64,
        device: str = "auto",
        dtype: str = "auto",
        tick: Tick | None = None,
    ) -> None:
        super().__init__(pools, describe, negatives, seed, tick)
        check_setting("reranker.dropout", dropout, 0 <= dropout < 1, "a rate from 0 to below 1")
        folder = ModelFolder.open(find_model(model)).path
        if not (folder / HEAD).is_file():
            begun = Path(tempfile.mkdtemp(prefix="ontolink-"))
            weakref.finalize(self, shutil.rmtree, begun, ignore_errors=True)  # weights may be mapped from it
            start_network(str(folder), begun / "begun", self.make, seed)
            folder = begun / "begun"
        self._part: TransformerPart = self.make_part(
            str(folder), mention_tokens, entity_tokens, scoring_batch, device, "float32"
        )
        lengths = self._part.stored.settings
        self._network, self._own = open_network(folder, self.make, dropout)
        self.tokenizer = MarkedTokenizer(self._own, **lengths, pair=True)
        self._part.take((self._network, self.tokenizer))
        self._low = runs_low(dtype, pick_device(device))

    @property
    def module(self) -> Any:
        """Transformer and head."""
        return self._network

    @property
    def reranker(self) -> Any:
        """Scores with the weights as they are."""
        return self._part

    @property
    def low(self) -> bool:
        """Whether scores may be computed in bfloat16."""
        return self._low

    def loss(self, items: Sequence[CandidateSet]) -> Tensor:
        """Return the mean cross-entropy of telling the right entity from the others (equation 22)."""
        texts = [self.describe(item.entities, item.mention.text) for item in items]
        rows = pair_rows(self.tokenizer, [item.mention for item in items], texts)
        arrays = self.tokenizer.pad([row for own in rows for row in own])
        sizes = torch.tensor([len(own) for own in rows])
        absent = torch.arange(int(sizes.max())) >= sizes[:, None]
        device = next(self._network.parameters()).device
        scores = self.scores(tensors(arrays, str(device)), arrays, absent.to(device)).float()
        scores = scores.masked_fill(absent.to(device), -torch.inf)
        return -scores.log_softmax(1)[:, 0].mean()

    def scores(self, inputs: dict[str, Tensor], arrays: Any, absent: Tensor) -> Tensor:
        """Score the rows of B mentions, put into a table where there is a candidate, (B, K)."""
        return _table(cross_scores(self._network, inputs), absent)

    def save(self, path: Path) -> None:
        """Write transformer, head and tokenizer as a folder for ``CrossEncoder.v1`` or ``ReadAndSelect.v1``."""
        save_network(path, self._network, self._own)


class ReadAndSelectTask(CrossEncoderTask):
    """Trains read-and-select: candidates are read one by one and told apart in view of one another."""

    make: Make = staticmethod(read_and_select)
    make_part: Any = staticmethod(make_read_and_select)

    def scores(self, inputs: dict[str, Tensor], arrays: Any, absent: Tensor) -> Tensor:
        """Read the rows of B mentions, then score each mention's candidates together, (B, K)."""
        marks = torch.from_numpy(mark_places(self.tokenizer, arrays)).to(absent.device)
        return select(self._network, _table(read(self._network, inputs, marks), absent), absent)


def _table(values: Tensor, absent: Tensor) -> Tensor:
    """Put values (P, …) where something is present, (B, K, …), and zeros elsewhere."""
    table = values.new_zeros((*absent.shape, *values.shape[1:]))
    table[~absent] = values
    return table
