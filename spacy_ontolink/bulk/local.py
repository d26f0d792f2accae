"""``--engine local``: processes of our own, one chunk at a time each."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from ..errors import Errors, StateError
from .job import Job, Open
from .shards import Chunk
from .worker import Worker, attempt, raised

READY = "ready"
GRACE = 5.0
"""Seconds that a process has to end by itself."""
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass
class _Process:
    process: BaseProcess
    connection: Connection
    chunk: Chunk | None = None
    ready: bool = False


def n_cores() -> int:
    """Return the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_local(open: Open, job: Job, chunks: Sequence[Chunk], workers: int) -> Generator[dict[str, Any], None, None]:
    """Yield what ``worker.attempt`` returns for each chunk, in the order in which they are done.

    A process that dies is replaced, and its chunk is given to another one: the journal sees to it that this ends.

    Raises:
        StateError: Processes die while they open the pipeline, and none gets it open.
    """
    waiting, left, stillborn = deque(chunks), len(chunks), 0
    pool: list[_Process] = []
    try:
        while left:
            while len(pool) < min(workers, left):
                pool.append(_start(open, job, workers))
            for connection in wait([own.connection for own in pool]):
                own = next(own for own in pool if own.connection is connection)
                try:
                    message = own.connection.recv()
                except (EOFError, OSError):
                    pool.remove(own)
                    own.process.join()
                    stillborn += not own.ready
                    if stillborn > job.retries:
                        code = own.process.exitcode
                        raise StateError(Errors.BULK_WORKERS_DIE.format(times=stillborn, code=code)) from None
                    if own.chunk:
                        waiting.appendleft(own.chunk)
                    continue
                if message == READY:
                    own.ready, stillborn = True, 0
                else:
                    own.chunk, left = None, left - 1
                    yield message
            for own in pool:  # also those that were idle until the chunk of a dead one came back
                if waiting and own.ready and own.chunk is None:
                    own.chunk = waiting.popleft()
                    with contextlib.suppress(OSError):  # it has died meanwhile, as will be noticed above
                        own.connection.send(own.chunk)
    finally:
        _stop(pool)


def _start(open: Open, job: Job, workers: int) -> _Process:
    # Nothing is shared but mapped files, and a fork would carry threads and locks along.
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs, open, job))  # no daemon: engines may start processes, too
    with _environment({name: str(max(1, n_cores() // workers)) for name in _THREADS}):
        process.start()
    theirs.close()  # else the end of the process would not end the connection
    return _Process(process, ours)


@contextlib.contextmanager
def _environment(defaults: dict[str, str]) -> Iterator[None]:
    """Set variables, unless the user has, for processes that are started in the block."""
    new = {name: value for name, value in defaults.items() if name not in os.environ}
    os.environ.update(new)
    try:
        yield
    finally:
        for name in new:
            del os.environ[name]


def _stop(pool: Sequence[_Process]) -> None:
    for own in pool:
        own.connection.close()  # which ends one that waits for a chunk
        if own.chunk or not own.ready:
            own.process.terminate()
    end = time.monotonic() + GRACE
    for own in pool:
        own.process.join(max(0.0, end - time.monotonic()))
        own.process.kill()


def _work(connection: Connection, open: Open, job: Job) -> None:
    """Be a worker until the connection ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the driver, too, which sees to its workers
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    threading.Thread(target=_follow_parent, daemon=True).start()
    with contextlib.suppress(EOFError, BrokenPipeError):
        try:
            worker = Worker(open, job)
        except Exception as error:
            connection.send(raised(error))
            return
        message: Any = READY
        while True:
            connection.send(message)
            message = attempt(worker, connection.recv())


def _follow_parent() -> None:
    """End this process when the driver has: in good order if that works, so that it does not pass for a death."""
    if (parent := parent_process()) is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(GRACE)
        os._exit(1)
