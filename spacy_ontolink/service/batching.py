"""Items of many requests in batches for one worker: first come, first served, and no more than may wait."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Generic, TypeVar

from .settings import Limits

Item = TypeVar("Item")
Result = TypeVar("Result")

_MOST_RETRY = 60


class QueueFullError(Exception):
    """No room for a request, with the seconds after which to ask again."""

    def __init__(self, retry_after: int) -> None:
        super().__init__(retry_after)
        self.retry_after = retry_after


class Job(Generic[Item, Result]):
    """The items of one request on their way.

    Attributes:
        done: Gets the results, in the order of the items.
        taken: How many of the items went to the worker.
    """

    def __init__(self, items: Sequence[Item]) -> None:
        self.items = items
        self.done: Future[list[Result]] = Future()
        self.taken = 0
        self.arrived = time.monotonic()
        self.results: dict[int, Result] = {}


class Batcher(Generic[Item, Result]):
    """Collects items for a few milliseconds and lets a thread of its own work on them together.

    Args:
        work: Gives a result for each item of a batch; what it raises is the result of every request in the batch.
        weigh: The weight of an item.
        limits: Sizes of batches and queue.
        report: Is called with the size of each batch.
    """

    def __init__(
        self,
        work: Callable[[list[Item]], list[Result]],
        weigh: Callable[[Item], int],
        limits: Limits,
        report: Callable[[int], object] = lambda size: None,
    ) -> None:
        self._work, self._weigh, self._limits, self._report = work, weigh, limits, report
        self._jobs: deque[Job[Item, Result]] = deque()
        self._waiting = self._weight = 0
        self._closing = False
        self._changed = threading.Condition()  # of a lock that its holder may take again
        # A daemon, so that a document that takes for ever does not keep the process from its end.
        self._thread = threading.Thread(target=self._run, name="ontolink-worker", daemon=True)
        self._thread.start()

    def __len__(self) -> int:
        return self._waiting

    def retry_after(self, count: int = 1, weight: int = 0) -> int | None:
        """Return the seconds to wait before so many more items may come, None if they may now."""
        limits = self._limits
        with self._changed:
            age = time.monotonic() - self._jobs[0].arrived if self._jobs else 0.0
            fits = self._waiting + count <= limits.queue and self._weight + weight <= limits.queue_weight
        if not self._waiting or (fits and age <= limits.patience):
            return None
        # Whoever comes now waits about as long as the first one has; in half of that, half of the queue is gone.
        return min(max(1, math.ceil(age / 2)), _MOST_RETRY)

    def submit(self, items: Sequence[Item]) -> Job[Item, Result]:
        """Let items wait for the worker.

        Raises:
            QueueFullError: There are too many before them, or the batcher was closed.
        """
        job: Job[Item, Result] = Job(items)
        weight = sum(map(self._weigh, items))
        with self._changed:
            if self._closing:
                raise QueueFullError(1)
            if seconds := self.retry_after(len(items), weight):
                raise QueueFullError(seconds)
            self._jobs.append(job)
            self._waiting += len(items)
            self._weight += weight
            self._changed.notify()
        return job

    def withdraw(self, job: Job[Item, Result]) -> None:
        """Take out what still waits of a job that nobody waits for."""
        job.done.cancel()
        self._drop(job)

    def close(self, timeout: float | None = None) -> None:
        """Take nothing more, work on all that waits, and stop."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(timeout)

    def _drop(self, job: Job[Item, Result]) -> None:
        with self._changed:
            if job in self._jobs:
                self._jobs.remove(job)
                self._waiting -= len(job.items) - job.taken
                self._weight -= sum(map(self._weigh, job.items[job.taken :]))

    def _run(self) -> None:
        while batch := self._next():
            items = [job.items[place] for job, place in batch]
            try:
                results = self._work(items)
            except Exception as error:
                for job in {id(job): job for job, _ in batch}.values():
                    self._drop(job)
                    if job.done.set_running_or_notify_cancel():
                        job.done.set_exception(error)
                continue
            finally:
                self._report(len(batch))
            for (job, place), result in zip(batch, results, strict=True):
                job.results[place] = result
                if len(job.results) == len(job.items) and job.done.set_running_or_notify_cancel():
                    job.done.set_result([job.results[i] for i in range(len(job.items))])

    def _next(self) -> list[tuple[Job[Item, Result], int]]:
        """Wait for a batch; empty when all is done and no more will come."""
        with self._changed:
            while True:
                while not self._jobs and not self._closing:
                    self._changed.wait()
                if not self._jobs:
                    return []
                rest = self._jobs[0].arrived + self._limits.batch_wait - time.monotonic()
                if rest <= 0 or self._waiting >= self._limits.batch_size or self._closing:
                    return self._take()
                self._changed.wait(rest)

    def _take(self) -> list[tuple[Job[Item, Result], int]]:
        batch: list[tuple[Job[Item, Result], int]] = []
        total = 0
        while self._jobs and len(batch) < self._limits.batch_size:
            job = self._jobs[0]
            weight = self._weigh(job.items[job.taken])
            total += weight
            if batch and total > self._limits.batch_weight:
                break
            batch.append((job, job.taken))
            job.taken += 1
            self._waiting -= 1
            self._weight -= weight
            if job.taken == len(job.items):
                self._jobs.popleft()
        return batch
