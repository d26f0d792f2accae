"""What a server allows, in one place."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import check_setting


@dataclass(frozen=True)
class Limits:
    """Limits of requests, queue and batches, and who may be meant.

    Attributes:
        batch_size: Most documents that go through the pipeline together.
        batch_wait: Seconds that the first document of a batch waits for others.
        queue: Most documents that wait.
        documents: Most documents, or mentions to search for, in a request.
        body: Most bytes of a request.
        timeout: Seconds to send a request, and again to answer it.
        names: By which it may be asked, beside those of this machine; None if by any.

    Raises:
        ConfigError: One makes no sense.
    """

    batch_size: int = 64
    batch_wait: float = 0.005
    queue: int = 1024
    documents: int = 256
    body: int = 1_000_000
    timeout: float = 30.0
    names: frozenset[str] | None = frozenset()

    def __post_init__(self) -> None:
        for name in ("batch_size", "documents", "body", "timeout"):
            value = getattr(self, name)
            check_setting(name, value, value > 0, "a number above 0")
        waits = 0 <= self.batch_wait < self.timeout
        check_setting("batch_wait", self.batch_wait, waits, "0 or more seconds, below timeout")
        check_setting("queue", self.queue, self.queue >= self.documents, f"at least the {self.documents} of a request")

    @property
    def batch_weight(self) -> int:
        """Most characters in a batch, but for a longer document, which goes alone: others wait for all of a batch."""
        return max(1, self.body // 4)

    @property
    def queue_weight(self) -> int:
        """Most characters that wait, so that long documents do not fill the memory."""
        return 16 * self.body

    @property
    def patience(self) -> float:
        """Most seconds that the first in the queue may have waited: whoever comes after that would wait in vain."""
        return self.timeout / 2
