"""What every worker does, whichever engine runs it: a chunk in, a part and a receipt out."""

from __future__ import annotations

import faulthandler
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from ..components.base import LinkingPipe
from ..documents import NO_ITEMS_FAULT, by_halves
from ..documents.formats.lines import write_jsonl
from ..errors import Errors, LLMError, OntolinkError, StateError
from ..files import replacing, write_json
from .job import Job, Open
from .journal import Journal
from .layout import COUNTS, Layout, make_receipt, read_receipt
from .parts import Failed, Linked, batch_of, counts_of, linked, set_aside, write_part
from .reading import Record, Unreadable, read_chunk
from .shards import Chunk

READING, WRITING = (-1, -1), (-2, -2)
"""What stands in the journal for the time before and after rows are linked."""
LONGEST_WAIT = 60.0
"""Most seconds between two tries to reach a language model."""


def attempt(worker: Worker, chunk: Chunk) -> dict[str, Any]:
    """Link a chunk; return its receipt, or as plain values the error that must end the run."""
    try:
        return worker(chunk)
    except Exception as error:
        return raised(error)


def raised(error: Exception) -> dict[str, Any]:
    """Return an error as plain values, from which the driver makes the one that ends the run."""
    if isinstance(error, OntolinkError):
        return {"raised": type(error).__name__, "arguments": [str(error)]}
    if isinstance(error, MemoryError):
        return {"raised": "StateError", "arguments": [Errors.BULK_NO_MEMORY]}
    if isinstance(error, OSError):  # a file that is gone, a full disk
        place = None if error.filename is None else str(error.filename)
        arguments = [error.errno, error.strerror, place] if error.errno is not None else [str(error)]
        return {"raised": "OSError", "arguments": arguments}
    # A mistake in a library: the driver shows where.
    return {"raised": "RuntimeError", "arguments": ["".join(traceback.format_exception(error))]}


class Worker:
    """Has the pipeline open, and links chunk after chunk.

    Args:
        open: Opens the pipeline.
        job: The run.
    """

    def __init__(self, open: Open, job: Job) -> None:
        self._job, self._layout = job, Layout(job.out)
        self._nlp, self._link, self._key, self._usage = open()
        for _, component in self._nlp.pipeline:  # what fails here is no document's fault
            if isinstance(component, LinkingPipe):
                component.prepare()

    def __call__(self, chunk: Chunk) -> dict[str, Any]:
        """Link a chunk and return its receipt.

        Documents that cannot be read, that the pipeline fails on, or that kill their worker are set aside.

        Raises:
            LLMError: A language model does not answer.
            ConfigError: The pipeline cannot link at all; so with MissingExtraError, OSError, MemoryError.
            StateError: A file of the pipeline is damaged, or the chunk kills its workers before or after its documents
                are linked.
            DataError: The shard is damaged.
        """
        layout, job = self._layout, self._job
        if receipt := read_receipt(layout, job, chunk):  # whoever did it died before it could tell
            return receipt
        journal = Journal(layout.journal(chunk), job.retries)
        for phase, what in ((READING, "read"), (WRITING, "written")):
            if (times := journal.deaths(*phase)) > job.retries:
                where = f"{chunk.shard.path}, rows {chunk.start} to {chunk.stop}"
                raise StateError(Errors.BULK_CHUNK_DIES.format(where=where, what=what, times=times))
        with journal.working_on(*READING):
            read = list(read_chunk(chunk, job))
        records = {record.row: record for record in read if isinstance(record, Record)}
        failed = [self._unreadable(own, chunk) for own in read if isinstance(own, Unreadable)]
        batches: dict[int, Any] = {}
        counts = Counter(dict.fromkeys(COUNTS, 0))
        for rows in journal.batches(list(records), job.batch_size):
            with journal.working_on(rows[0], rows[-1] + 1):
                done, unanswered = self._linked([records[row] for row in rows], chunk)
            mentions = [mention for own in done if isinstance(own, Linked) for mention in own.mentions]
            failed += [own for own in done if isinstance(own, Failed)]
            batches[rows[0]] = batch_of(mentions)
            counts.update(counts_of(mentions), unanswered=unanswered)
        with journal.working_on(*WRITING):
            failed += [self._killer(records[row], chunk) for row in journal.killers(list(records))]
            counts.update(documents=len(read), failed=len(failed))
            receipt = self._write(chunk, counts, [batches[row] for row in sorted(batches)], failed)
        journal.close()
        return receipt

    def _linked(self, records: Sequence[Record], chunk: Chunk) -> tuple[list[Linked | Failed], int]:
        """Link a batch, as often as it takes for a language model to answer.

        Returns:
            What became of it, and how many prompts have no answer: a stage goes on without them.

        Raises:
            LLMError: None of its prompts is answered.
        """
        again = 0
        while True:
            before, problem = self._usage(), None
            try:
                # Texts that are new to the vocabulary are forgotten after the batch.
                with self._nlp.memory_zone(), self._time_limit():
                    done = by_halves(partial(self._batch, chunk), records, partial(self._failed, chunk))
            except LLMError as error:
                problem = error
            now = self._usage()
            failed, answered = now.failed - before.failed, now.calls + now.cached > before.calls + before.cached
            if not problem and (not failed or (answered and again == self._job.retries)):
                return done, failed
            if again == self._job.retries:
                raise problem or LLMError(Errors.BULK_NO_ANSWER.format(n=failed))
            time.sleep(min(LONGEST_WAIT, 2.0**again))
            again += 1

    def _batch(self, chunk: Chunk, records: Sequence[Record]) -> list[Linked | Failed]:
        docs = list(self._link([record.doc(self._nlp) for record in records]))
        return [
            linked(doc, record, chunk.shard.path, self._key, self._job.k)
            for doc, record in zip(docs, records, strict=True)
        ]

    def _failed(self, chunk: Chunk, records: Sequence[Record], error: Exception) -> list[Linked | Failed]:
        if isinstance(error, (*NO_ITEMS_FAULT, MemoryError)):
            raise error
        kind = type(error).__name__
        return [self._set_aside(record, chunk, kind, str(error) or kind) for record in records]

    def _unreadable(self, record: Unreadable, chunk: Chunk) -> Failed:
        return set_aside(record, chunk.shard.path, type(record.error).__name__, str(record.error))

    def _killer(self, record: Record, chunk: Chunk) -> Failed:
        error = Errors.BULK_KILLED.format(times=self._job.retries + 1)
        return self._set_aside(record, chunk, "Died", error)

    def _set_aside(self, record: Record, chunk: Chunk, kind: str, error: str) -> Failed:
        try:
            doc = None if record.plain else record.doc(self._nlp)
        except Exception:  # packed, and cannot be unpacked
            doc = None
        return set_aside(record, chunk.shard.path, kind, error, doc)

    def _write(
        self, chunk: Chunk, counts: Mapping[str, int], batches: list[Any], failed: list[Failed]
    ) -> dict[str, Any]:
        layout = self._layout
        if failed:
            with replacing(layout.failed(chunk), durable=True) as path:
                with path.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
                    for own in sorted(failed, key=lambda own: own.row):
                        write_jsonl(file, own.line)  # half a letter is escaped, as JSON has it
        else:  # what an earlier run has left that did not get as far as the receipt
            layout.failed(chunk).unlink(missing_ok=True)
        with replacing(layout.part(chunk), durable=True) as path:
            write_part(path, batches)
        receipt = make_receipt(self._job, chunk, counts, layout.part(chunk))
        with replacing(layout.receipt(chunk), durable=True) as path:
            write_json(path, receipt)
        return receipt

    @contextmanager
    def _time_limit(self) -> Iterator[None]:
        """End the process if the block takes too long, in whatever code it is."""
        if self._job.timeout:
            longest = min(self._job.timeout, threading.TIMEOUT_MAX)
            faulthandler.dump_traceback_later(longest, exit=True, file=sys.__stderr__ or sys.stderr)
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()
