"""One training over several processes, one for each GPU, as ``accelerate launch`` or ``torchrun`` starts them.

Every process takes its share of each step's items and gradients are summed, so that there is nothing to wrap a model
in. A process that was started alone, which is the rule, needs no accelerate.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from ..errors import require
from ..models.devices import pick_device


class Processes(NamedTuple):
    """This process among those that train together.

    Attributes:
        device: What it computes on.
        rank: Its number; the first one writes files and reports.
        size: How many there are.
        state: accelerate's, None for a process on its own.
    """

    device: str
    rank: int = 0
    size: int = 1
    state: Any = None

    @classmethod
    def join(cls, device: str) -> Processes:
        """Join the other processes, if the environment says that there are any.

        Raises:
            MissingExtraError: There are, and accelerate is not installed.
        """
        if int(os.environ.get("WORLD_SIZE", "1")) < 2:
            return cls(pick_device(device))
        require("accelerate", "train", "Training with several processes")
        from accelerate import PartialState

        state = PartialState(cpu=pick_device(device) == "cpu")
        return cls(str(state.device), state.process_index, state.num_processes, state)

    @property
    def first(self) -> bool:
        """Whether this process writes and reports."""
        return self.rank == 0

    def share(self, items: Sequence[Any]) -> Sequence[Any]:
        """Return this process's part of a step's items."""
        return items if self.size == 1 else items[self.rank :: self.size]

    def sum_gradients(self, parameters: Sequence[Any]) -> None:
        """Add up the gradients of all processes; one without items has none to add."""
        if self.size == 1:
            return
        for parameter in parameters:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            torch.distributed.all_reduce(parameter.grad)

    def sum(self, value: float) -> float:
        """Add up a number of all processes."""
        if self.size == 1:
            return value
        total = torch.tensor(value, dtype=torch.float32, device=self.device)
        torch.distributed.all_reduce(total)
        return float(total)

    def wait(self) -> None:
        """Wait until all processes are here."""
        if self.state is not None:
            self.state.wait_for_everyone()
