"""PubTator: a title line, an abstract line, and a line with tabs for each mention and relation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TextIO

from ..tally import Place, Tally
from .ids import IdRules
from .rows import Row, gold_ids, make_mention, offset, write_ids
from .source import Source, lines_of

TITLE_LINE = re.compile(r"([^|\t\r\n]+)\|([ta])\|(.*)", re.DOTALL)
_SHAPE = "a line is 'id|t|title', 'id|a|abstract', or a mention or relation in columns with tabs between them"
_UNFIT = re.compile(r"[|\t\r\n]")
_BREAKS = str.maketrans("\r\n", "  ")

ROW_KEYS = frozenset({"id", "text", "mentions", "passages", "relations"})
MENTION_KEYS = frozenset({"id", "start", "end", "text", "label", "kb_ids", "raw_id", "composite", "individual"})


def read_pubtator(source: Source, rules: IdRules, tally: Tally) -> Iterator[tuple[Place, Row]]:
    """Yield the documents: title and abstract with one space between them, as their offsets count.

    Raises:
        DataError: A line is none of the format, or belongs to another document than those around it.
    """
    row: Row | None = None
    start: Place | None = None
    for place, line in lines_of(source):
        line = line.rstrip("\r\n")
        if not line.strip():
            continue
        if match := TITLE_LINE.fullmatch(line):
            id, kind, text = match.groups()
            if kind == "t":
                if row is not None and start is not None:
                    yield start, _related(row, rules)
                start = place
                row = {"id": id, "text": text, "mentions": [], "passages": [_passage(0, len(text), "title")]}
            else:
                _add_abstract(_same(row, id, place), text, place)
        else:
            columns = line.split("\t")
            _add_columns(_same(row, columns[0].strip(), place, columns), columns, rules, place, tally)
    if row is not None and start is not None:
        yield start, _related(row, rules)


def _related(row: Row, rules: IdRules) -> Row:
    """Write the ids in relations as those of the mentions are; one that is read as another keeps its ``raw_id``."""
    ids = {mention["label"]: set[str]() for mention in row["mentions"]}
    for mention in row["mentions"]:
        ids[mention["label"]].update(mention["kb_ids"])
    for arg in (arg for relation in row.get("relations", ()) for arg in relation["args"]):
        raw_id = arg["ref"]
        found = (rules.read_one(raw_id, label) for label in ids)
        labelled = (own for own, known in zip(found, ids.values(), strict=True) if known.issuperset(own))
        (id,) = next((own for own in labelled if own), rules.read_one(raw_id)) or [raw_id]
        if id != raw_id:
            arg.update(ref=id, raw_id=raw_id)
    return row


def _same(row: Row | None, id: str, place: Place, columns: list[str] | None = None) -> Row:
    """Return the document that a line belongs to."""
    if columns is not None and len(columns) < 4:
        raise place.problem(f"{_SHAPE}; this one has {len(columns)} column(s)")
    if row is None:
        raise place.problem(f"'{id}' has no title line 'id|t|title' before it")
    if id != row["id"]:
        raise place.problem(f"it belongs to '{id}', but stands among the lines of '{row['id']}'")
    return row


def _passage(start: int, end: int, kind: str) -> Row:
    return {"start": start, "end": end, "infons": {"type": kind}}


def _add_abstract(row: Row, text: str, place: Place) -> None:
    if len(row["passages"]) > 1 or row["mentions"]:
        raise place.problem(f"an abstract line of '{row['id']}' where none may stand: it has one, or mentions, already")
    if text:
        start = len(row["text"]) + 1
        row["text"] += f" {text}"
        row["passages"].append(_passage(start, len(row["text"]), "abstract"))


def _add_columns(row: Row, columns: list[str], rules: IdRules, place: Place, tally: Tally) -> None:
    _, first, second, *rest = columns
    if not first.strip().isdecimal():  # a relation: its type, the ids of its parts, and what more there is
        relation: Row = {"type": first, "args": [{"ref": column} for column in (second, rest[0])]}
        if rest[1:]:
            relation["infons"] = {f"column {number}": value for number, value in enumerate(rest[1:], start=5)}
        row.setdefault("relations", []).append(relation)
        return
    if not second.strip().isdecimal():
        raise place.problem(f"a mention from {first} to '{second}', which is no number")
    claimed, label, raw_id = (*rest, *([""] * 3))[:3]
    segment = (offset(first.strip()), offset(second.strip()))
    mention = make_mention(row["text"], [segment], claimed, label.strip(), raw_id, rules, place, tally)
    if mention is not None:
        if len(rest) > 3 and rest[3]:
            mention["individual"] = rest[3]
        row["mentions"].append(mention)


def write_pubtator(file: TextIO, row: Row, place: str, tally: Tally) -> None:
    """Write a document; line breaks in it become spaces, and relations that no mention's ids stand for are left out."""
    id = row["id"] or place
    if _UNFIT.search(id):
        tally.note("document id(s) changed, since '|', tabs and line breaks cannot stand in them", row["id"])
        id = _UNFIT.sub("_", id)
    title, abstract = _split(row)
    if "\n" in row["text"] or "\r" in row["text"]:
        tally.note("document(s) with line breaks, which become spaces", id)
    file.write(f"{id}|t|{title.translate(_BREAKS)}\n{id}|a|{abstract.translate(_BREAKS)}\n")
    for mention in row.get("mentions", ()):
        columns = [id, str(mention["start"]), str(mention["end"]), " ".join(mention["text"].split("\t")),
                   mention["label"], write_ids(mention) or "-1"]  # fmt: skip
        if mention.get("individual"):
            columns.append(str(mention["individual"]))
        file.write("\t".join(column.translate(_BREAKS).replace("\t", " ") for column in columns) + "\n")
    for relation in row.get("relations", ()):
        _write_relation(file, id, relation, row, tally)
    file.write("\n")


def _split(row: Row) -> tuple[str, str]:
    """Part a text in title and abstract, with one character between them: where its passages or lines part it."""
    text, passages = row["text"], row.get("passages") or []
    if len(passages) > 1:
        end = passages[0]["end"]
        if passages[1]["start"] == end + 1 and text[end : end + 1].isspace():
            return text[:end], text[end + 1 :]
    head, _, rest = text.partition("\n")
    return (head, rest) if not passages else (text, "")


def _write_relation(file: TextIO, id: str, relation: Row, row: Row, tally: Tally) -> None:
    by_id = {mention["id"]: mention for mention in row.get("mentions", ()) if "id" in mention}
    labels = {"", *(mention["label"] for mention in row.get("mentions", ()))}
    refs = [
        gold_ids(by_id[arg["ref"]]["kb_ids"])[:1] if arg["ref"] in by_id else [_spelled(arg, labels)]
        for arg in relation["args"]
    ]
    more = [str(value) for key, value in relation.get("infons", {}).items() if key.startswith("column ")]
    if len(refs) != 2 or not all(refs) or relation["type"].strip().isdecimal():
        tally.note("relation(s) left out, since they are not between two ids", id)
        return
    columns = [id, relation["type"], *(ref[0] for ref in refs), *more]
    file.write("\t".join(column.translate(_BREAKS).replace("\t", " ") for column in columns) + "\n")


def _spelled(arg: Row, labels: Iterable[str]) -> str:
    """Return the id of a part of a relation: as its file had it, where that is still read as the same."""
    raw_id, ref = arg.get("raw_id"), str(arg["ref"])
    if isinstance(raw_id, str) and any(IdRules().read_one(raw_id, label) == [ref] for label in labels):
        return raw_id
    return ref
