"""What is kept of a training: a line for every step."""

from __future__ import annotations

import json
from pathlib import Path
from typing import IO, NamedTuple

from ..errors import Errors, StateError

LOG = "log.jsonl"
"""The file, in the folder of the model."""


class Step(NamedTuple):
    """One update of the weights.

    Attributes:
        step: Its number, from 1.
        epoch: Number of the epoch, from 0.
        progress: The share of the training that is over after it.
        items: Items seen since the beginning.
        loss: Mean loss of its items, before the update.
        learning_rate: That it was taken with.
        items_per_second: Rate of this step.
    """

    step: int
    epoch: int
    progress: float
    items: int
    loss: float
    learning_rate: float
    items_per_second: float


class TrainingLog(NamedTuple):
    """What happened: every step since the beginning, and the step after which this run took up the work."""

    steps: list[Step]
    resumed_after: int = 0


def write_step(log: IO[str], step: Step) -> None:
    """Append a line and make sure that it is there."""
    log.write(json.dumps(step._asdict()) + "\n")
    log.flush()


def read_steps(path: Path, steps: int) -> list[Step]:
    """Return the first ``steps`` lines of a log; a kill may have cut the last line, which is after the checkpoint."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()[:steps]
        found = [Step(**json.loads(line)) for line in lines]
        if len(found) < steps:
            raise ValueError(f"{len(found)} lines, fewer than the {steps} steps of the checkpoint")
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise StateError(Errors.CHECKPOINT_DAMAGED.format(path=path, reason=error)) from error
    return found
