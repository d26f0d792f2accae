"""The one training loop: seeded, resumed exactly after a kill, and the same for every model that is trained.

A ``Task`` says what is trained and on what; the loop does the rest. The last epoch is kept, as there need not be a
development set (Sci-ZSEL, section 6.1).
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
import torch

from ..atomic import naming_full_disk
from ..errors import ConfigError, Errors, StateError
from ..files import replacing
from ..models.devices import runs_low
from .checkpoints import load_checkpoint, read_state, save_checkpoint
from .log import LOG, Step, TrainingLog, read_steps, write_step
from .memory import naming_memory
from .processes import Processes
from .settings import LoopSettings

CHECKPOINT = ".checkpoint"
"""In the folder of the model: what a resumed run needs, gone when training is done."""

Tensor = Any


class Task(Protocol):
    """What is trained, and on what.

    ``start_epoch`` and ``loss`` may draw random numbers from torch's global generators: the loop seeds them anew for
    every epoch and step, so that a resumed training draws the same. Any other chance must follow from the seed and the
    epoch.
    """

    @property
    def module(self) -> Any:
        """The ``torch.nn.Module`` that has all parameters; the loop moves it to the device."""

    def start_epoch(self, epoch: int) -> Sequence[Any]:
        """Return the items of this epoch, already shuffled; may mine negatives anew with the weights as they are."""

    def loss(self, items: Sequence[Any]) -> Tensor:
        """Return the mean loss of a batch, a scalar; called under autocast."""

    def save(self, path: Path) -> None:
        """Write the finished model as a folder, whole or not at all."""


Report = Callable[[Step], None]


def train(
    task: Task,
    settings: LoopSettings,
    out: Path,
    *,
    report: Report | None = None,
    facts: Mapping[str, Any] | None = None,
    beside: Mapping[str, str] | None = None,
) -> TrainingLog:
    """Train a model and write it as the folder ``out``, with ``log.jsonl`` beside its files.

    A run that was killed goes on from its last checkpoint when it is called again in the same way, with the loss curve
    that it would have had. Started with ``accelerate launch`` or ``torchrun``, several processes train one model, each
    on a GPU of its own; a step then has ``batch_size`` items of each.

    Args:
        task: What is trained.
        settings: How.
        out: Folder of the model; until it is done, of checkpoints and log.
        report: Called after each step.
        facts: Plain values that must be equal for a run to be resumed, such as hashes of its data.
        beside: More text files to put beside the model's, by name.

    Raises:
        ConfigError: Out of memory; or the loss is no number any more.
        StateError: The checkpoint there belongs to other settings or facts, or is damaged.
    """
    return _Run(task, settings, Path(out), report, facts or {}).train(beside or {})


class _Run:
    """The state of one training."""

    def __init__(
        self, task: Task, settings: LoopSettings, out: Path, report: Report | None, facts: Mapping[str, Any]
    ) -> None:
        self.task, self.settings, self.out, self.report = task, settings, out, report
        self.processes = Processes.join(settings.device)
        same = {"settings": {**settings.fixed(), "processes": self.processes.size}, "facts": dict(facts)}
        self.same = json.loads(json.dumps(same, default=str))
        self.device = self.processes.device
        self.low = runs_low(settings.dtype, self.device)
        self.steps: list[Step] = []
        self.saved = time.monotonic()

    def train(self, beside: Mapping[str, str]) -> TrainingLog:
        """Train, and put the model in the place of the checkpoints."""
        self.task.module.to(self.device)
        self.optimizer = _optimizer(self.task.module, self.settings)
        epoch, position = self._resume()
        resumed_after = len(self.steps)
        with naming_full_disk(self.out), self._open_log() as log:
            while epoch < self.settings.epochs and not self._is_over():
                self._epoch(epoch, position, log)
                epoch, position = epoch + 1, 0
                self._checkpoint("epoch", epoch, 0)
        self.task.module.eval()
        if self.processes.first:
            with replacing(self.out) as folder:
                self.task.save(folder)
                for name, text in {LOG: (self.out / LOG).read_text("utf-8"), **beside}.items():
                    (folder / name).write_text(text, "utf-8")
        self.processes.wait()
        return TrainingLog(self.steps, resumed_after)

    def _epoch(self, epoch: int, position: int, log: IO[str]) -> None:
        """Take the steps of an epoch from ``position`` on, which counts items."""
        self._seed(epoch, 0)
        items = self.task.start_epoch(epoch)
        if position:  # what start_epoch did, it did with the weights of the epoch's beginning
            load_checkpoint(self.out / CHECKPOINT / "step", self.task.module, self.optimizer)
        self.task.module.train()
        stride = self.settings.batch_size * self.settings.accumulate * self.processes.size
        for start in range(position, len(items), stride):
            began = time.monotonic()
            taken = items[start : start + stride]
            before, after = (self._progress(epoch + done / len(items), more)
                             for done, more in ((start, 0), (start + len(taken), 1)))  # fmt: skip
            rate = self.settings.rate((before + after) / 2)
            self._seed(epoch, len(self.steps) + 1)
            loss = self._step(taken, rate)
            seen = self.steps[-1].items if self.steps else 0
            speed = len(taken) / max(time.monotonic() - began, 1e-9)
            step = Step(len(self.steps) + 1, epoch, after, seen + len(taken), loss, rate, speed)
            self.steps.append(step)
            write_step(log, step)
            if self.report and self.processes.first:
                self.report(step)
            if self._is_over():
                return
            if time.monotonic() - self.saved >= 60 * self.settings.checkpoint_minutes and start + stride < len(items):
                self._checkpoint("step", epoch, start + stride)

    def _step(self, items: Sequence[Any], rate: float) -> float:
        """Update the weights once; return the mean loss of the items."""
        total, size, own = 0.0, self.settings.batch_size, self.processes.share(items)
        with naming_memory(self.settings):
            for start in range(0, len(own), size):
                batch = own[start : start + size]
                with torch.autocast(torch.device(self.device).type, torch.bfloat16, enabled=self.low):
                    loss = self.task.loss(batch) * (len(batch) / len(items))
                loss.backward()
                total += loss.item()
            total = self.processes.sum(total)
            if not math.isfinite(total):
                where = {"step": len(self.steps) + 1, "block": self.settings.block}
                raise ConfigError(Errors.NO_LOSS.format(loss=total, rate=rate, **where))
            trained = [parameter for group in self.optimizer.param_groups for parameter in group["params"]]
            self.processes.sum_gradients(trained)
            if self.settings.clip:
                torch.nn.utils.clip_grad_norm_(trained, self.settings.clip)
            for group in self.optimizer.param_groups:
                group["lr"] = rate
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)
        return total

    def _progress(self, epochs: float, more: int) -> float:
        """Return the share of the training that is over after so many epochs, or by the number of steps."""
        limit = self.settings.max_steps
        return min(1.0, max(epochs / self.settings.epochs, (len(self.steps) + more) / limit if limit else 0.0))

    def _is_over(self) -> bool:
        return 0 < self.settings.max_steps <= len(self.steps)

    def _seed(self, epoch: int, step: int) -> None:
        """Seed torch for the beginning of an epoch, step 0, where all processes draw alike, or for a step."""
        rank = self.processes.rank if step else 0
        seeds = np.random.SeedSequence([self.settings.seed, epoch, step, rank])
        torch.manual_seed(int(seeds.generate_state(1)[0]))

    @contextmanager
    def _open_log(self) -> Iterator[IO[str]]:
        """Open the log, with the lines of the steps before; only the first process writes one."""
        if not self.processes.first:
            with open(os.devnull, "w", encoding="utf-8") as nowhere:
                yield nowhere
            return
        self.out.mkdir(parents=True, exist_ok=True)
        with replacing(self.out / LOG) as path, path.open("w", encoding="utf-8") as log:
            for step in self.steps:
                write_step(log, step)
        with (self.out / LOG).open("a", encoding="utf-8") as log:
            yield log

    def _checkpoint(self, name: str, epoch: int, position: int) -> None:
        state = {**self.same, "epoch": epoch, "position": position, "step": len(self.steps)}
        if self.processes.first:
            save_checkpoint(self.out / CHECKPOINT / name, self.task.module, self.optimizer, state)
        self.saved = time.monotonic()

    def _resume(self) -> tuple[int, int]:
        """Load the last checkpoint, if there is one, and the log up to it; return its epoch and position."""
        folder = self.out / CHECKPOINT
        states = {name: read_state(folder / name) for name in ("epoch", "step")}
        found = [state for state in states.values() if state]
        for state in found:
            for kind in self.same:
                if differing := _differing(state[kind], self.same[kind]):
                    raise StateError(Errors.CHECKPOINT_OTHER.format(path=folder, differing=differing))
        if not found:
            return 0, 0
        state = max(found, key=lambda state: state["step"])
        if states["epoch"]:
            load_checkpoint(folder / "epoch", self.task.module, self.optimizer)
        self.steps = read_steps(self.out / LOG, state["step"])
        return state["epoch"], state["position"]


def _differing(saved: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    keys = [key for key in {**saved, **given} if saved.get(key) != given.get(key)]
    return ", ".join(f"{key} = {saved.get(key)!r} then, {given.get(key)!r} now" for key in keys)


def _optimizer(module: Any, settings: LoopSettings) -> Any:
    trained = [parameter for parameter in module.parameters() if parameter.requires_grad]
    matrices = [parameter for parameter in trained if parameter.dim() > 1]
    others = [parameter for parameter in trained if parameter.dim() <= 1]
    groups: list[dict[str, Any]] = [{"params": matrices}, {"params": others, "weight_decay": 0.0}]
    kept = [group for group in groups if group["params"]]
    return torch.optim.AdamW(kept, lr=settings.learning_rate, weight_decay=settings.weight_decay)
