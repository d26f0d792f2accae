"""A run from its beginning, or from where it was ended."""

from __future__ import annotations

import builtins
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from typing import Any

from .. import errors
from ..errors import DataError, Errors, StateError
from ..files import replacing, write_json
from .job import Job
from .layout import COUNTS, Layout, begin, goes_on, locked, make_folder, read_object, read_receipt
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
        counts: By what is counted (``layout.COUNTS``).
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
        goes_on_here = not overwrite and goes_on(layout, job)
        cuts = {
            shard: (goes_on_here and _cut_before(shard, layout)) or cut(shard, job.chunk_size, job.text, job.named_id)
            for shard in shards
        }
        chunks = [chunk for own in cuts.values() for chunk in own]
        if not chunks:
            raise DataError(Errors.NO_DOCUMENTS.format(path=", ".join(shard.path for shard in shards[:3])))
        if goes_on_here:
            _check_strangers(layout, chunks)
        else:  # only now that all inputs have been read
            begin(layout, job)
        layout.sweep()
        layout.pardon()
        for shard, own in cuts.items():
            _note(shard, own, layout)
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
            with _noting_a_stop(layout), closing(engine(left)) as messages:  # so that no worker outlives an error
                for message in messages:
                    totals.add(_receipt_of(message))
                    report(totals)
        return totals


@contextmanager
def _noting_a_stop(layout: Layout) -> Iterator[None]:
    """Note that the block was stopped, since what its workers were at has killed none of them."""
    try:
        yield
    except BaseException:
        if layout.journals.exists():
            with suppress(OSError):
                layout.stopped.touch()
        raise


def _note(shard: Shard, chunks: Iterable[Chunk], layout: Layout) -> None:
    """Note how a shard was cut."""
    if not (path := layout.shard(shard.key)).exists():
        with replacing(path, durable=True) as new:
            write_json(new, {**asdict(shard), "chunks": [(chunk.start, chunk.stop, chunk.offset) for chunk in chunks]})


def _cut_before(shard: Shard, layout: Layout) -> list[Chunk] | None:
    """Return the chunks of a shard as they were cut when the run began, None if it is new."""
    if not (path := layout.shard(shard.key)).exists():
        return None
    before = read_object(path, Errors.BULK_SHARD)
    changed = [f"{name} was {before.get(name)}, is {value}" for name, value in asdict(shard).items()
               if before.get(name) != value]  # fmt: skip
    if changed:
        raise DataError(Errors.BULK_INPUT_CHANGED.format(path=shard.path, out=layout.out, reason=", ".join(changed)))
    places = before.get("chunks")
    if not isinstance(places, list) or not all(map(_is_place, places)):
        raise StateError(Errors.BULK_SHARD.format(path=path, reason="its chunks are not numbers"))
    return [Chunk(shard, *place) for place in places]


def _is_place(place: Any) -> bool:
    return isinstance(place, list) and len(place) == 3 and all(type(number) is int for number in place)


def _check_strangers(layout: Layout, chunks: Iterable[Chunk]) -> None:
    """Refuse receipts of shards that are not in the input any more: their mentions would stay in the output."""
    known = {chunk.name for chunk in chunks}
    for path in sorted(layout.receipts()):
        if path.stem not in known:
            shard = read_object(path, Errors.BULK_RECEIPT).get("shard")
            name = shard.get("path") if isinstance(shard, dict) else path.stem
            raise DataError(Errors.BULK_INPUT_GONE.format(path=name, out=layout.out))


def _receipt_of(message: dict[str, Any]) -> dict[str, Any]:
    """Return the receipt that a worker has sent, or raise what it has."""
    if "raised" not in message:
        return message
    kind: type[Exception] = getattr(errors, message["raised"], None) or getattr(builtins, message["raised"])
    raise kind(*message["arguments"])
