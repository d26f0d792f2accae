"""Devices for torch models, and quiet while model libraries load; torch is imported at first need."""

from __future__ import annotations

import contextlib
import functools
import logging
import re
from collections.abc import Iterator
from types import ModuleType

from ..errors import ConfigError, Errors, require
from ..forking import guard_forks

EXTRA = "transformers"
_DEVICE = re.compile(r"auto|cpu|(cuda|mps|xpu)(:\d+)?")
_log = logging.getLogger(__name__)


def require_torch(what: str, packages: tuple[str, ...] = ("torch", "transformers")) -> None:
    """Check that the optional packages are installed, without importing them.

    Raises:
        MissingExtraError: One is not.
    """
    for package in packages:
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


def pick_device(device: str) -> str:
    """Return the device that a checked setting means."""
    return best_device() if device == "auto" else device


def runs_low(dtype: str, device: str) -> bool:
    """Whether a model runs in bfloat16: if so set, or by default where the GPU computes in it."""
    if dtype == "auto":
        return device.startswith("cuda") and bool(import_torch().cuda.is_bf16_supported())
    return dtype == "bfloat16"


@functools.cache
def import_torch() -> ModuleType:
    """Import torch, made safe for processes that are forked later."""
    import torch

    guard_forks()  # components do so, too, but an encoder may be used without one
    module: ModuleType = torch
    return module


def _count_devices(kind: str) -> int:
    torch = import_torch()
    if kind == "mps":
        return int(torch.backends.mps.is_available())
    backend = getattr(torch, kind, None)
    return int(backend.device_count()) if backend is not None and backend.is_available() else 0


@functools.cache
def best_device() -> str:
    """Return what ``device = "auto"`` means here: a GPU, else "cpu" with one warning."""
    device = next((kind for kind in ("cuda", "mps", "xpu") if _count_devices(kind)), "cpu")
    if device == "cpu":
        _log.warning("No GPU found: models run on the CPU.")
    return device


@contextlib.contextmanager
def quiet() -> Iterator[None]:
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
