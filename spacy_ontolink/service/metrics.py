"""Counts and times for Prometheus."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
CONTENT_TYPE = CONTENT_TYPE_LATEST


class Metrics:
    """The figures of one server, in a registry of its own."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self._requests = self._counter("ontolink_requests", "Requests answered", "path", "status")
        self._seconds = Histogram(
            "ontolink_request_seconds", "Time to answer a request", ("path",), buckets=SECONDS, registry=self._registry
        )
        self._documents = self._counter("ontolink_documents", "Documents and searched mentions", "outcome")
        self._mentions = self._counter("ontolink_mentions", "Mentions looked up")
        self._batch = Histogram(
            "ontolink_batch_documents", "Documents in a batch", buckets=SIZES, registry=self._registry
        )
        self._queue = Gauge("ontolink_queue_documents", "Documents that wait", registry=self._registry)

    def watch(self, waiting: Callable[[], int]) -> None:
        """Take the length of the queue from a function."""
        self._queue.set_function(waiting)

    def request(self, path: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(path, str(status)).inc()
        self._seconds.labels(path).observe(seconds)

    def documents(self, linked: int, failed: int, mentions: int) -> None:
        """Count documents of a request that was answered, and their mentions."""
        self._documents.labels("linked").inc(linked)
        self._documents.labels("failed").inc(failed)
        self._mentions.inc(mentions)

    def batch(self, size: int) -> None:
        """Count a batch."""
        self._batch.observe(size)

    def text(self) -> bytes:
        """Return all of it as Prometheus reads it."""
        return generate_latest(self._registry)

    def _counter(self, name: str, about: str, *labels: str) -> Counter:
        return Counter(name, about, labels, registry=self._registry)
