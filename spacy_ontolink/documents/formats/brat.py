"""BRAT standoff: a text file, and beside it a file of annotations; a corpus is a folder of such pairs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...errors import DataError, Errors
from ...text import shown
from ..tally import Place, Tally
from .brat_names import encode_name, id_of
from .ids import IdRules, are_ids
from .rows import Row, gold_ids, make_mention, offset, set_ids
from .source import decode, lines_of, open_source

_FRAGMENTS = re.compile(r"(\S.*?) (\d+ \d+(?:;\d+ \d+)*)")
_ID = re.compile(r"[TREAMN#*]\S*")
_NOT_IN_A_TYPE = re.compile(r"[\s;:]+")
_SPACE = re.compile(r"\s+")
_COMPOSITE = "Composite"
"""The attribute that marks a mention whose references are those of its parts."""

ROW_KEYS = frozenset({"id", "text", "mentions", "relations", "attributes", "notes"})
MENTION_KEYS = frozenset({"id", "start", "end", "text", "label", "kb_ids", "raw_id", "composite", "segments"})


def read_brat(path: Path, rules: IdRules, tally: Tally) -> Iterator[tuple[Place, Row]]:
    """Yield the documents of a folder and all folders in it, in order of their names, or the one of a single file.

    A text without annotation file has no mentions.

    Raises:
        DataError: An annotation file has no text, or a line of it is none of the format.
    """
    if not path.is_dir():
        yield _read(path.with_suffix(".txt"), id_of(shown(path.stem)), rules, tally)
        return
    texts = {file for file in path.rglob("*.txt") if file.is_file()}
    for file in path.rglob("*.ann"):
        texts.add(file.with_suffix(".txt"))
    for file in sorted(texts):
        yield _read(file, id_of(shown(file.relative_to(path).with_suffix("").as_posix())), rules, tally)


def _read(text_file: Path, id: str, rules: IdRules, tally: Tally) -> tuple[Place, Row]:
    annotations = text_file.with_suffix(".ann")
    place = Place(annotations if annotations.is_file() else text_file, 1)
    if not text_file.is_file():
        raise DataError(Errors.NO_TEXT_BESIDE.format(path=annotations, text=text_file.name))
    data = text_file.read_bytes().removeprefix(b"\xef\xbb\xbf")
    reader = _Reader(decode(data, Place(text_file, 1)), rules, tally)
    if annotations.is_file():
        with open_source(annotations) as source:
            for at, line in lines_of(source):
                if line.strip():
                    reader.add(line.rstrip("\r\n"), at)
    return place, {"id": id, "text": reader.text, **reader.finish()}


class _Reader:
    """Reads the annotations of one text."""

    def __init__(self, text: str, rules: IdRules, tally: Tally) -> None:
        self.text, self._rules, self._tally = text, rules, tally
        self._mentions: dict[str, Row] = {}
        self._lost: set[str] = set()
        self._references: dict[str, list[tuple[str, Place]]] = {}
        self._rest: dict[str, list[Row]] = {"relations": [], "attributes": [], "notes": []}

    def add(self, line: str, place: Place) -> None:
        """Add one annotation."""
        columns = line.split("\t")
        id, body = columns[0].strip(), columns[1].strip() if len(columns) > 1 else ""
        parts = body.split()
        if _ID.fullmatch(id) is None or not parts:
            raise place.problem("no annotation of BRAT: a line is an id such as T1, N1 or R1, a tab, and what it says")
        if id[0] == "T":
            self._add_mention(id, body, columns[2] if len(columns) > 2 else None, place)
        elif id[0] == "N" and len(parts) >= 3:
            self._references.setdefault(parts[1], []).append((body.split(None, 2)[2], place))
        elif id[0] == "#" and len(parts) >= 2:
            text = "\t".join(columns[2:])
            self._rest["notes"].append({"id": id, "type": parts[0], "ref": parts[1], "text": text})
        elif id[0] in "AM" and len(parts) >= 2:
            value = {"value": " ".join(parts[2:])} if len(parts) > 2 else {}
            self._rest["attributes"].append({"id": id, "type": parts[0], "ref": parts[1], **value})
        elif id[0] in "RE*":
            self._rest["relations"].append(_relation(id, parts))
        else:
            raise place.problem(f"'{id}' should be followed by a type, and the id of what it is about")

    def _add_mention(self, id: str, body: str, claimed: str | None, place: Place) -> None:
        match = _FRAGMENTS.fullmatch(body)
        if match is None:
            raise place.problem(f"'{id}' should have a type and offsets, like 'Disease 12 20' or 'Disease 12 20;25 30'")
        if id in self._mentions:
            raise place.problem(f"there are two annotations '{id}'")
        segments = [(offset(start), offset(end)) for start, end in (part.split() for part in match[2].split(";"))]
        mention = make_mention(self.text, segments, claimed, match[1], None, self._rules, place, self._tally)
        if mention is None:
            self._lost.add(id)
        else:
            self._mentions[id] = {"id": id, **mention}

    def finish(self) -> Row:
        """Return the mentions with their ids, and everything else that there is."""
        for ref, references in self._references.items():
            if ref in self._mentions:
                self._give_ids(self._mentions[ref], [raw for raw, _ in references])
            elif ref not in self._lost:
                self._tally.note("reference(s) of something that is no mention", references[0][1])
        if not self._references:  # corpora that have no references may have ids in their notes
            for note in self._rest["notes"]:
                if note["ref"] in self._mentions and are_ids(note["text"].strip()):
                    set_ids(self._mentions[note["ref"]], note["text"].strip(), self._rules)
        for mark in [mark for mark in self._rest["attributes"] if mark["type"] == _COMPOSITE and "value" not in mark]:
            if mark["ref"] in self._mentions:
                self._rest["attributes"].remove(mark)
                self._mentions[mark["ref"]]["composite"] = True
        return {"mentions": [*self._mentions.values()], **{key: rows for key, rows in self._rest.items() if rows}}

    def _give_ids(self, mention: Row, references: list[str]) -> None:
        """Give a mention its ids: a reference is one, whatever separators stand in it."""
        read = (self._rules.read_one(reference, mention["label"]) for reference in references)
        mention["kb_ids"] = list(dict.fromkeys(id for ids in read for id in ids))
        if len(references) == 1 and references != mention["kb_ids"]:
            mention["raw_id"] = references[0]


def _relation(id: str, parts: list[str]) -> Row:
    """Return a relation, an event or an equivalence: its type, and its arguments with their roles."""
    if id[0] == "E":  # the first argument is the trigger, and its role the type
        parts = [parts[0].partition(":")[0], *parts]
    args = []
    for part in parts[1:]:
        role, colon, ref = part.partition(":")
        args.append({"ref": ref, "role": role} if colon else {"ref": part})
    return {"id": id, "type": parts[0], "args": args}


class BratWriter:
    """Writes a folder with a text and an annotation file for each document."""

    def __init__(self, folder: Path, tally: Tally) -> None:
        folder.mkdir()
        self._folder, self._tally = folder, tally
        self._names: set[str] = set()

    def write(self, row: Row) -> None:
        """Write a document."""
        name = self._name(row["id"])
        text_file = self._folder / f"{name}.txt"
        text_file.parent.mkdir(parents=True, exist_ok=True)
        text_file.write_text(row["text"], "utf-8", newline="")
        lines = "".join("\t".join(columns) + "\n" for columns in self._lines(row))
        text_file.with_name(f"{text_file.name[:-4]}.ann").write_text(lines, "utf-8", newline="")

    def _name(self, id: str) -> str:
        """Return a name for the files of a document: its id, as far as a file can have it and no other has."""
        number, name = 1, encode_name(id)
        free = name
        while free.lower() in self._names:
            number += 1
            free = f"{name}-{number}"
        self._names.add(free.lower())
        if free != id:
            self._tally.note("document id(s) changed, since no file, or no second one, can have that name", id)
        return free

    def _lines(self, row: Row) -> Iterator[tuple[str, ...]]:
        mentions = row.get("mentions", ())
        own_names = (mention["id"] for mention in mentions if re.fullmatch(r"T\d+", mention.get("id", "")))
        names = {id: id for id in own_names}
        used: set[str] = set()
        free = (name for number in range(1, len(mentions) + len(names) + 1) if (name := f"T{number}") not in names)
        references, composites = [], []
        for mention in mentions:
            own = mention.get("id")
            name = names[own] if own in names and own not in used else next(free)
            if own and own not in used:
                names[own] = name
                used.add(own)
            label = _NOT_IN_A_TYPE.sub("_", mention["label"])
            if label != mention["label"] or not label:
                self._tally.note("label(s) changed, since BRAT takes no white space in them, nor none", row["id"])
            yield name, f"{label or 'Mention'} {_offsets(row['text'], mention)}", " ".join(mention["text"].split())
            composites += [name] if mention.get("composite") else []
            references += [(name, id) for id in references_of(mention)]
        for number, (name, id) in enumerate(references, start=1):
            yield f"N{number}", f"Reference {name} {id}", id
        yield from self._marks(row, names, composites)

    def _marks(self, row: Row, names: dict[str, str], composites: list[str]) -> Iterator[tuple[str, ...]]:
        used = {relation.get("id") for relation in row.get("relations", ())}
        numbers = (f"R{number}" for number in range(1, 1 + len(row.get("relations", ())) + len(used)))
        free = (name for name in numbers if name not in used)
        known = {*names} | {id for id in used if id and id[0] in "RE"}
        for relation in row.get("relations", ()):
            if any(arg["ref"] not in known for arg in relation["args"]):
                self._tally.note("relation(s) left out, since they are not between mentions", row["id"])
                continue
            args = [(arg.get("role", ""), names.get(arg["ref"], arg["ref"])) for arg in relation["args"]]
            id = str(relation.get("id", ""))
            if id[:1] == "*":
                yield id, " ".join([relation["type"], *(ref for _, ref in args)])
                continue
            type = [] if id[:1] == "E" else [_NOT_IN_A_TYPE.sub("_", relation["type"]) or "Relation"]
            body = [f"{role or f'Arg{number}'}:{ref}" for number, (role, ref) in enumerate(args, start=1)]
            yield (id if re.fullmatch(r"[RE]\d+", id) else next(free)), " ".join([*type, *body])
        taken = {str(mark["id"]) for mark in row.get("attributes", ())}
        fresh = (f"A{number}" for number in range(1, len(composites) + len(taken) + 1))
        spare = (id for id in fresh if id not in taken)
        for mark in row.get("attributes", ()):
            yield mark["id"], " ".join([mark["type"], names.get(mark["ref"], mark["ref"]), *_value(mark)])
        for name in composites:
            yield next(spare), f"{_COMPOSITE} {name}"
        for note in row.get("notes", ()):
            yield (
                note["id"],
                f"{note['type']} {names.get(note['ref'], note['ref'])}",
                " ".join(note["text"].splitlines()),
            )


def references_of(mention: Row) -> list[str]:
    """Return what references of a mention say: as its file had its id, where that is read as the same, or its ids."""
    raw_id, ids = mention.get("raw_id"), gold_ids(mention["kb_ids"])
    if isinstance(raw_id, str) and IdRules().read_one(raw_id, mention["label"]) == ids:
        return [raw_id]
    return ids


def _value(mark: Row) -> list[Any]:
    return [mark["value"]] if "value" in mark else []


def _offsets(text: str, mention: Row) -> str:
    """Write where a mention stands; BRAT breaks a mention where its line ends."""
    pieces = []
    for start, end in mention.get("segments") or [(mention["start"], mention["end"])]:
        for found in _SPACE.finditer(text, start, end):
            if start < found.start() and found.end() < end and ("\n" in found[0] or "\r" in found[0]):
                pieces.append((start, found.start()))
                start = found.end()
        pieces.append((start, end))
    return ";".join(f"{start} {end}" for start, end in pieces)
