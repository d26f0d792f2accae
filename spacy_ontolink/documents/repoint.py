"""Links, training pairs and aliases in JSONL files, taken over to the next release of an ontology.

Rows may be of any form: ids are known by the keys they stand under, and all else stays as it was.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

from ..errors import DataError, Errors
from .repoint_pairs import settle
from .successors import Successors

ONE, SOME = ("entity", "kb_id", "neighbour"), ("kb_ids", "gold")
"""Keys of one id, and of several."""
_ABOUT = ("id", "doc", "start", "end", "text")


def repoint_rows(path: Path, file: TextIO, lost: TextIO, follow: Successors, pairs: bool) -> None:
    """Copy a JSONL file with its ids brought up to date.

    A row about a lost ``entity`` goes; so does, in a file of ``pairs``, a mention that has no id left, and see
    ``settle``. Elsewhere that mention stays, without an id.

    Args:
        path: The file, gzipped or not.
        file: Gets the rows.
        lost: Gets a line for each lost id, with the line and the text it stood by.
        follow: Leads ids on.
        pairs: Whether mentions without an id are of no use.

    Raises:
        DataError: A line is not a JSON object; the message names it.
    """
    for number, row in _rows(path):
        gone: list[dict[str, Any]] = []
        new = walk(row, follow, pairs, gone)
        if new is None:
            follow.dropped += 1
        else:
            file.write(line_of(new))
        lost.writelines(line_of({"line": number, **about}) for about in gone)


def repoint_aliases(
    path: Path, file: TextIO, lost: TextIO, follow: Successors, why: Callable[[str], Sequence[str]]
) -> dict[str, Sequence[str]]:
    """Copy a store or list of aliases without the entities that are to be asked again.

    So the next run, which asks for what is missing, asks for these. Aliases of an entity that was merged into one with
    aliases of its own go, too, and a last line that a killed run left unfinished.

    Args:
        path: The file, gzipped or not.
        file: Gets the rows.
        lost: Gets a line for each lost id.
        follow: Leads ids on.
        why: Says why an entity's aliases may not hold any more; nothing if they do.

    Returns:
        The entities to be asked again, and why.
    """
    own = {row.get("entity") for _, row in _rows(path, may_be_cut=True)}
    ask: dict[str, Sequence[str]] = {}
    for number, row in _rows(path, may_be_cut=True):
        gone: list[dict[str, Any]] = []
        new = walk(row, follow, False, gone)
        lost.writelines(line_of({"line": number, **about}) for about in gone)
        follow.dropped += new is None
        entity = new.get("entity") if new else None
        if isinstance(entity, str) and (reasons := why(entity)):
            ask[entity] = reasons
        elif new is not None and (entity == row.get("entity") or entity not in own):
            file.write(line_of(new))
    return ask


def line_of(row: dict[str, Any]) -> str:
    """Write a row as a line; halves of surrogate pairs, which UTF-8 has no place for, are escaped."""
    line = json.dumps(row, ensure_ascii=False)
    try:
        line.encode()
    except UnicodeEncodeError:
        line = json.dumps(row)
    return line + "\n"


def _rows(path: Path, may_be_cut: bool = False) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if not line.strip():
                    continue
                try:
                    row = json.loads(line)
                except (ValueError, RecursionError) as error:
                    if may_be_cut and not line.endswith(b"\n"):
                        return
                    reason = f"not JSON ({error})"
                    raise DataError(Errors.BAD_LINE.format(path=path, line=number, reason=reason)) from error
                if not isinstance(row, dict):
                    raise DataError(Errors.BAD_LINE.format(path=path, line=number, reason="not a JSON object"))
                yield number, row
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise DataError(Errors.NOT_GZIP.format(path=path, reason=error)) from error


def walk(value: Any, follow: Successors, pairs: bool, gone: list[dict[str, Any]]) -> Any:
    """Return a JSON value with its ids led on; None for an object that is about nothing any more.

    Args:
        value: Any value; tuples become lists.
        follow: Leads ids on.
        pairs: Whether mentions without an id are of no use.
        gone: Gets what is to be told of each lost id.
    """
    if isinstance(value, list | tuple):
        items = [(item, walk(item, follow, pairs, gone)) for item in value]
        kept = [new for item, new in items if new is not None or item is None]
        follow.dropped += len(items) - len(kept)
        return kept
    if not isinstance(value, dict):
        return value
    about = {key: value[key] for key in _ABOUT if key in value}

    def led_on(ids: Sequence[str]) -> list[str]:
        found = [(id, follow(id)) for id in ids]
        gone.extend({**about, "lost": id} for id, new in found if id and not new)
        return list(dict.fromkeys(new for _, new in found if new))

    result: dict[str, Any] = {}
    for key, item in value.items():
        if key in ONE and isinstance(item, str):
            result[key] = next(iter(led_on([item])), "")
        elif key in SOME and isinstance(item, str | list | tuple):
            ids = [item] if isinstance(item, str) else item
            result[key] = led_on(ids) if all(isinstance(id, str) for id in ids) else item
        elif key == "candidates" and isinstance(item, list | tuple):
            result[key] = _candidates(item, follow)
        elif key == "mentions" and pairs and isinstance(item, list | tuple):
            result[key] = list(settle(item, [walk(each, follow, pairs, gone) for each in item], follow).values())
        else:
            result[key] = walk(item, follow, pairs, gone)
    if (value.get("entity") and not result["entity"]) or (pairs and value.get("kb_ids") and not result["kb_ids"]):
        return None
    return result


def _candidates(items: Sequence[Any], follow: Successors) -> list[Any]:
    """Lead the ids of candidates on; of those that are one entity now the first stays. They are answers, not links."""
    result: dict[Any, Any] = {}
    for place, item in enumerate(items):
        if not isinstance(item, dict) or not isinstance(item.get("id"), str):
            result[place] = item
        elif new := follow.find(item["id"]):
            result.setdefault(new, {**item, "id": new})
    return list(result.values())
