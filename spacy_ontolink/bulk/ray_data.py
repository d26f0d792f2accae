"""``--engine ray``: a pool of actors of Ray Data that each open the pipeline once.

What goes through Ray are chunks and receipts; documents are read, and parts written, where the actor runs. So an actor
does what a local process does, and what Ray starts again after a death is found done, or goes on, by the same files.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Generator, Sequence
from typing import Any

from ..errors import Errors, StateError, require
from .job import Job, Open
from .journal import Journal
from .layout import Layout
from .shards import Chunk
from .worker import Worker, attempt, raised

_MOST_BLOCKS = 10_000
"""A block is what Ray schedules; chunks of one block go to one actor."""

_OPENING = (-3, -3)
"""What stands in the journal of an opening."""


class Actor:
    """Links chunks, each a batch of one row; if it cannot open the pipeline, it gives the error for each.

    Args:
        open: Opens the pipeline.
        job: The run.
        name: What Ray calls the actor, also after it has died and was started again; None to ask it.
    """

    def __init__(self, open: Open, job: Job, name: str | None = None) -> None:
        self._worker: Worker | None = None
        self._problem: dict[str, Any] = {}
        # Ray starts an actor again for ever, and tells nobody.
        journal = Journal(Layout(job.out).opening(name or _own_name()), job.retries)
        if (times := journal.deaths(*_OPENING)) > job.retries:
            self._problem = raised(StateError(Errors.BULK_WORKERS_DIE.format(times=times, code="see Ray's logs")))
            return
        try:
            with journal.working_on(*_OPENING):
                self._worker = Worker(open, job)
        except Exception as error:
            self._problem = raised(error)
        journal.close()

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[str]]:
        """Link the chunks of a batch."""
        names = list(batch)
        rows = [dict(zip(names, values, strict=True)) for values in zip(*batch.values(), strict=True)]
        done = [attempt(self._worker, Chunk.of_row(row)) if self._worker else self._problem for row in rows]
        return {"done": [json.dumps(own) for own in done]}


def _own_name() -> str:
    import ray

    return str(ray.get_runtime_context().get_actor_id())


def run_ray(
    open: Open, job: Job, chunks: Sequence[Chunk], workers: int | None, cpus: float, gpus: float
) -> Generator[dict[str, Any], None, None]:
    """Yield what ``worker.attempt`` returns for each chunk, in the order in which they are done.

    Args:
        open: Opens the pipeline.
        job: The run.
        chunks: What is to be done.
        workers: Actors; None for as many as the cluster has room for.
        cpus: Cores of an actor.
        gpus: GPUs of an actor; a part of one, if several are to share it.

    Raises:
        MissingExtraError: Ray is not installed.
    """
    require("ray", "ray", "--engine ray")
    import ray

    if not ray.is_initialized():
        ray.init(log_to_driver=False, logging_level=logging.WARNING)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    logging.getLogger("ray.data").setLevel(logging.WARNING)
    size = min(workers or _room(ray.cluster_resources(), cpus, gpus), len(chunks))
    done = ray.data.from_items(
        [chunk.to_row() for chunk in chunks], override_num_blocks=min(len(chunks), _MOST_BLOCKS)
    ).map_batches(
        Actor,
        batch_size=1,
        compute=ray.data.ActorPoolStrategy(size=size),
        num_cpus=cpus,
        num_gpus=gpus,
        fn_constructor_kwargs={"open": open, "job": job},
    )
    for row in done.iter_rows():
        yield json.loads(row["done"])


def _room(resources: dict[str, float], cpus: float, gpus: float) -> int:
    """Return how many actors the cluster has room for."""
    rooms = [resources.get(name, 0.0) / each for name, each in (("CPU", cpus), ("GPU", gpus)) if each]
    return max(1, int(min(rooms, default=1)))
