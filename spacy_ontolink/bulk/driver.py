"""A run from its beginning, or from where it was ended."""

from __future__ import annotations

import builtins
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from typing import Any

from .. import errors
from ..errors import DataError, Errors
from ..files import read_json, replacing, write_json
from .job import Job
from .layout import COUNTS, Layout, locked, make_folder, prepare, read_receipt
from .shards import Chunk, Shard, cut

Engine = Callable[[Sequence[Chunk]], Generator[dict[str, Any], None, None]]
Report = Callable[["Totals"], object]


@dataclass
class Totals:
    """What became of the documents so far.

    Attributes:
        rows: Rows of all shards.
        before: Rows that were done before this run.
        done: Rows that are done.
        counts: Documents, mentions with an id, without one, and documents set aside (``layout.COUNTS``).
    """

    rows: int = 0
    before: int = 0
    done: int = 0
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, receipt: Mapping[str, Any]) -> None:
        """Count a chunk."""
        self.done += receipt["shard"]["stop"] - receipt["shard"]["start"]
        self.counts.update({name: receipt[name] for name in COUNTS})


def run_bulk(
    shards: Sequence[Shard], job: Job, engine: Engine, *, overwrite: bool = False, report: Report = lambda totals: None
) -> Totals:
    """Link all shards, but for what is done already.

    Args:
        shards: The input.
        job: What to do with it.
        engine: Yields what ``worker.attempt`` returns for each chunk.
        overwrite: Begin anew.
        report: Is called at the beginning and after each chunk.

    Raises:
        ConfigError: The folder to write is in use, or holds something else.
        DataError: An input is not what it was when the run began, or cannot be read.
        StateError: A receipt does not fit what it tells of, or workers die for no reason that lies in a document.
        LLMError: A language model does not answer.
    """
    layout = make_folder(job.out)
    with locked(layout):
        prepare(layout, job, overwrite)
        chunks = [chunk for shard in shards for chunk in _chunks_of(shard, layout, job)]
        if not chunks:
            raise DataError(Errors.NO_DOCUMENTS.format(path=", ".join(shard.path for shard in shards[:3])))
        _check_strangers(layout, chunks)
        totals = Totals(rows=sum(chunk.stop - chunk.start for chunk in chunks))
        left = []
        for chunk in chunks:
            if receipt := read_receipt(layout, job, chunk):
                totals.add(receipt)
            else:
                left.append(chunk)
        totals.before = totals.done
        report(totals)
        if left:
            with closing(engine(left)) as messages:  # so that no worker outlives an error
                for message in messages:
                    totals.add(_receipt(message))
                    report(totals)
        return totals


def _chunks_of(shard: Shard, layout: Layout, job: Job) -> list[Chunk]:
    """Return the chunks of a shard, as they were cut when the run began."""
    path = layout.shard(shard.key)
    if not path.exists():
        chunks = cut(shard, job.chunk_size, [job.text])
        with replacing(path, durable=True) as new:
            write_json(new, {**asdict(shard), "chunks": [(chunk.start, chunk.stop, chunk.offset) for chunk in chunks]})
        return chunks
    before = read_json(path)
    changed = [f"{name} was {before[name]}, is {value}" for name, value in asdict(shard).items()
               if before[name] != value]  # fmt: skip
    if changed:
        raise DataError(Errors.BULK_INPUT_CHANGED.format(path=shard.path, out=layout.out, reason=", ".join(changed)))
    return [Chunk(shard, *place) for place in before["chunks"]]


def _check_strangers(layout: Layout, chunks: Iterable[Chunk]) -> None:
    """Refuse receipts of shards that are not in the input any more: their mentions would stay in the output."""
    known = {chunk.name for chunk in chunks}
    for path in sorted(layout.receipts()):
        if path.stem not in known:
            shard = read_json(path)["shard"]["path"]
            raise DataError(Errors.BULK_INPUT_GONE.format(path=shard, out=layout.out))


def _receipt(message: dict[str, Any]) -> dict[str, Any]:
    """Return the receipt that a worker has sent, or raise what it has."""
    if "raised" not in message:
        return message
    kind: type[Exception] = getattr(errors, message["raised"], None) or getattr(builtins, message["raised"])
    raise kind(*message["arguments"])
