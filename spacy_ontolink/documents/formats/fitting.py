"""What of a document a format can hold: the keys it has a place for, in the shape that the other readers give them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from ..tally import Tally
from . import bioc, brat, pubtator
from .ids import IdRules
from .rows import Row, gold_ids, write_ids

HELD = {
    "pubtator": (pubtator.ROW_KEYS, pubtator.MENTION_KEYS),
    "bioc-json": (bioc.ROW_KEYS, bioc.MENTION_KEYS),
    "bioc-xml": (bioc.ROW_KEYS, bioc.MENTION_KEYS),
    "brat": (brat.ROW_KEYS, brat.MENTION_KEYS),
}
"""Keys of a document and of a mention that a format has a place for; JSONL and .spacy have one for all."""

_OF_LINES = ("pubtator", "brat")
_LINE_BREAK = re.compile(r"[\t\r\n]")
_WORD = re.compile(r"\S+")
_ATTRIBUTE, _NOTE = re.compile(r"[AM]\d+"), re.compile(r"#\d+")
Shape = Callable[[Any, Row, Row], bool]


def fitting(row: Row, format: str, tally: Tally) -> Row:
    """Return a document without what the format has no place for, all of which is counted.

    JSONL may hold anything under any key, so what bears the name of a key of another format need not be what that is.
    """
    held, of_mentions = HELD[format]
    kept = _kept(row, row, held, _ROW, "document(s)", format, tally)
    if "mentions" in row:
        kept["mentions"] = [
            _kept(mention, row, of_mentions, _MENTION, "mention(s)", format, tally) for mention in row["mentions"]
        ]
        for mention in kept["mentions"]:
            _check_ids(mention, str(row["id"]), format, tally)
    return kept


def _check_ids(mention: Row, id: str, format: str, tally: Tally) -> None:
    """Count a mention whose ids, written in this format, are read as others."""
    ids, label = gold_ids(mention["kb_ids"]), mention["label"]
    if format == "brat":
        written = brat.references_of(mention)
        read = [own for reference in written for own in IdRules().read_one(reference, label)], True
        if isinstance(mention.get("raw_id"), str) and written != [mention["raw_id"]]:
            tally.note("mention(s) with a 'raw_id' that brat cannot hold: each id has a reference of its own", id)
    else:
        written = [write_ids(mention)]
        read = IdRules().read(written[0], label)
    composite = format == "brat" or bool(mention.get("composite"))
    breaks = format in _OF_LINES and any(_LINE_BREAK.search(text) for text in written)
    if read != (ids, composite) or breaks:
        tally.note(f"mention(s) with ids that {format} cannot hold as they are, and that are read back otherwise", id)


def _kept(
    holder: Row, row: Row, held: frozenset[str], shapes: dict[str, Shape], what: str, format: str, tally: Tally
) -> Row:
    kept = {}
    for key, value in holder.items():
        nothing = value is False or value in (None, "", [], {})
        if nothing and key not in ("id", "text", "label", "kb_ids", "mentions"):
            continue
        if key not in held:
            tally.note(f"{what} with '{key}', which {format} has no place for", str(row["id"]))
        elif key in shapes and not shapes[key](value, holder, row):
            tally.note(
                f"{what} with '{key}' of a shape that is not understood (docs/corpora.md has it)", str(row["id"])
            )
        else:
            kept[key] = value
    return kept


def _rows(value: Any) -> Iterator[Row]:
    """Yield the objects of a list; of anything else, and in place of anything else, one that fits nowhere."""
    for item in value if isinstance(value, list) else [None]:
        yield item if isinstance(item, dict) else {}


def _strings(item: Row, *keys: str) -> bool:
    return all(isinstance(item.get(key), str) for key in keys)


def _words(item: Row, *keys: str) -> bool:
    return _strings(item, *keys) and all(_WORD.fullmatch(item[key]) for key in keys)


def _are_offsets(start: Any, end: Any, row: Row) -> bool:
    return type(start) is int and type(end) is int and 0 <= start < end <= len(row["text"])


def _is_object(value: Any, holder: Row, row: Row) -> bool:
    return isinstance(value, dict)


def _is_string(value: Any, holder: Row, row: Row) -> bool:
    return isinstance(value, str)


def _passages(value: Any, holder: Row, row: Row) -> bool:
    return all(
        _are_offsets(item.get("start"), item.get("end"), row) and isinstance(item.get("infons", {}), dict)
        for item in _rows(value)
    )


def _relations(value: Any, holder: Row, row: Row) -> bool:
    return all(
        _strings(item, "type")
        and isinstance(item.get("infons", {}), dict)
        and isinstance(item.get("id", ""), str)
        and isinstance(item.get("args"), list)
        and all(_strings(arg, "ref") and isinstance(arg.get("role", ""), str) for arg in _rows(item["args"]))
        for item in _rows(value)
    )


def _attributes(value: Any, holder: Row, row: Row) -> bool:
    return all(
        _words(item, "id", "type", "ref")
        and _ATTRIBUTE.fullmatch(item["id"])
        and isinstance(item.get("value", ""), str)
        for item in _rows(value)
    )


def _notes(value: Any, holder: Row, row: Row) -> bool:
    return all(
        _words(item, "id", "type", "ref") and _NOTE.fullmatch(item["id"]) and _strings(item, "text")
        for item in _rows(value)
    )


def _segments(value: Any, mention: Row, row: Row) -> bool:
    if not isinstance(value, list) or not all(isinstance(own, list | tuple) and len(own) == 2 for own in value):
        return False
    if not all(_are_offsets(start, end, row) for start, end in value):
        return False
    return bool(value[0][0] == mention["start"] and value[-1][1] == mention["end"] and value == sorted(value))


_ROW: dict[str, Shape] = {"passages": _passages, "relations": _relations, "attributes": _attributes, "notes": _notes,
                          "infons": _is_object, "collection": _is_object}  # fmt: skip
_MENTION: dict[str, Shape] = {"id": _is_string, "text": _is_string, "raw_id": _is_string, "individual": _is_string,
                              "infons": _is_object, "segments": _segments}  # fmt: skip
