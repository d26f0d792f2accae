"""Linked documents to files, one at a time, so that a file is whole or absent."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, TextIO, get_args

from spacy.tokens import Doc, DocBin

from ..errors import ConfigError, Errors
from ..files import replacing
from .links import link_pattern
from .page import FOOT, figure, head
from .records import document_id, mention_records

Format = Literal["jsonl", "tsv", "spacy", "html"]
FORMATS: tuple[str, ...] = get_args(Format)
COLUMNS = ("document", "start", "end", "mention", "label", "kb_id", "name", "matched", "score")

Write = Callable[[Doc], None]


@contextmanager
def document_writer(
    output: Path | None,
    format: Format,
    *,
    spans_key: str | None,
    k: int = 5,
    links: str = "bioregistry",
    title: str = "Linked mentions",
    lang: str = "en",
) -> Iterator[Write]:
    """Yield a function that writes one document.

    ``jsonl`` has each document with its mentions and their best ``k`` candidates, ``tsv`` one row per mention,
    ``spacy`` the documents with all that is on them, ``html`` a page to look at. With ``output`` the file appears when
    the block ends well; without it, text goes to standard output as it comes.

    Raises:
        ConfigError: ``spacy`` without a file to write to, or an unusable pattern of ``links``.
    """
    if format == "spacy":
        if output is None:
            raise ConfigError(Errors.NEEDS_OUTPUT.format(format=format))
        docs = DocBin(store_user_data=True)
        yield docs.add
        with replacing(output) as path:
            docs.to_disk(path)
        return
    make = {"jsonl": _jsonl, "tsv": _tsv, "html": _html}[format]
    with _text_file(output) as file:
        writer = make(file, spans_key, k, (links, title, lang))
        write = next(writer)
        yield write
        next(writer, None)


@contextmanager
def _text_file(output: Path | None) -> Iterator[TextIO]:
    if output is None:
        yield sys.stdout
        sys.stdout.flush()
        return
    with replacing(output) as path, path.open("w", encoding="utf-8", newline="\n") as file:
        yield file


def _jsonl(file: TextIO, spans_key: str | None, k: int, _: tuple[str, str, str]) -> Iterator[Write]:
    def write(doc: Doc) -> None:
        row = {"id": document_id(doc), "text": doc.text, "mentions": mention_records(doc, spans_key, k)}
        file.write(json.dumps(row, ensure_ascii=False) + "\n")

    yield write


def _tsv(file: TextIO, spans_key: str | None, k: int, _: tuple[str, str, str]) -> Iterator[Write]:
    # Line ends and tabs inside a mention are quoted, as every reader of TSV understands them.
    table = csv.writer(file, delimiter="\t", lineterminator="\n")
    table.writerow(COLUMNS)

    def write(doc: Doc) -> None:
        for record in mention_records(doc, spans_key, 1):
            score = record.get("score")
            table.writerow([
                document_id(doc), record["start"], record["end"], record["text"], record["label"], record["kb_id"],
                record.get("name", ""), record.get("matched", ""), "" if score is None else f"{score:.4f}",
            ])  # fmt: skip

    yield write


def _html(file: TextIO, spans_key: str | None, k: int, settings: tuple[str, str, str]) -> Iterator[Write]:
    links, title, lang = settings
    link = link_pattern(links)
    file.write(head(title, lang))

    def write(doc: Doc) -> None:
        file.write(figure(doc, spans_key, link, mention_records(doc, spans_key, 1)))

    yield write
    file.write(FOOT)
