"""Corpus formats: what each holds is read into, and written from, one form (``rows``)."""

from __future__ import annotations

import gzip
import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from ...errors import ConfigError, DataError, Errors
from ...files import replacing
from ..tally import STDIN, Place, Tally
from .bioc_json import BiocJsonWriter, read_bioc_json
from .bioc_xml import BiocXmlWriter, read_bioc_xml
from .brat import BratWriter, read_brat
from .fitting import HELD, fitting
from .ids import IdRules
from .lines import read_jsonl, read_text, write_jsonl
from .pubtator import read_pubtator, write_pubtator
from .rows import Row, check_row, gold_ids
from .sniff import FORMATS, check_format, format_of, sniff_head, sniff_path
from .source import open_source

__all__ = [
    "FORMATS",
    "IdRules",
    "Row",
    "check_format",
    "check_row",
    "format_of",
    "gold_ids",
    "read_rows",
    "row_writer",
    "sniff_path",
]

Write = Callable[[Row], None]


def read_rows(
    path: Path,
    format: str | None,
    *,
    given: bool = True,
    whole_file: bool = False,
    rules: IdRules | None = None,
    tally: Tally | None = None,
) -> Iterator[tuple[Place, Row]]:
    """Yield the documents of any format but ``.spacy``, one at a time, each with the place where it begins.

    Args:
        path: The file or folder; ``-`` is standard input.
        format: One of ``FORMATS``; None tells it from the content and the name.
        given: Whether mentions are of interest; without, those of JSONL are left out unseen.
        whole_file: Take a text as one document.
        rules: How ids become CURIEs.
        tally: Counts what is passed over.

    Raises:
        DataError: The file is missing, of no format that can be read, or cannot be used; the message has the line.
    """
    tally, rules = tally if tally is not None else Tally(), rules or IdRules()
    if (format or sniff_path(path)) == "brat":
        if not path.exists():
            raise DataError(Errors.INPUT_MISSING.format(path=path))
        yield from read_brat(path, rules, tally)
        return
    with open_source(path) as source:
        format = format or sniff_head(path, source.head)
        if format == "text":
            yield from read_text(source, whole_file)
        elif format == "jsonl":
            yield from ((place, check_row(row if given else {**row, "mentions": None}, place, tally))
                        for place, row in read_jsonl(source))  # fmt: skip
        elif format == "pubtator":
            yield from read_pubtator(source, rules, tally)
        elif format == "bioc-json":
            yield from read_bioc_json(source, rules, tally)
        else:
            yield from read_bioc_xml(source, rules, tally)


@contextmanager
def row_writer(output: Path, format: str, tally: Tally, overwrite: bool = False) -> Iterator[Write]:
    """Yield a function that writes one document; the file or folder appears when the block ends well.

    What a format has no place for is counted in ``tally`` under the name of its key. A file that is there already is
    replaced; the folder of a BRAT corpus only with ``overwrite``.

    Raises:
        ConfigError: BRAT to standard output, or to a folder that may not be replaced.
    """
    if format == "brat":
        with _folder(output, overwrite) as folder:
            yield _counting(BratWriter(folder, tally).write, format, tally)
        return
    with _file(output) as file:
        text = io.TextIOWrapper(cast(Any, file), "utf-8", newline="\n", write_through=True)
        closing: Any = None
        write: Write
        if format == "jsonl":
            write = lambda row: write_jsonl(text, row)  # noqa: E731
        elif format == "pubtator":
            write = lambda row: write_pubtator(text, row, str(tally.documents), tally)  # noqa: E731
        else:
            closing = BiocJsonWriter(text) if format == "bioc-json" else BiocXmlWriter(file, tally)
            write = closing.write
        yield _counting(write, format, tally)
        if closing is not None:
            closing.close()
        text.flush()
        text.detach()


def _counting(write: Write, format: str, tally: Tally) -> Write:
    """Leave out, and count, what a document has and the format has no place for, before it is written."""
    return (lambda row: write(fitting(row, format, tally))) if format in HELD else write


@contextmanager
def _file(output: Path) -> Iterator[BinaryIO]:
    if output == STDIN:
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with replacing(output) as path, path.open("wb") as file:
        if output.suffix != ".gz":
            yield file
            return
        with gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as packed:
            yield cast(BinaryIO, packed)


@contextmanager
def _folder(output: Path, overwrite: bool) -> Iterator[Path]:
    if output == STDIN:
        raise ConfigError(Errors.NEEDS_FILE.format(format="brat"))
    files = {file for file in output.rglob("*") if not file.is_dir()} if output.is_dir() else set()
    if any(file.suffix not in (".ann", ".txt") or file.with_suffix(".ann") not in files for file in files):
        raise ConfigError(Errors.OUT_NOT_BRAT.format(path=output))
    if files and not overwrite:
        raise ConfigError(Errors.OUT_EXISTS.format(path=output))
    with replacing(output) as folder:
        yield folder
