"""The n-gram encoder in training: it starts from counted n-grams and learns which of them mean the same."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from ..encoders.learned import find_codes, read_model, weigh, write_model
from ..encoders.ngrams import Codes
from ..models.folder import find_model
from ..types import Floats2d
from .losses import Tensor

if TYPE_CHECKING:
    from ..kb import KnowledgeBase

_BLOCK = 100_000  # names at a time


class NgramModel:
    """Encodes names as ``NgramEncoder`` will.

    Attributes:
        module: The ``torch.nn.EmbeddingBag`` of all n-grams and words.
        temperature: Divides cosines in losses.
    """

    def __init__(self, vocabulary: Codes, vectors: Floats2d, temperature: float, dropout: float = 0.0) -> None:
        """Take codes (V,), ascending, and their vectors (V, D).

        Args:
            vocabulary: The codes.
            vectors: What they start from.
            temperature: Divides cosines in losses.
            dropout: Share of a name's n-grams that are left out in training.
        """
        self.vocabulary, self.temperature, self.dropout = vocabulary, temperature, dropout
        weights = torch.tensor(vectors, dtype=torch.float32)
        self.module = torch.nn.EmbeddingBag.from_pretrained(weights, freeze=False, mode="sum")

    @classmethod
    def start(cls, kb: KnowledgeBase, dimensions: int, temperature: float, dropout: float, seed: int) -> NgramModel:
        """Start from an ontology's names: random signs times the idf of each n-gram.

        Cosines are then those of TF-IDF, roughly, as random directions are nearly at right angles. Training begins
        with a good lexical encoder, where it would take long to get to from nothing.
        """
        found, total = [np.empty(0, np.uint64)], 0
        for start in range(0, kb.n_names, _BLOCK):
            texts = kb.name_texts(start, min(start + _BLOCK, kb.n_names))
            codes, owners = find_codes(texts)
            order = np.lexsort((owners, codes))
            codes, owners = codes[order], owners[order]
            first = (np.diff(codes, prepend=codes[:1]) != 0) | (np.diff(owners, prepend=-1) != 0)
            found.append(codes[first])
            total += len(texts)
        vocabulary, counts = np.unique(np.concatenate(found), return_counts=True)
        idf = 1 + np.log((1 + total) / (1 + counts))
        signs = np.random.default_rng(seed).integers(0, 2, (len(vocabulary), dimensions)) * 2 - 1
        scale = idf / (idf.mean() * math.sqrt(dimensions)) if len(idf) else idf
        return cls(vocabulary, (signs * scale[:, None]).astype(np.float32), temperature, dropout)

    @classmethod
    def open(cls, base: str, temperature: float, dropout: float) -> NgramModel:
        """Go on from a trained model.

        Raises:
            ConfigError: The folder holds none.
        """
        return cls(*read_model(find_model(base)), temperature, dropout)

    def vectors(self, texts: Sequence[str]) -> Tensor:
        """Encode texts, (n, D) float32 of unit length."""
        bags = weigh(texts, self.vocabulary)
        device = self.module.weight.device
        weights = torch.from_numpy(bags.data)
        if self.module.training and self.dropout:
            weights = weights * (torch.rand(len(weights)) >= self.dropout)
        indices, starts = torch.from_numpy(bags.indices).long(), torch.from_numpy(bags.indptr[:-1]).long()
        with torch.autocast(device.type, enabled=False):
            sums = self.module(indices.to(device), starts.to(device), per_sample_weights=weights.to(device))
        return torch.nn.functional.normalize(sums, dim=1)

    def similarities(self, one: Tensor, other: Tensor) -> Tensor:
        """Return cosines divided by the temperature, in float32 under autocast, too."""
        with torch.autocast(one.device.type, enabled=False):
            return one @ other.T / self.temperature

    def save(self, path: Path) -> None:
        """Write the folder that ``NgramEncoder`` takes."""
        write_model(path, self.vocabulary, self.module.weight.detach().cpu().numpy())
