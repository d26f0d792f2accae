"""Asks again what may be answered next time, within a bounded time, and lets one dead server fail a batch once."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

Answer = TypeVar("Answer")

UNREACHABLE = ("no connection", "no answer in time")
PATIENCE = {kind: 3 for kind in UNREACHABLE}  # items given up in a row until the rest is not asked any more
PATIENCE_OTHERWISE = 20  # a server that answers with errors may do so because of the items
FIRST_WAIT, LONGEST_WAIT = 0.5, 20.0  # seconds


@dataclass(frozen=True, slots=True)
class Failed:
    """What an item has instead of an answer: the kind of failure, of which one warning is logged, and the reason."""

    kind: str
    reason: str


class GaveUpError(Exception):
    """Raised by an attempt that is of no use, or none as yet: this item has no answer."""

    def __init__(self, kind: str, reason: str, *, again: bool = False, after: float = 0.0) -> None:
        super().__init__(reason)
        self.failed = Failed(kind, reason)
        self.again, self.after = again, after


class Retrying:
    """Runs the attempts of a batch's items side by side; they share the knowledge that the server is down.

    When a few items in a row were given up for want of a connection, the rest fails at once with the same reason.

    Args:
        max_tries: How often an item is tried.
        seconds: How long an item may take with all its tries and waits.
        doubtful: The batch before found the server down: until it answers, there are no second tries.
    """

    def __init__(self, max_tries: int, seconds: float, doubtful: bool = False) -> None:
        self.max_tries, self.seconds = max_tries, seconds
        self.broken = False
        self._doubtful = doubtful
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._down: Failed | None = None
        self._in_a_row = 0

    def stop(self, failed: Failed) -> None:
        """Let all items that are not answered yet fail for this reason, those that wait for another try included."""
        with self._lock:
            self._down = self._down or failed
        self._stop.set()

    def run(self, attempt: Callable[[float], Answer]) -> Answer | Failed:
        """Try until there is an answer, or no more time (``seconds``) or tries.

        Args:
            attempt: Called with the seconds that are left for the item; raises ``GaveUpError``.
        """
        deadline, tries = time.monotonic() + self.seconds, 0
        failed = Failed(UNREACHABLE[1], "no time was left to ask")
        while True:
            if (down := self._down) is not None:
                return down
            if (left := deadline - time.monotonic()) <= 0:  # this process was suspended: no fault of the server's
                return failed
            tries += 1
            try:
                answer = attempt(left)
            except GaveUpError as error:
                gave_up = error
            else:
                self._alive()
                return answer
            if not gave_up.again:
                self._alive()
                return gave_up.failed
            wait = max(gave_up.after, _backoff(tries))
            if self._hopeless(gave_up.failed) or tries >= self.max_tries or time.monotonic() + wait >= deadline:
                return self._count(gave_up.failed)
            failed = gave_up.failed
            self._stop.wait(wait)

    def _alive(self) -> None:
        with self._lock:
            self._in_a_row, self._doubtful = 0, False

    def _count(self, failed: Failed) -> Failed:
        with self._lock:
            self._in_a_row += 1
            patience = 1 if self._hopeless(failed) else PATIENCE.get(failed.kind, PATIENCE_OTHERWISE)
            enough = self._in_a_row >= patience
            self.broken |= enough
        if enough:
            self.stop(failed)
        return failed

    def _hopeless(self, failed: Failed) -> bool:
        return self._doubtful and failed.kind in UNREACHABLE


def _backoff(tries: int) -> float:
    return min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** (tries - 1)) * random.uniform(0.8, 1.2)
