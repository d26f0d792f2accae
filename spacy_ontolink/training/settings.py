"""Settings of the training loop; needs no torch, so that a config can be checked before anything is loaded."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal, get_args

from ..errors import check_setting
from ..models.devices import check_device

Schedule = Literal["cosine", "linear", "constant"]
DType = Literal["auto", "float32", "bfloat16"]
SCHEDULES, DTYPES = get_args(Schedule), get_args(DType)
_FREE = ("device", "checkpoint_minutes", "batch_size", "accumulate")  # a resumed run may change these


@dataclass(frozen=True)
class LoopSettings:
    """How to train.

    Attributes:
        epochs: Passes over the items.
        batch_size: Items in one call of ``Task.loss``.
        learning_rate: The highest rate, reached after warming up.
        warmup: Share of the training in which the rate rises from 0.
        schedule: How the rate falls afterwards, to 0 unless it is constant.
        weight_decay: Of AdamW, for matrices only.
        accumulate: Batches whose gradients make up one step.
        clip: The largest norm of a gradient; 0 leaves gradients as they are.
        dtype: What to compute in; "auto" is bfloat16 on a GPU that has it. Weights are float32 in any case.
        device: "auto", "cpu", "cuda" or the like.
        seed: Of all that is random.
        max_steps: Ends training early, the schedule with it; 0 is no limit.
        checkpoint_minutes: Time between checkpoints; there is one after every epoch, too.
    """

    block: ClassVar[str] = "training"

    epochs: int = 1
    batch_size: int = 32
    learning_rate: float = 2e-5
    warmup: float = 0.05
    schedule: Schedule = "cosine"
    weight_decay: float = 0.01
    accumulate: int = 1
    clip: float = 1.0
    dtype: DType = "auto"
    device: str = "auto"
    seed: int = 0
    max_steps: int = 0
    checkpoint_minutes: float = 10.0

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "accumulate"):
            check_setting(f"{self.block}.{name}", getattr(self, name), getattr(self, name) > 0, "a positive number")
        for name in ("weight_decay", "clip", "max_steps", "checkpoint_minutes", "seed"):
            check_setting(f"{self.block}.{name}", getattr(self, name), getattr(self, name) >= 0, "0 or more")
        check_setting(f"{self.block}.learning_rate", self.learning_rate, self.learning_rate > 0, "a number above 0")
        check_setting(f"{self.block}.warmup", self.warmup, 0 <= self.warmup < 1, "a share from 0 to below 1")
        schedules, dtypes = ("cosine", "linear", "constant"), ("auto", "float32", "bfloat16")
        check_setting(
            "training.schedule", self.schedule, self.schedule in schedules, '"cosine", "linear" or "constant"'
        )
        check_setting("training.dtype", self.dtype, self.dtype in dtypes, '"auto", "float32" or "bfloat16"')
        check_device(self.device)

    def fixed(self) -> dict[str, Any]:
        """Return the settings that must be equal for a run to be resumed."""
        return {name: value for name, value in asdict(self).items() if name not in _FREE}

    def rate(self, progress: float) -> float:
        """Return the learning rate when the share ``progress`` of the training is over."""
        if progress < self.warmup:
            return self.learning_rate * progress / self.warmup
        left = 1 - (progress - self.warmup) / (1 - self.warmup)
        shape = {"cosine": 0.5 - 0.5 * math.cos(math.pi * left), "linear": left, "constant": 1.0}
        return self.learning_rate * shape[self.schedule]
