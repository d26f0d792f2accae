"""The files of a corpus, and the chunks that they are cut into: one chunk makes one part of the output."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from glob import glob, has_magic
from pathlib import Path
from typing import Any

from ..documents import format_of
from ..documents.formats.sniff import suffix_of
from ..documents.formats.source import open_source
from ..documents.inputs import files_below
from ..documents.reading import open_docbin
from ..errors import ConfigError, DataError, Errors
from ..unpacking import lines_in

_PARQUET = (".parquet", ".pq")
_FORMATS = ("jsonl", "spacy")
_LONGEST = 150
"""Bytes of a shard's name in the names of files about it."""


@dataclass(frozen=True)
class Shard:
    """A file as it was when the run began."""

    path: str
    format: str
    size: int
    mtime_ns: int

    @property
    def key(self) -> str:
        """A name for files about the shard: its own, and a few letters that tell it from others of that name."""
        name = Path(Path(self.path).name.removesuffix(".gz")).stem
        short = name.encode()[:_LONGEST].decode(errors="ignore")  # scratch files are to have longer names
        return f"{short}-{hashlib.sha256(self.path.encode()).hexdigest()[:8]}"


@dataclass(frozen=True)
class Chunk:
    """Rows ``start`` to ``stop`` of a shard; ``offset`` is the byte (unpacked) at which the first of them begins."""

    shard: Shard
    start: int
    stop: int
    offset: int = 0

    @property
    def name(self) -> str:
        """The name of what is written about the chunk."""
        return f"{self.shard.key}-{self.start:010}"

    def to_row(self) -> dict[str, Any]:
        """Return the chunk as a flat row."""
        return {**asdict(self.shard), "start": self.start, "stop": self.stop, "offset": self.offset}

    @classmethod
    def of_row(cls, row: dict[str, Any]) -> Chunk:
        """Return the chunk that a row describes."""
        shard = Shard(str(row["path"]), str(row["format"]), int(row["size"]), int(row["mtime_ns"]))
        return cls(shard, int(row["start"]), int(row["stop"]), int(row["offset"]))


def find_shards(inputs: Iterable[str], out: Path) -> list[Shard]:
    """Return the shards that files, folders and patterns name, each once, in the order of their paths.

    Of a folder, files of other formats, and those that are hidden or begin with ``_``, are left aside.

    Raises:
        DataError: Nothing is there.
        ConfigError: A file is of no format that can be read by rows, or the output lies among the input.
    """
    paths: set[str] = set()
    whole = out.resolve()
    for input in inputs:
        found = [input]
        if has_magic(input) and not Path(input).exists():  # a pattern, which need not know of the output
            found = [
                own for own in glob(input, recursive=True) if whole not in (at := Path(own).resolve(), *at.parents)
            ]
        own: set[str] = set()
        for path in map(Path, found):
            if not path.exists():
                raise DataError(Errors.INPUT_MISSING.format(path=path))
            place = path.resolve()
            if path.is_dir() and (place in (whole, *whole.parents)):
                raise ConfigError(Errors.BULK_OUT_IN_INPUT.format(out=out, path=path))
            if whole in place.parents:
                raise ConfigError(Errors.BULK_INPUT_IN_OUT.format(out=out, path=path))
            own.update(map(os.path.abspath, _files_of(path)))
        if not own:
            raise DataError(Errors.BULK_NO_SHARDS.format(path=input))
        paths |= own
    return [_shard(path) for path in sorted(paths)]


def _files_of(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield from (file for file in files_below(path, (".", "_")) if _format_of(file))
    elif _format_of(path):
        yield path
    else:
        raise ConfigError(Errors.BULK_NOT_SHARD.format(path=path))


def _format_of(path: Path) -> str | None:
    if suffix_of(path) in _PARQUET:
        return "parquet"
    return found if (found := format_of(path)) in _FORMATS else None


def _shard(path: str) -> Shard:
    try:
        path.encode()
    except UnicodeEncodeError as error:
        raise ConfigError(Errors.BULK_BAD_NAME.format(path=path)) from error
    stat = os.stat(path)
    return Shard(path, str(_format_of(Path(path))), stat.st_size, stat.st_mtime_ns)


def cut(shard: Shard, size: int, text: str, id: str | None = None) -> list[Chunk]:
    """Cut a shard into chunks of ``size`` rows; a line of JSONL is a row, blank or not.

    Args:
        shard: The shard.
        size: Rows of a chunk.
        text: The column of strings that a Parquet file must have.
        id: Another one that it must have.

    Raises:
        DataError: It cannot be read.
    """
    if shard.format == "jsonl":
        starts, rows = _scan_lines(Path(shard.path), size)
    else:
        rows = _parquet_rows(shard, text, id) if shard.format == "parquet" else len(open_docbin(Path(shard.path)))
        starts = [0] * -(-rows // size)
    ends = [*range(size, rows, size), rows]
    return [Chunk(shard, n * size, end, start) for n, (start, end) in enumerate(zip(starts, ends, strict=False))]


def _scan_lines(path: Path, size: int) -> tuple[list[int], int]:
    """Return the offset of every ``size``-th line, and the number of lines."""
    starts, offset, number = [], 0, -1
    with open_source(path) as source:
        for number, line in enumerate(lines_in(source.file)):
            if number % size == 0:
                starts.append(offset)
            offset += len(line)
    return starts, number + 1


def _parquet_rows(shard: Shard, text: str, id: str | None) -> int:
    from pyarrow import ArrowException, types

    try:
        with open_parquet(shard) as file:
            schema = file.schema_arrow
            rows = int(file.metadata.num_rows)
    except (ArrowException, OSError) as error:
        raise DataError(Errors.BULK_UNREADABLE.format(path=shard.path, reason=error)) from error
    for what, column in (("text", text), *([("id", id)] if id is not None else [])):
        if column not in schema.names:
            columns = ", ".join(schema.names)
            raise DataError(Errors.BULK_NO_COLUMN.format(path=shard.path, column=column, what=what, columns=columns))
    for column in (text, id or "id", "mentions"):
        if (times := schema.names.count(column)) > 1:
            raise DataError(Errors.BULK_TWICE.format(path=shard.path, column=column, times=times))
    kind = schema.field(text).type
    kind = kind.value_type if types.is_dictionary(kind) else kind
    if not (types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)):
        raise DataError(Errors.BULK_NOT_TEXT.format(path=shard.path, column=text, kind=kind))
    return rows


def open_parquet(shard: Shard) -> Any:
    """Open a Parquet shard."""
    from pyarrow.parquet import ParquetFile

    return ParquetFile(shard.path)
