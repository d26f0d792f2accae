"""Errors of exhausted memory, in words that say which setting to change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from ..errors import ConfigError, Errors
from .settings import LoopSettings


@contextmanager
def naming_memory(settings: LoopSettings) -> Iterator[None]:
    """Turn an out-of-memory error into one that names the setting to change."""
    try:
        yield
    except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
        if not _is_memory(error):
            raise
        size, accumulate = settings.batch_size, settings.accumulate
        if size == 1:
            raise ConfigError(Errors.NO_MEMORY_AT_ALL.format(block=settings.block)) from error
        half = -(-size // 2)
        more = accumulate * -(-size // half)
        raise ConfigError(Errors.NO_MEMORY.format(size=size, half=half, more=more, block=settings.block)) from error


def _is_memory(error: BaseException) -> bool:
    """Whether it is for want of memory; on a CPU, torch says so in a RuntimeError."""
    said = str(error).lower()
    named = isinstance(error, torch.OutOfMemoryError | MemoryError)
    return named or "out of memory" in said or "allocate memory" in said
