"""Loading sentence-transformers models: devices, number types, pooling and quiet; the only place that imports torch."""

from __future__ import annotations

import contextlib
import functools
import logging
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from ..errors import ConfigError, Errors, require
from ..forking import guard_forks
from .model_folder import ModelFolder

EXTRA = "transformers"
_DEVICE = re.compile(r"auto|cpu|(cuda|mps|xpu)(:\d+)?")
_log = logging.getLogger(__name__)


def require_torch(what: str) -> None:
    """Check that the optional packages are installed, without importing them.

    Raises:
        MissingExtraError: One is not.
    """
    for package in ("torch", "transformers", "sentence_transformers"):
        require(package, EXTRA, what)


def check_device(device: str) -> None:
    """Check that an explicitly named device exists; only a GPU's name makes this import torch.

    Raises:
        ConfigError: The name is no device's, or there is no such device here.
    """
    if not _DEVICE.fullmatch(device):
        wanted = '"auto", "cpu", "cuda", "cuda:0", "mps" or the like'
        raise ConfigError(Errors.SETTING_VALUE.format(setting="device", given=device, wanted=wanted))
    if device in ("auto", "cpu"):
        return
    kind, _, number = device.partition(":")
    count = _count_devices(kind)
    if int(number or 0) >= count:
        reason = f"torch sees {count} device(s) of this kind"
        fix = "" if count else ", or install a build of torch for your GPU"
        raise ConfigError(Errors.DEVICE_ABSENT.format(device=device, reason=reason, fix=fix))


def load_model(folder: ModelFolder, pooling: str | None, max_length: int | None, device: str, dtype: str) -> Any:
    """Load a ``SentenceTransformer`` from a folder: offline, without pickles or code of its own, without chatter.

    Raises:
        ConfigError: The folder cannot be loaded.
    """
    torch = _torch()
    device = _best_device() if device == "auto" else device
    try:
        with _quiet():
            from sentence_transformers import SentenceTransformer

            model = SentenceTransformer(
                str(folder.path),
                device=device,
                local_files_only=True,
                trust_remote_code=False,
                model_kwargs={"use_safetensors": True},
            )
    except Exception as error:  # a foreign folder can be wrong in any way; the cause stays chained
        reason = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
        raise ConfigError(Errors.MODEL_UNLOADABLE.format(path=folder.path, reason=reason)) from error
    if pooling is not None and pooling != folder.pooling:
        _pool(model, pooling, folder)
    if max_length is not None:
        model.max_seq_length = max_length
    low = dtype == "bfloat16" or (dtype == "auto" and device.startswith("cuda") and torch.cuda.is_bf16_supported())
    return (model.bfloat16() if low else model.float()).eval()


def _pool(model: Any, pooling: str, folder: ModelFolder) -> None:
    for position, module in enumerate(model):
        if type(module).__name__ == "Pooling":
            width = getattr(module, "embedding_dimension", None) or module.word_embedding_dimension
            model[position] = type(module)(width, pooling_mode=pooling)
            return
    reason = f"it has no pooling of tokens, so pooling = '{pooling}' cannot be applied"
    raise ConfigError(Errors.MODEL_UNLOADABLE.format(path=folder.path, reason=reason))


@functools.cache
def _torch() -> ModuleType:
    import torch

    guard_forks()  # components do so, too, but an encoder may be used without one
    module: ModuleType = torch
    return module


def _count_devices(kind: str) -> int:
    torch = _torch()
    if kind == "mps":
        return int(torch.backends.mps.is_available())
    backend = getattr(torch, kind, None)
    return int(backend.device_count()) if backend is not None and backend.is_available() else 0


@functools.cache
def _best_device() -> str:
    device = next((kind for kind in ("cuda", "mps", "xpu") if _count_devices(kind)), "cpu")
    if device == "cpu":
        _log.warning("No GPU found: encoding text with the model on the CPU.")
    return device


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep progress bars and remarks of the model libraries off the terminal while a model loads."""
    from transformers.utils import logging as chatter

    bars, level = chatter.is_progress_bar_enabled(), chatter.get_verbosity()
    other = logging.getLogger("sentence_transformers")
    other_level = other.level
    try:
        chatter.disable_progress_bar()
        chatter.set_verbosity_error()
        other.setLevel(logging.ERROR)
        yield
    finally:
        chatter.set_verbosity(level)
        other.setLevel(other_level)
        if bars:
            chatter.enable_progress_bar()
