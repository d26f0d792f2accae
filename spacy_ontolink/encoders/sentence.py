"""Sentence-transformers and Hugging Face models as encoders: one dense row per name."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..errors import ConfigError, Errors, check_setting
from ..models.devices import check_device, require_torch
from ..models.folder import ModelFolder
from ..models.stored import Settings, StoredModel
from ..text import normalise
from ..types import EntityRows, Floats2d, Ints1d, Mention
from ..vectors import Vectors
from .names import name_blocks, positions_of
from .progress import Progress
from .torch_models import load_model

if TYPE_CHECKING:
    from ..kb import KnowledgeBase

BLOCK = 16_384  # names held as Python strings at a time
BATCHES = 16  # batches between two reports of progress
_log = logging.getLogger(__name__)


class SentenceEncoder:
    """Encodes names and mentions (without their context) with a pretrained transformer; weights load at first use.

    Both sides are normalised, so that equal names have equal vectors. The ``id`` is made of the model's files, its
    pooling and its maximal length; number type and device are left out, as they change only the last digits.
    """

    uses_context = False
    by_name = True

    def __init__(
        self,
        model: str,
        *,
        pooling: Literal["mean", "cls"] | None = None,
        device: str = "auto",
        dtype: Literal["auto", "float32", "bfloat16"] = "auto",
        batch_size: int = 64,
        max_length: int | None = None,
    ) -> None:
        require_torch("A sentence encoder", ("torch", "transformers", "sentence_transformers"))
        check_device(device)
        check_setting(
            "pooling", pooling, pooling in ("mean", "cls", None), '"mean", "cls" or null (what the model says)'
        )
        check_setting("dtype", dtype, dtype in ("auto", "float32", "bfloat16"), '"auto", "float32" or "bfloat16"')
        check_setting("batch_size", batch_size, batch_size > 0, "a positive number")
        check_setting("max_length", max_length, max_length is None or max_length > 2, "null or more than 2 tokens")
        self.device, self.dtype, self.batch_size = device, dtype, batch_size
        self.progress: Progress | None = None
        self.stored = StoredModel("sentence", model, {"pooling": pooling, "max_length": max_length}, _complete)
        self._model: Any = None
        self._dimension = 0
        self._told_of_cuts = False

    @property
    def id(self) -> str:
        """The model's kind, the revision of its files, pooling and maximal length; needs no torch."""
        return self.stored.id

    def load(self) -> None:
        """Load the weights, if they are not loaded yet.

        Raises:
            ConfigError: The folder cannot be loaded.
            StateError: A saved folder is damaged or gone.
        """
        if self._model is None:
            folder, settings = self.stored.checked(), self.stored.settings
            model = load_model(folder, settings["pooling"], settings["max_length"], self.device, self.dtype)
            self._dimension = int(_encode(model, ["a"], 1).shape[1])
            self._model = model

    def fit(self, kb: KnowledgeBase) -> None:
        """Do nothing: the model is pretrained."""

    def encode_mentions(self, mentions: Sequence[Mention]) -> Vectors:
        """Encode the mentions' texts, (B, D) float32. Blank text gives a zero vector."""
        vectors, cut = self._encode([mention.text for mention in mentions])
        self._tell_of_cuts(cut)
        return Vectors((vectors,))

    def encode_entities(self, kb: KnowledgeBase, entities: Ints1d | None = None) -> EntityRows:
        """Encode every name of the entities (all by default), (N, D) float32, streaming over the name table."""
        self.load()
        owner, done, cut = np.asarray(kb.name_owner), 0, 0
        names = positions_of(kb, entities)
        vectors = np.zeros((len(names), self._dimension), np.float32)
        for texts in name_blocks(kb, names, BLOCK):
            vectors[done : done + len(texts)], block_cut = self._encode(texts, done, len(names))
            done, cut = done + len(texts), cut + block_cut
        self._tell_of_cuts(cut)
        return EntityRows(Vectors((vectors,)), np.asarray(owner[names], np.int32), names)

    def to_disk(self, path: Path) -> None:
        """Write settings and a self-contained copy of the model's folder."""
        self.stored.to_disk(path)

    def from_disk(self, path: Path) -> SentenceEncoder:
        """Take over a saved model; its weights are read and checked at first use, so the folder must stay.

        Raises:
            StateError: A file is missing, pooling or length were set otherwise, or it is another model than this one.
        """
        self.stored.from_disk(path)
        self._model = None
        return self

    def _encode(self, texts: Sequence[str], done: int = 0, total: int = 0) -> tuple[Floats2d, int]:
        """Encode texts, each distinct one once, in order of length; also count those that were cut."""
        self.load()
        clean = [normalise(text) for text in texts]
        distinct = sorted(set(clean) - {""}, key=lambda text: (len(text), text))
        vectors = np.zeros((len(distinct) + 1, self._dimension), np.float32)  # the last row: blank text
        step = self.batch_size * BATCHES
        for start in range(0, len(distinct), step):
            chunk = distinct[start : start + step]
            vectors[start : start + len(chunk)] = _encode(self._model, chunk, self.batch_size)
            if self.progress and total:
                self.progress(done + len(texts) * (start + len(chunk)) // len(distinct), total)
        row = {text: number for number, text in enumerate(distinct)}
        return vectors[[row.get(text, len(distinct)) for text in clean]], self._count_cut(distinct)

    def _count_cut(self, texts: Sequence[str]) -> int:
        limit = self.stored.settings["max_length"]
        if limit is None or self._told_of_cuts:
            return 0
        # A token is at least one byte of text, so most texts need no second look.
        long = [text for text in texts if len(text.encode()) + 2 > limit]
        return sum(len(ids) > limit for ids in self._model.tokenizer(long, verbose=False)["input_ids"]) if long else 0

    def _tell_of_cuts(self, cut: int) -> None:
        if cut and not self._told_of_cuts:
            self._told_of_cuts = True
            limit = self.stored.settings["max_length"]
            _log.warning("%d text(s) were cut to %s tokens before encoding; this is said once.", cut, limit)


def make_sentence_encoder(
    model: str,
    pooling: Literal["mean", "cls"] | None = None,
    device: str = "auto",
    dtype: Literal["auto", "float32", "bfloat16"] = "auto",
    batch_size: int = 64,
    max_length: int | None = None,
) -> SentenceEncoder:
    """Make a ``SentenceEncoder`` from a folder or hub name; loads nothing yet.

    Args:
        model: A sentence-transformers or Hugging Face model: a folder, or a name on the hub.
        pooling: How token vectors become one, "mean" or "cls"; null for what the model says.
        device: "auto", "cpu", "cuda" or the like.
        dtype: "auto" means bfloat16 on a GPU that computes in it, else float32.
        batch_size: Names encoded at a time.
        max_length: Tokens of a name at most; null for what the model says.

    Source:
        The one tower of PILOT (section 3.1), with a row for each name.
    """
    return SentenceEncoder(
        model, pooling=pooling, device=device, dtype=dtype, batch_size=batch_size, max_length=max_length
    )


def _complete(folder: ModelFolder, given: Settings) -> Settings:
    length, own = given["max_length"], folder.positions
    if length and own and length > own:
        raise ConfigError(Errors.MODEL_TOO_SHORT.format(setting="max_length", given=length, own=own, path=folder.path))
    return {"pooling": given["pooling"] or folder.pooling, "max_length": length or folder.max_length}


def _encode(model: Any, texts: list[str], batch_size: int) -> Floats2d:
    vectors = model.encode(texts, batch_size=batch_size, show_progress_bar=False, convert_to_numpy=True)
    vectors = np.array(vectors, np.float32)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    return vectors
