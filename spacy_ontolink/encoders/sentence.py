"""Sentence-transformers and Hugging Face models as encoders: one dense row per name."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..errors import ConfigError, Errors, StateError
from ..files import REBUILD, read_json, replacing, write_json
from ..models.devices import check_device, require_torch
from ..models.folder import ModelFolder, find_model, local_model, may_be, plain_name
from ..text import normalise
from ..types import EntityRows, Floats2d, Ints1d, Mention
from ..vectors import Vectors
from .names import name_blocks, positions_of
from .torch_models import load_model

if TYPE_CHECKING:
    from ..kb import KnowledgeBase

Progress = Callable[[int, int], None]
"""Called with (names encoded so far, names in all) during long work."""

SETTINGS = "sentence.json"
FOLDER = "model"
BLOCK = 16_384  # names held as Python strings at a time
BATCHES = 16  # batches between two reports of progress
_log = logging.getLogger(__name__)


class SentenceEncoder:
    """Encodes names and mentions (without their context) with a pretrained transformer; weights load at first use.

    Both sides are normalised, so that equal names have equal vectors. The ``id`` is made of the model's files, its
    pooling and its maximal length; number type and device are left out, as they change only the last digits.
    """

    uses_context = False

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
        _check("pooling", pooling, pooling in ("mean", "cls", None), '"mean", "cls" or null (what the model says)')
        _check("dtype", dtype, dtype in ("auto", "float32", "bfloat16"), '"auto", "float32" or "bfloat16"')
        _check("batch_size", batch_size, batch_size > 0, "a positive number")
        _check("max_length", max_length, max_length is None or max_length > 2, "null or more than 2 tokens")
        self.model = model
        self.pooling: str | None = pooling
        self.max_length = max_length
        self.device, self.dtype, self.batch_size = device, dtype, batch_size
        self.progress: Progress | None = None
        self._folder: ModelFolder | None = None
        self._saved = False
        self._saved_name = ""
        self._model: Any = None
        self._dimension = 0
        self._told_of_cuts = False

    @property
    def folder(self) -> ModelFolder:
        """The folder of the model, found (and for an uncached hub name: fetched) at first use."""
        if self._folder is None:
            folder = ModelFolder.open(find_model(self.model))
            if self.max_length and folder.positions and self.max_length > folder.positions:
                given, own = self.max_length, folder.positions
                raise ConfigError(Errors.MODEL_TOO_SHORT.format(given=given, own=own, path=folder.path))
            self._folder = folder
        return self._folder

    @property
    def id(self) -> str:
        """The model's kind, the revision of its files, pooling and maximal length; needs no torch."""
        return _id(self.folder, *self._settings())

    def load(self) -> None:
        """Load the weights, if they are not loaded yet.

        Raises:
            ConfigError: The folder cannot be loaded.
            StateError: A saved folder is damaged or gone.
        """
        if self._model is None:
            if self._saved and (damaged := self.folder.first_damaged()):
                raise _damaged(damaged, "not as it was saved")
            model = load_model(self.folder, *self._settings(), self.device, self.dtype)
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
        pooling, max_length = self._settings()
        name = self._saved_name or plain_name(self.model)
        settings = {"id": self.id, "name": name, "pooling": pooling, "max_length": max_length,
                    "files": self.folder.files}  # fmt: skip
        with replacing(Path(path)) as folder:
            (folder / FOLDER).mkdir(parents=True)
            self.folder.copy_to(folder / FOLDER)
            write_json(folder / SETTINGS, settings)

    def from_disk(self, path: Path) -> SentenceEncoder:
        """Take over a saved model; its weights are read and checked at first use, so the folder must stay.

        Raises:
            StateError: A file is missing, pooling or length were set otherwise, or the encoder was made with another
                model: a folder that is here and differs, or another hub name. (A folder that is not here may be the
                one, since saved encoders travel.)
        """
        path = Path(path)
        saved = read_json(path / SETTINGS)
        try:
            folder = ModelFolder(path / FOLDER, {str(name): str(digest) for name, digest in saved["files"].items()})
            settings = {"pooling": saved["pooling"], "max_length": saved["max_length"]}
            saved_name = str(saved.get("name", ""))
        except (KeyError, AttributeError, TypeError) as error:
            raise _damaged(path / SETTINGS, f"no {error}") from error
        for name in folder.files:
            if not (folder.path / name).is_file():
                raise _damaged(folder.path / name, "missing")
        for setting, value in settings.items():
            if (given := getattr(self, setting)) not in (None, value):
                raise StateError(Errors.MODEL_SETTING.format(path=path, setting=setting, saved=value, given=given))
        self._check_model(path, folder, saved_name, saved["pooling"], saved["max_length"])
        self.pooling, self.max_length = settings["pooling"], settings["max_length"]
        self._folder, self._model, self._saved, self._saved_name = folder, None, True, saved_name
        return self

    def _check_model(self, path: Path, saved: ModelFolder, name: str, pooling: str, max_length: int | None) -> None:
        """Refuse to pass a saved model off as another one that the constructor was given."""
        made_with = self._folder if self._folder and not self._saved else local_model(self.model)
        if made_with is not None and made_with.files != saved.files:
            ids = {"saved": _id(saved, pooling, max_length), "given": _id(made_with, pooling, max_length)}
        elif made_with is None and name and not may_be(self.model, name):
            ids = {"saved": name, "given": self.model}
        else:
            return
        raise StateError(Errors.MISMATCH.format(path=path, what="the model", **ids))

    def _settings(self) -> tuple[str, int | None]:
        return self.pooling or self.folder.pooling, self.max_length or self.folder.max_length

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
        limit = self._settings()[1]
        if limit is None or self._told_of_cuts:
            return 0
        # A token is at least one byte of text, so most texts need no second look.
        long = [text for text in texts if len(text.encode()) + 2 > limit]
        return sum(len(ids) > limit for ids in self._model.tokenizer(long, verbose=False)["input_ids"]) if long else 0

    def _tell_of_cuts(self, cut: int) -> None:
        if cut and not self._told_of_cuts:
            self._told_of_cuts = True
            limit = self._settings()[1]
            _log.warning("%d text(s) were cut to %s tokens before encoding; this is said once.", cut, limit)


def make_sentence_encoder(
    model: str,
    pooling: Literal["mean", "cls"] | None = None,
    device: str = "auto",
    dtype: Literal["auto", "float32", "bfloat16"] = "auto",
    batch_size: int = 64,
    max_length: int | None = None,
) -> SentenceEncoder:
    """Make a ``SentenceEncoder`` from a folder or hub name; loads nothing yet."""
    return SentenceEncoder(
        model, pooling=pooling, device=device, dtype=dtype, batch_size=batch_size, max_length=max_length
    )


def _id(folder: ModelFolder, pooling: str, max_length: int | None) -> str:
    return f"sentence:{folder.label}@{folder.revision}:{pooling}:{max_length}"


def _encode(model: Any, texts: list[str], batch_size: int) -> Floats2d:
    vectors = model.encode(texts, batch_size=batch_size, show_progress_bar=False, convert_to_numpy=True)
    vectors = np.array(vectors, np.float32)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    return vectors


def _check(setting: str, given: object, fine: bool, wanted: str) -> None:
    if not fine:
        raise ConfigError(Errors.SETTING_VALUE.format(setting=setting, given=given, wanted=wanted))


def _damaged(path: Path, reason: object) -> StateError:
    return StateError(Errors.FILE_DAMAGED.format(path=path, reason=reason, rebuild=REBUILD))
