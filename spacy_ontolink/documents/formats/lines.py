"""Plain text, and JSONL with mentions: the formats that are the library's own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain
from typing import Any, TextIO

from ...text import shown
from ..tally import Place
from .rows import Row, load_json
from .source import Source, lines_of


def read_text(source: Source, whole_file: bool) -> Iterator[tuple[Place, Row]]:
    """Yield each line that is not blank as a document, or the whole file as one; nothing is said of mentions."""
    lines = lines_of(source)
    blank: list[str] = []
    for place, line in lines:
        if not line.strip():
            blank.append(line)
        elif whole_file:
            text = "".join([*blank, line, *(line for _, line in lines)])
            yield place, {"id": shown(source.path.name), "text": text}
        else:
            rest = chain([(place, line)], lines)
            yield from ((at, {"id": str(at.line), "text": own.rstrip("\r\n")}) for at, own in rest if own.strip())


def read_jsonl(source: Source) -> Iterator[tuple[Place, Row]]:
    """Yield each line that is not blank as a document, with all that is in it.

    Raises:
        DataError: A line is no JSON object with a text.
    """
    for place, line in lines_of(source):
        if line.strip():
            yield place, jsonl_row(line, place)


def jsonl_row(line: str, place: Place) -> Row:
    """Read one line.

    Raises:
        DataError: It is no JSON object with a text.
    """
    try:
        row: Any = load_json(line)
    except ValueError as error:
        raise place.problem(f"not JSON ({error})") from error
    if not isinstance(row, dict) or not isinstance(row.get("text"), str):
        raise place.problem('no text: each line is an object like {"id": …, "text": …, "mentions": […]}')
    return {**row, "id": str(row.get("id", place.line))}


def write_jsonl(file: TextIO, row: Row) -> None:
    """Write a document as one line."""
    file.write(json.dumps(row, ensure_ascii=False) + "\n")
