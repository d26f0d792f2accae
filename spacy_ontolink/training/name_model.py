"""A sentence-transformers model in training: vectors of names with gradients, and a folder that encoders take."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from ..encoders.torch_models import load_model
from ..models.devices import quiet
from ..models.folder import ModelFolder, find_model
from ..text import normalise
from .losses import Tensor

CHUNK = 64
"""Texts of like length that are padded together."""


class NameModel:
    """Encodes names as ``SentenceEncoder`` will: normalised text, the folder's own pooling, unit length.

    Attributes:
        module: The ``SentenceTransformer``.
        temperature: Divides cosines in losses.
    """

    def __init__(self, base: str, pooling: str | None, max_length: int | None, temperature: float) -> None:
        """Load a model, in float32 on the CPU.

        Raises:
            ConfigError: There is none of that name, or it cannot be loaded.
        """
        folder = ModelFolder.open(find_model(base))
        limits = [limit for limit in (max_length, folder.max_length) if limit]
        self.module = load_model(folder, pooling, min(limits, default=None), "cpu", "float32")
        self.temperature = temperature

    def vectors(self, texts: Sequence[str]) -> Tensor:
        """Encode texts, (n, D) float32 of unit length; equal ones are encoded once."""
        clean = [normalise(text) for text in texts]
        distinct = sorted(set(clean), key=lambda text: (len(text), text))
        chunks = [self._encode(distinct[start : start + CHUNK]) for start in range(0, len(distinct), CHUNK)]
        row = {text: number for number, text in enumerate(distinct)}
        return torch.cat(chunks)[[row[text] for text in clean]]

    def similarities(self, one: Tensor, other: Tensor) -> Tensor:
        """Return cosines divided by the temperature, in float32 under autocast, too."""
        with torch.autocast(one.device.type, enabled=False):
            return one @ other.T / self.temperature

    def save(self, path: Path) -> None:
        """Write a sentence-transformers folder."""
        with quiet():
            self.module.save(str(path), create_model_card=False, safe_serialization=True)

    def _encode(self, texts: list[str]) -> Tensor:
        model: Any = self.module
        read = getattr(model, "preprocess", None) or model.tokenize  # the name in sentence-transformers 6, and in 5
        device = next(model.parameters()).device
        inputs = {name: value.to(device) for name, value in read(texts).items() if isinstance(value, torch.Tensor)}
        return torch.nn.functional.normalize(model(inputs)["sentence_embedding"].float(), dim=1)
