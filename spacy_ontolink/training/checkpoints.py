"""What it takes to go on with training as if nothing had happened: weights, optimizer and position."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from ..errors import Errors, StateError
from ..files import read_json, replacing, write_json

WEIGHTS, OPTIMIZER, STATE = "weights.safetensors", "optimizer.safetensors", "state.json"


def save_checkpoint(path: Path, module: Any, optimizer: Any, state: Mapping[str, Any]) -> None:
    """Write a checkpoint as the folder ``path``, whole or not at all.

    Args:
        path: The folder; an earlier checkpoint there is replaced.
        module: All that has parameters; those that are frozen are not saved.
        optimizer: Its moments are saved.
        state: Where training stands, in plain values.
    """
    with replacing(path) as folder:
        folder.mkdir()
        save_file({name: value.detach().contiguous() for name, value in _changing(module).items()}, folder / WEIGHTS)
        save_file(_moments(optimizer), folder / OPTIMIZER)
        write_json(folder / STATE, dict(state))


def read_state(path: Path) -> dict[str, Any] | None:
    """Return where the training of a checkpoint stands, None if there is no checkpoint.

    Raises:
        StateError: It is damaged.
    """
    return dict(read_json(path / STATE)) if path.exists() else None


def load_checkpoint(path: Path, module: Any, optimizer: Any) -> None:
    """Put weights and optimizer back, in place.

    Raises:
        StateError: The checkpoint is damaged, or one of another model.
    """
    try:
        weights, own = load_file(path / WEIGHTS), _changing(module)
        if differing := set(weights) ^ set(own):
            raise ValueError(f"{len(differing)} weights are not those of the model, such as {min(differing)}")
        with torch.no_grad():
            for name, value in weights.items():
                own[name].copy_(value)
        _set_moments(optimizer, load_file(path / OPTIMIZER))
    except (
        OSError,
        ValueError,
        RuntimeError,
        KeyError,
        SafetensorError,
    ) as error:  # torch and safetensors have many words for it
        reason = " ".join(str(error).split())[:300]
        raise StateError(Errors.CHECKPOINT_DAMAGED.format(path=path, reason=reason)) from error


def _changing(module: Any) -> dict[str, Any]:
    """Return by name what training changes: parameters that are not frozen, each once, and buffers."""
    parameters = {name: value for name, value in module.named_parameters() if value.requires_grad}
    return parameters | {f"buffer:{name}": value for name, value in module.named_buffers()}


def _moments(optimizer: Any) -> dict[str, Any]:
    state = optimizer.state_dict()["state"]
    return {f"{number}:{key}": value for number, own in state.items() for key, value in own.items()}


def _set_moments(optimizer: Any, saved: Mapping[str, Any]) -> None:
    state: dict[int, dict[str, Any]] = {}
    for name, value in saved.items():
        number, _, key = name.partition(":")
        state.setdefault(int(number), {})[key] = value
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
