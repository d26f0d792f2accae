"""What all rerankers in training have in common: negatives that are chosen anew in every epoch, by their own scores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ..errors import ConfigError, DataError, Errors
from ..models.devices import runs_low
from ..types import Floats1d, Reranker
from .hard_negatives import Negatives
from .processes import Processes
from .reranker_data import CandidateSet, Describe, Pool, choose_sets
from .settings import LoopSettings

Tick = Callable[[int, int], None]
_MENTIONS = 256  # scored together: bounds what is in memory


class RerankerTask(ABC):
    """A task of the training loop over mentions with pools; the reranker scores with the weights as they are.

    Args:
        pools: The mentions.
        describe: Gives the texts of entities.
        negatives: How negatives are chosen.
        settings: Seed, device and number type are those of the loop.
        tick: Told how many of the mentions are scored when hard negatives are mined.

    Raises:
        DataError: No mention has both a right and a wrong entity.
    """

    begun = False
    """Whether its head begins with random weights, so that its scores mean nothing in the first epoch."""

    def __init__(
        self,
        pools: Sequence[Pool],
        describe: Describe,
        negatives: Negatives,
        settings: LoopSettings,
        tick: Tick | None = None,
    ) -> None:
        self.pools, self.describe, self.negatives = list(pools), describe, negatives
        self.settings, self.tick = settings, tick
        self.device = Processes.join(settings.device).device  # before anything is loaded onto it
        self.low = runs_low(settings.dtype, self.device)
        if not choose_sets(self.pools, negatives, None, np.random.default_rng(settings.seed)):
            raise DataError(Errors.NO_SETS.format(n=len(self.pools)))

    @property
    @abstractmethod
    def module(self) -> Any:
        """All that has parameters."""

    @property
    @abstractmethod
    def reranker(self) -> Reranker:
        """Scores with the module's weights as they are."""

    @abstractmethod
    def loss(self, items: Sequence[Any]) -> Any:
        """Return the mean loss of a batch of ``items``."""

    @abstractmethod
    def save(self, path: Path) -> None:
        """Write the trained model as a folder, whole or not at all."""

    def start_epoch(self, epoch: int) -> Sequence[Any]:
        """Choose this epoch's negatives, hard ones by the reranker's own scores, and shuffle.

        A reranker that has learned nothing yet has no errors of its own: the surface scores stand in.
        """
        chance = np.random.default_rng((self.settings.seed, epoch))
        own = None
        if self.negatives.scheme == "hard":
            own = [pool.surface for pool in self.pools] if self.begun and epoch == 0 else self.own_scores()
        items = self.items(choose_sets(self.pools, self.negatives, own, chance))
        return [items[place] for place in chance.permutation(len(items))]

    def items(self, sets: list[CandidateSet]) -> Sequence[Any]:
        """Return what a batch is made of; the sets themselves, if it is not said otherwise."""
        return sets

    def own_scores(self) -> list[Floats1d]:
        """Score all pools, (K,) each, with the weights as they are.

        Raises:
            ConfigError: Out of memory.
        """
        self.module.eval()
        scores: list[Floats1d] = []
        for start in range(0, len(self.pools), _MENTIONS):
            some = self.pools[start : start + _MENTIONS]
            texts = [self.describe(pool.candidates.tolist(), pool.mention.text) for pool in some]
            try:
                with torch.autocast(torch.device(self.device).type, torch.bfloat16, enabled=self.low):
                    scores += self.reranker.score([pool.mention for pool in some], texts)
            except torch.OutOfMemoryError as error:
                raise ConfigError(Errors.NO_MEMORY_TO_SCORE) from error
            if self.tick:
                self.tick(len(scores), len(self.pools))
        return scores
