"""Folders with a transformer model: finding, checking, fingerprinting and copying them, without importing torch."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import ConfigError, Errors
from ..files import safe_join, sha256

CONFIG = "config.json"
TOWERS = ("mention", "entity")  # the subfolders of a bi-encoder whose two sides are two models
_SUFFIXES = {".json", ".txt", ".safetensors", ".model", ".jinja", ".bpe", ".vocab"}
_SKIPPED = ("onnx", "openvino", "checkpoint", ".")
_POOLING_KEYS = {"cls_token": "cls", "max_tokens": "max", "mean_tokens": "mean", "lasttoken": "lasttoken",
                 "mean_sqrt_len_tokens": "mean_sqrt_len_tokens", "weightedmean_tokens": "weightedmean"}  # fmt: skip
_OFFSET_POSITIONS = ("roberta", "mpnet", "camembert", "longformer")  # their position ids start after the padding id
_NO_LIMIT = 1_000_000  # tokenizers without a limit of their own say 1e30


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A folder with safetensors weights, and the SHA-256 of each file (by relative name) that makes the model.

    Raises:
        StateError: A name leads out of the folder.
    """

    path: Path
    files: dict[str, str]

    def __post_init__(self) -> None:
        for name in self.files:  # a saved folder lists them, and saved folders come from anywhere
            safe_join(self.path, name)

    @classmethod
    def open(cls, path: Path) -> ModelFolder:
        """Fingerprint the folder's files.

        Raises:
            ConfigError: It is no model folder, or its weights are pickled.
        """
        names = _model_files(path)
        return cls(path, {name: sha256(path / name) for name in names})

    @property
    def revision(self) -> str:
        """A hash of the content: folders with equal files have equal revisions, wherever they are."""
        return hashlib.sha256(json.dumps(sorted(self.files.items())).encode()).hexdigest()[:16]

    @property
    def label(self) -> str:
        """What the model is, in a word made of its content, such as ``bert-6x384``."""
        config = _read(self.transformer / CONFIG)
        depth, width = config.get("num_hidden_layers"), config.get("hidden_size")
        return str(config.get("model_type", "model")) + (f"-{depth}x{width}" if depth and width else "")

    @property
    def modules(self) -> list[dict[str, Any]]:
        """The modules of a sentence-transformers folder; none for a plain Hugging Face one."""
        modules: list[dict[str, Any]] = _read(self.path / "modules.json", [])
        return modules

    @property
    def transformer(self) -> Path:
        """The folder of the transformer itself; of two towers, the one for mentions."""
        if self.two_towers:
            return self.path / TOWERS[0]
        return self._module_folder(self.modules[0]) if self.modules else self.path

    @property
    def two_towers(self) -> bool:
        """Whether it is a bi-encoder of two models, in the subfolders ``mention`` and ``entity``."""
        return all(f"{tower}/{CONFIG}" in self.files for tower in TOWERS)

    @property
    def architecture(self) -> str:
        """The class that the transformer's config names, such as ``BertForSequenceClassification``."""
        return str((_read(self.transformer / CONFIG).get("architectures") or [""])[0])

    @property
    def pooling(self) -> str:
        """How the folder's own config pools token vectors: ``mean`` if it says nothing, ``own`` if in another way."""
        for module in self.modules:
            if module.get("type", "").rpartition(".")[2] == "Pooling":
                config = _read(self._module_folder(module) / CONFIG)
                old = [mode for key, mode in _POOLING_KEYS.items() if config.get(f"pooling_mode_{key}")]
                mode = config.get("pooling_mode") or old or "mean"
                return mode if isinstance(mode, str) else "+".join(mode)
        return "own" if self.modules else "mean"

    @property
    def positions(self) -> int | None:
        """How many tokens the transformer can read; None when its config does not say."""
        config = _read(self.transformer / CONFIG)
        limit = config.get("max_position_embeddings")
        if limit and any(family in config.get("model_type", "") for family in _OFFSET_POSITIONS):
            limit -= int(config.get("pad_token_id") or 0) + 1
        return int(limit) if limit else None

    @property
    def max_length(self) -> int | None:
        """The length in tokens to which the folder's own config cuts texts; None when it does not say."""
        for name in sorted(self.transformer.glob("sentence_*_config.json")):
            if own := _read(name).get("max_seq_length"):
                return int(own)
        limits = [self.positions, _read(self.transformer / "tokenizer_config.json").get("model_max_length")]
        return min((int(limit) for limit in limits if limit and limit < _NO_LIMIT), default=None)

    def _module_folder(self, module: dict[str, Any]) -> Path:
        name = str(module.get("path", ""))
        return self.path if name in ("", ".", "./") else safe_join(self.path, name)

    def copy_to(self, target: Path) -> None:
        """Copy the model's files (no pickles, no code) into the folder ``target``."""
        for name in self.files:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self.path / name, target / name)

    def first_damaged(self) -> Path | None:
        """Return the first file that is missing or not as fingerprinted, if any."""
        for name, digest in self.files.items():
            if not (self.path / name).is_file() or sha256(self.path / name) != digest:
                return self.path / name
        return None


def find_model(model: str) -> Path:
    """Return the folder of a model: an existing one, or the cached or fetched copy of a hub name.

    A path never leads to the network, and a hub name does only when it is not cached.

    Raises:
        ConfigError: There is no such folder, or the name cannot be fetched.
    """
    path = Path(model).expanduser()
    if path.is_dir():
        return path
    if path.exists() or _is_path(model):
        raise ConfigError(Errors.MODEL_MISSING.format(path=model))
    return _fetch(model)


def plain_name(model: str) -> str:
    """Return a hub name as it is, and of a folder the last part, which tells nothing about the machine."""
    path = os.path.expanduser(model)
    return os.path.basename(os.path.abspath(path)) if os.path.isdir(path) or _is_path(model) else model


def may_be(model: str, saved: str) -> bool:
    """Whether a model that is no folder here may be the one whose plain name was saved.

    A folder may have been left behind or moved; only the name of another hub model is surely another model.
    """
    if _is_path(model) or model == saved:
        return True
    return not ("/" in model and "/" in saved) and model.rpartition("/")[2] == saved.rpartition("/")[2]


def _is_path(model: str) -> bool:
    """Whether this cannot be a hub name (``name`` or ``owner/name``), so that it means a folder, be it there or not."""
    odd = model.startswith((".", "~")) or model.endswith("/") or "\\" in model or model.count("/") > 1
    return odd or os.path.isabs(model)


def _fetch(model: str) -> Path:
    from huggingface_hub import snapshot_download

    wanted = [f"*{suffix}" for suffix in sorted(_SUFFIXES)]
    unwanted = [f"{folder}*/*" for folder in _SKIPPED]
    only: dict[str, Any] = {"allow_patterns": wanted, "ignore_patterns": unwanted}
    # Whoever names a model of a hub trusts its owner. No revision is pinned: what was fetched is fingerprinted, copied
    # into the saved pipeline, and compared whenever that is opened.
    try:
        folder = Path(snapshot_download(model, local_files_only=True, **only))  # nosec B615
        _model_files(folder)  # a cache may hold a part of it only
    except Exception:  # whatever is wrong with the cached copy, the hub can mend it
        try:
            folder = Path(snapshot_download(model, **only))  # nosec B615
        except Exception as error:  # network, authorisation, unknown name: many types, one answer
            reason = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
            raise ConfigError(Errors.MODEL_NOT_FETCHED.format(model=model, reason=reason)) from error
    return folder


def _model_files(path: Path) -> list[str]:
    towers = all((path / tower / CONFIG).is_file() for tower in TOWERS)
    if not towers and not (path / CONFIG).is_file() and not (path / "modules.json").is_file():
        raise ConfigError(Errors.MODEL_MISSING.format(path=path))
    folders = [path, *(p for p in sorted(path.iterdir()) if p.is_dir() and not p.name.startswith(_SKIPPED))]
    files = [file for folder in folders for file in sorted(folder.iterdir()) if file.is_file()]
    pickled = [file for file in files if file.suffix == ".bin" and file.name.startswith("pytorch_model")]
    safe = {file.parent for file in files if file.suffix == ".safetensors"}
    if missing := [file for file in pickled if file.parent not in safe]:
        raise ConfigError(Errors.MODEL_PICKLED.format(path=missing[0].parent, found=f", only {missing[0].name}"))
    if not safe:
        raise ConfigError(Errors.MODEL_PICKLED.format(path=path, found=""))
    kept = (file for file in files if file.suffix in _SUFFIXES and not file.name.startswith("."))
    return [file.relative_to(path).as_posix() for file in kept]


def _read(path: Path, default: Any = None) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {} if default is None else default
    except (ValueError, RecursionError) as error:
        raise ConfigError(Errors.MODEL_UNLOADABLE.format(path=path, reason=error)) from error
