"""BLINK's cross-encoder and read-and-select, trained by cross-entropy over a set of candidates (Sci-ZSEL, A.4)."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from ..models.folder import ModelFolder, find_model
from ..models.marked import Arrays, MarkedTokenizer
from ..models.part import TransformerPart
from ..models.transformer import tensors
from ..rerankers.cross_encoder import make_cross_encoder
from ..rerankers.networks import (
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
from .reranker_settings import CrossEncoderModel
from .reranker_task import RerankerTask, Tick
from .settings import LoopSettings

Tensor = Any


class CrossEncoderTask(RerankerTask):
    """Trains BLINK's cross-encoder: each pair of a mention and a candidate is scored by itself.

    Args:
        model: Where to begin, and the lengths.
        pools, describe, negatives, settings, tick: See ``RerankerTask``.

    Raises:
        ConfigError: The model cannot be loaded, or does not read inputs of that length.
    """

    make: Make = staticmethod(cross_encoder)
    make_part: Callable[..., TransformerPart] = staticmethod(make_cross_encoder)

    def __init__(
        self,
        model: CrossEncoderModel,
        pools: Sequence[Pool],
        describe: Describe,
        negatives: Negatives,
        settings: LoopSettings,
        tick: Tick | None = None,
    ) -> None:
        super().__init__(pools, describe, negatives, settings, tick)
        folder = ModelFolder.open(find_model(model.base)).path
        self.begun = not (folder / HEAD).is_file()
        if self.begun:
            scratch = Path(tempfile.mkdtemp(prefix="ontolink-"))
            weakref.finalize(self, shutil.rmtree, scratch, ignore_errors=True)  # weights may be mapped from it
            start_network(str(folder), scratch / "begun", self.make, settings.seed)
            folder = scratch / "begun"
        lengths = {"mention_tokens": model.mention_tokens, "entity_tokens": model.entity_tokens}
        self._part = self.make_part(
            str(folder), **lengths, batch_size=model.scoring_batch, device=settings.device, dtype="float32"
        )
        _ = self._part.id  # which checks the lengths
        self._network, self._own = open_network(folder, self.make, model.dropout)
        self.tokenizer = MarkedTokenizer(self._own, **lengths, pair=True)
        self._part.take((self._network, self.tokenizer))

    @property
    def module(self) -> Any:
        """Transformer and head."""
        return self._network

    @property
    def reranker(self) -> Any:
        """Scores with the weights as they are."""
        return self._part

    def loss(self, items: Sequence[CandidateSet]) -> Tensor:
        """Return the weighted mean of the cross-entropy of telling the right entity from the others (equation 22)."""
        texts = [self.describe(item.entities, item.mention.text) for item in items]
        rows = pair_rows(self.tokenizer, [item.mention for item in items], texts)
        arrays = self.tokenizer.pad([row for own in rows for row in own])
        sizes = torch.tensor([len(own) for own in rows])
        absent = torch.arange(int(sizes.max())) >= sizes[:, None]
        absent = absent.to(self.device)
        scores = self.scores(arrays, absent).float().masked_fill(absent, -torch.inf)
        weights = torch.tensor([item.weight for item in items], device=self.device)
        return -(scores.log_softmax(1)[:, 0] * weights).sum() / weights.sum()

    def scores(self, arrays: Arrays, absent: Tensor) -> Tensor:
        """Score the padded rows of B mentions, put into a table where there is a candidate, (B, K)."""
        return _table(cross_scores(self._network, tensors(arrays, self.device)), absent)

    def save(self, path: Path) -> None:
        """Write transformer, head and tokenizer as a folder for ``CrossEncoder.v1`` or ``ReadAndSelect.v1``."""
        save_network(path, self._network, self._own)


class ReadAndSelectTask(CrossEncoderTask):
    """Trains read-and-select: candidates are read one by one and told apart in view of one another."""

    make: Make = staticmethod(read_and_select)
    make_part: Callable[..., TransformerPart] = staticmethod(make_read_and_select)

    def scores(self, arrays: Arrays, absent: Tensor) -> Tensor:
        """Read the padded rows of B mentions, then score each mention's candidates together, (B, K)."""
        marks = torch.from_numpy(mark_places(self.tokenizer, arrays)).to(self.device)
        vectors = read(self._network, tensors(arrays, self.device), marks)
        return select(self._network, _table(vectors, absent), absent)


def _table(values: Tensor, absent: Tensor) -> Tensor:
    """Put values (P, …) where something is present, (B, K, …), and zeros elsewhere."""
    table = values.new_zeros((*absent.shape, *values.shape[1:]))
    table[~absent] = values
    return table
