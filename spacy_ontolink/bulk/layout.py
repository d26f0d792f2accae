"""The folder that a run writes, and the receipts in it that tell what is done."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import __version__
from ..errors import ConfigError, Errors, StateError
from ..files import replacing, write_json
from .job import Job
from .journal import pardon
from .shards import Chunk

FORMAT = 2
COUNTS = ("documents", "linked", "nil", "skipped", "failed", "unanswered")
"""What a receipt counts: documents in all; mentions with an id, those that were looked up and have none, and those that
nobody looked up; documents set aside; and prompts that a language model has not answered, though it has others of their
batch."""


@dataclass(frozen=True)
class Layout:
    """Names of all that is in the folder."""

    out: Path

    @property
    def run(self) -> Path:
        """What the run was started with."""
        return self.out / "run.json"

    @property
    def stopped(self) -> Path:
        """Says that the last driver was stopped, and with it workers that were at work."""
        return self.journals / "stopped"

    @property
    def lock(self) -> Path:
        """Held by the driver while it runs."""
        return self.out / ".lock"

    def shard(self, key: str) -> Path:
        """A shard as it was when the run began, and its chunks."""
        return self.out / "shards" / f"{key}.json"

    def part(self, chunk: Chunk) -> Path:
        """The mentions of a chunk."""
        return self.out / "mentions" / f"{chunk.name}.parquet"

    def failed(self, chunk: Chunk) -> Path:
        """The documents of a chunk that were set aside, if any."""
        return self.out / "failed" / f"{chunk.name}.jsonl"

    def receipt(self, chunk: Chunk) -> Path:
        """Says that a chunk is done; written last."""
        return self.out / "receipts" / f"{chunk.name}.json"

    def journal(self, chunk: Chunk) -> Path:
        """What is being worked on, while a chunk is not done."""
        return self.journals / f"{chunk.name}.jsonl"

    def is_ours(self, path: Path) -> bool:
        """Tell whether something is what a run leaves that has not begun: its lock, or a ``run.json`` half-written."""
        return path == self.lock or path.name.startswith(f".{self.run.name}.")

    def receipts(self) -> Iterator[Path]:
        """Yield all receipts."""
        return (self.out / "receipts").glob("[!.]*.json")

    def opening(self, worker: str) -> Path:
        """A journal of a worker that opens the pipeline, for engines that start it again by themselves."""
        return self.journals / f"opening-{worker}.jsonl"

    def clear(self) -> None:
        """Remove all that a run has written; last what says that the folder is one of ours."""
        for name in ("receipts", "mentions", "failed", "shards", "journals"):
            shutil.rmtree(self.out / name, ignore_errors=True)
        self.run.unlink(missing_ok=True)

    def sweep(self) -> None:
        """Remove what writers that were killed have left half-written."""
        for name in ("receipts", "mentions", "failed", "shards"):
            for scratch in (self.out / name).glob(".*"):
                shutil.rmtree(scratch, ignore_errors=True)
        for scratch in self.out.glob(f".{self.run.name}.*"):
            shutil.rmtree(scratch, ignore_errors=True)

    def pardon(self) -> None:
        """Forget deaths that were none: of workers that an earlier driver took along when it was stopped."""
        for path in self.journals.glob("opening-*"):
            path.unlink()
        if self.stopped.exists():
            for path in self.journals.glob("*.jsonl"):
                pardon(path)
            self.stopped.unlink()

    @property
    def journals(self) -> Path:
        """The folder of journals."""
        return self.out / "journals"


def make_folder(out: Path) -> Layout:
    """Make the folder, or see that it is one of ours.

    Raises:
        ConfigError: It is a file, or holds something else.
    """
    layout = Layout(out)
    if out.exists() and not out.is_dir():
        raise ConfigError(Errors.OUT_IS_FILE.format(path=out))
    if out.exists() and read_run(layout) is None and any(not layout.is_ours(path) for path in out.iterdir()):
        raise ConfigError(Errors.BULK_FOREIGN.format(path=out))
    out.mkdir(parents=True, exist_ok=True)
    return layout


def read_run(layout: Layout) -> dict[str, Any] | None:
    """Return what the run in a folder was started with, None if there is none, or a ``run.json`` of another program."""
    try:
        run = json.loads(layout.run.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    wanted = {"format", "version", "pipeline", "mentions", "spans_key", "chunk_size"}
    return run if isinstance(run, dict) and wanted <= run.keys() else None


def goes_on(layout: Layout, job: Job) -> bool:
    """Tell whether a run goes on here; False if it is to begin.

    Raises:
        ConfigError: It is another one; the message says what differs.
    """
    if (before := read_run(layout)) is None:
        return False
    differing = [f"{key} was {before.get(key)!r}, is {value!r}" for key, value in _about(job).items()
                 if before.get(key) != value]  # fmt: skip
    if differing:
        raise ConfigError(Errors.BULK_OTHER_RUN.format(path=layout.out, differing="; ".join(differing)))
    return True


def begin(layout: Layout, job: Job) -> None:
    """Note what the run is, in a folder without what an earlier one has written."""
    layout.clear()
    with replacing(layout.run, durable=True) as path:
        write_json(path, _about(job))


def _about(job: Job) -> dict[str, Any]:
    return {"format": FORMAT, "version": __version__, "pipeline": job.pipeline, **job.settings}


@contextmanager
def locked(layout: Layout) -> Iterator[None]:
    """Keep other drivers out while the block runs; the system lets go of it however this process ends.

    Raises:
        ConfigError: Another one is at work.
    """
    try:
        import fcntl
    except ImportError:  # Windows has none: there it is up to the user
        yield
        return
    with layout.lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ConfigError(Errors.BULK_IN_USE.format(path=layout.out)) from error
        except OSError:  # a file system without locks
            pass
        yield


def read_object(path: Path, message: str) -> dict[str, Any]:
    """Read a JSON object of a run.

    Raises:
        StateError: It is none; ``message`` tells the way out.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError, RecursionError) as error:
        raise StateError(message.format(path=path, reason=error)) from error
    if not isinstance(value, dict):
        raise StateError(message.format(path=path, reason="it is no JSON object"))
    return value


def make_receipt(job: Job, chunk: Chunk, counts: Mapping[str, int], part: Path) -> dict[str, Any]:
    """Say what was made of a chunk, by which pipeline and with which settings."""
    return {
        "format": FORMAT,
        "version": __version__,
        "shard": chunk.to_row(),
        **counts,
        "part": {"name": part.name, "size": part.stat().st_size},
        "pipeline": job.pipeline,
        "settings": job.settings,
    }


def read_receipt(layout: Layout, job: Job, chunk: Chunk) -> dict[str, Any] | None:
    """Return the receipt of a chunk, None if it is not done.

    Raises:
        StateError: The receipt is of something else, or what it tells of is not there.
    """
    path, part = layout.receipt(chunk), layout.part(chunk)
    if not path.exists():
        return None
    receipt = read_object(path, Errors.BULK_RECEIPT)
    expected = {"shard": chunk.to_row(), "pipeline": job.pipeline, "settings": job.settings}
    if differing := [key for key, value in expected.items() if receipt.get(key) != value]:
        raise StateError(Errors.BULK_RECEIPT.format(path=path, reason=f"it is of another {' and '.join(differing)}"))
    if not all(type(receipt.get(name)) is int for name in COUNTS) or not isinstance(receipt.get("part"), dict):
        raise StateError(Errors.BULK_RECEIPT.format(path=path, reason="a count or the name of its part is missing"))
    if not part.exists() or part.stat().st_size != receipt["part"].get("size"):
        raise StateError(Errors.BULK_RECEIPT.format(path=path, reason=f"{part} is missing, or of another size"))
    if receipt["failed"] and not layout.failed(chunk).exists():
        raise StateError(Errors.BULK_RECEIPT.format(path=path, reason=f"{layout.failed(chunk)} is missing"))
    return dict(receipt)
