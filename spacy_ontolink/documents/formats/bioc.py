"""BioC documents as plain dicts, in the shape that BioC JSON has and BioC XML is brought into."""

from __future__ import annotations

import json
import reprlib
from collections.abc import Iterator, Sequence
from typing import Any

from ..tally import Place, Tally
from .ids import MISSING, PREFIXES, IdRules
from .rows import Row, make_mention, set_ids, write_ids

GENERAL_KEYS = ("identifier", "identifiers", "concept_id", "conceptid", "concept id", "normalized_id", "normalised_id",
                "normalized id", "kb_id", "kb_ids", "entity_id", "db_id", "dbid", "id", "code", "curie")  # fmt: skip
"""Infons (in lower case) that may hold ids of any vocabulary; the first that holds one counts."""
LABEL_KEYS = ("type", "label", "ne type", "entity_type", "semantic_type", "category")
_WIDEST_GAP = 1000
"""Most characters between two passages that are filled with spaces; a wider gap is taken for a wrong offset."""

ROW_KEYS = frozenset({"id", "text", "mentions", "passages", "relations", "infons", "collection"})
MENTION_KEYS = frozenset({"id", "start", "end", "text", "label", "kb_ids", "raw_id", "composite", "segments", "infons"})


def row_of(document: Row, header: Row, place: Place, rules: IdRules, tally: Tally) -> Row:
    """Make a row of a document: its passages at their offsets, all mentions and relations, and all infons.

    Args:
        document: The document, with passages of texts or of sentences.
        header: What stands before it in its collection: source, date, key, infons.
        place: Where it begins.
        rules: What ids are made of the infons.
        tally: Counts what is passed over.

    Raises:
        DataError: A part of it is of another type than the format has.
    """
    reader = _Reader(place, rules, tally)
    for passage in _items(document, "passages", place):
        reader.add(passage)
    reader.add_annotations(document)
    reader.add_relations(document)
    row: Row = {"id": str(document.get("id") or place.line), "text": reader.text, "mentions": reader.mentions}
    row["passages"] = reader.passages
    for key, value in (("relations", reader.relations), ("infons", _infons(document, place)), ("collection", header)):
        if value:
            row[key] = value
    return row


class _Reader:
    """Puts the texts of a document together, and mentions into them."""

    def __init__(self, place: Place, rules: IdRules, tally: Tally) -> None:
        self.place, self.rules, self.tally = place, rules, tally
        self.text = ""
        self.passages: list[Row] = []
        self.mentions: list[Row] = []
        self.relations: list[Row] = []
        self._blocks: list[tuple[int, int]] = []  # offset in the file, place in the text
        self._end = 0  # the offset in the file at which the text ends

    def add(self, passage: Row) -> None:
        """Add a passage; one that has no text of its own has that of its sentences."""
        start: int | None = None
        sentences = _items(passage, "sentences", self.place)
        own = bool(passage.get("text"))
        if own:
            start = self._append(passage)
        for sentence in sentences:
            if not own and sentence.get("text"):
                at = self._append(sentence)
                start = at if start is None else start
            self.add_annotations(sentence)
            self.add_relations(sentence)
        self.add_annotations(passage)
        self.add_relations(passage)
        if start is not None:
            infons = _infons(passage, self.place)
            self.passages.append({"start": start, "end": len(self.text), **({"infons": infons} if infons else {})})

    def _append(self, block: Row) -> int:
        """Append a text, with spaces up to its offset, and return where it begins."""
        offset, text = _number(block.get("offset", self._end), self.place), str(block["text"])
        gap = offset - self._end if self._blocks else 0
        if not 0 <= gap <= _WIDEST_GAP:
            self.tally.note(
                "passage(s) whose offset does not follow from the one before; a space parts them", self.place
            )
            gap = 1
        self.text += " " * gap + text
        start = len(self.text) - len(text)
        self._blocks.append((offset, start))
        self._end = offset + len(text)
        return start

    def add_annotations(self, holder: Row) -> None:
        """Add the annotations of a document, passage or sentence, by the offsets of the text that they lie in."""
        for annotation in _items(holder, "annotations", self.place):
            infons = _infons(annotation, self.place)
            label_key = next((key for key in infons if key.lower() in LABEL_KEYS and infons[key]), None)
            label = "" if label_key is None else str(infons[label_key])
            segments = []
            for location in _items(annotation, "locations", self.place):
                start = self._at(_number(location.get("offset"), self.place))
                segments.append((start, start + _number(location.get("length"), self.place)))
            text = annotation.get("text")
            mention = make_mention(self.text, segments, text if text is None else str(text), label, None, self.rules,
                                   self.place, self.tally)  # fmt: skip
            if mention is None:
                continue
            self._give_ids(mention, infons)
            if annotation.get("id") not in (None, ""):
                mention["id"] = str(annotation["id"])
            rest = {key: value for key, value in infons.items() if key not in ("identifier", label_key)}
            if label_key not in (None, "type"):
                rest[str(label_key)] = infons[str(label_key)]
            if rest:
                mention["infons"] = rest
            self.mentions.append(mention)

    def _at(self, offset: int) -> int:
        """Return the place in the text of an offset of the file, by the last block that begins at it or before."""
        for block, start in reversed(self._blocks):
            if block <= offset:
                return offset - block + start
        return -1

    def _give_ids(self, mention: Row, infons: Row) -> None:
        """Take the ids of the first general key that has any, or else those of all keys that name a vocabulary."""
        by_key = {key.lower().strip(): value for key, value in infons.items()}
        found = [(by_key[key], "") for key in GENERAL_KEYS if key in by_key and _strings(by_key[key])][:1]
        if not found:
            found = [(value, PREFIXES[key]) for key, value in by_key.items() if key in PREFIXES and _strings(value)]
        ids: list[str] = []
        for value, prefix in found:
            strings = _strings(value)
            if len(found) == len(strings) == 1 and not prefix:
                set_ids(mention, strings[0], self.rules)
                return
            for string in strings:
                own, composite = self.rules.read(string, mention["label"], prefix)
                ids += own
                if composite:
                    mention["composite"] = True
        mention["kb_ids"] = list(dict.fromkeys(ids))
        if not found and isinstance(raw_id := infons.get("identifier"), str) and raw_id:
            mention["raw_id"] = raw_id

    def add_relations(self, holder: Row) -> None:
        """Add the relations of a document, passage or sentence."""
        for relation in _items(holder, "relations", self.place):
            infons = _infons(relation, self.place)
            nodes = _items(relation, "nodes", self.place)
            args = [{"ref": str(node.get("refid", "")), **({"role": str(node["role"])} if node.get("role") else {})}
                    for node in nodes]  # fmt: skip
            row: Row = {"type": str(infons.pop("type", "")), "args": args}
            if relation.get("id") not in (None, ""):
                row["id"] = str(relation["id"])
            if infons:
                row["infons"] = infons
            self.relations.append(row)


def _strings(value: Any) -> list[str]:
    """Return the ids that an infon holds: a string, a number, or several."""
    values = value if isinstance(value, list) else [value]
    strings = [str(one) for one in values if isinstance(one, str | int) and not isinstance(one, bool)]
    return [string for string in strings if string.strip().lower() not in MISSING]


def _items(holder: Row, key: str, place: Place) -> list[Row]:
    found = holder.get(key) or []
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise place.problem(f"'{key}' in the document that begins here is not a list of objects")
    return found


def _infons(holder: Row, place: Place) -> Row:
    infons = holder.get("infons") or {}
    if not isinstance(infons, dict):
        raise place.problem("'infons' in the document that begins here is not an object")
    return dict(infons)


def _number(value: Any, place: Place) -> int:
    if isinstance(value, float) and value.is_integer():  # some tools write 12.0
        return int(value)
    try:
        if isinstance(value, int | str):
            return int(value)
    except ValueError:
        pass
    raise place.problem(f"{reprlib.repr(value)} in the document that begins here is no offset or length")


def document_of(row: Row) -> Row:
    """Make a BioC document of a row: its passages, if only spaces lie between them, else one with all of the text."""
    passages = list(_passages(row))
    mentions = [*row.get("mentions", ())]
    names = _names(mentions)
    for mention, name in zip(mentions, names, strict=True):
        owner = next((passage for passage in reversed(passages) if passage["offset"] <= mention["start"]), passages[0])
        owner["annotations"].append(_annotation(mention, name))
    relations = [_relation(relation, number) for number, relation in enumerate(row.get("relations", ()))]
    return {
        "id": row["id"],
        "infons": row.get("infons") or {},
        "passages": passages,
        "annotations": [],
        "relations": relations,
    }


def _passages(row: Row) -> Iterator[Row]:
    text, passages = row["text"], row.get("passages") or ()
    ends = [0, *(passage["end"] for passage in passages)]
    starts = [*(passage["start"] for passage in passages), len(text)]
    if not passages or any(text[a:b].strip(" ") or b < a for a, b in zip(ends, starts, strict=True)):
        passages = ({"start": 0, "end": len(text)},)
    for passage in passages:
        start, end = passage["start"], passage["end"]
        yield {"offset": start, "infons": passage.get("infons") or {}, "text": text[start:end], "sentences": [],
               "annotations": [], "relations": []}  # fmt: skip


def _names(mentions: Sequence[Row]) -> list[str]:
    """Return an id for each mention: its own, or a number that no other has."""
    taken = {mention["id"] for mention in mentions if "id" in mention}
    free = (str(number) for number in range(len(mentions) + len(taken)) if str(number) not in taken)
    return [mention["id"] if "id" in mention else next(free) for mention in mentions]


def _annotation(mention: Row, name: str) -> Row:
    infons = {**({"type": mention["label"]} if mention["label"] else {}), **mention.get("infons", {})}
    if ids := write_ids(mention):
        infons["identifier"] = ids
    segments = mention.get("segments") or [(mention["start"], mention["end"])]
    locations = [{"offset": start, "length": end - start} for start, end in segments]
    return {"id": name, "infons": infons, "text": mention["text"], "locations": locations}


def _relation(relation: Row, number: int) -> Row:
    infons = {**({"type": relation["type"]} if relation["type"] else {}), **relation.get("infons", {})}
    nodes = [{"refid": arg["ref"], "role": arg.get("role", "")} for arg in relation["args"]]
    return {"id": relation.get("id", f"R{number}"), "infons": infons, "nodes": nodes}


def as_string(value: Any) -> str:
    """Write the value of an infon where only strings have a place."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
