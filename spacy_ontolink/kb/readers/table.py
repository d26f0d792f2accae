"""Read CSV and TSV tables: one entity a row, its columns found by their usual names or named by the caller."""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...errors import ConfigError, Errors, OntologyError
from ...types import Entity, Scope, Synonym
from ...unpacking import lines_in
from .annotations import LABEL
from .iris import compact
from .records import Record, decoded_lines, records, sniff_delimiter
from .report import ReadReport
from .sources import open_bytes

# The first spelling that a header has is taken; all are compared in lower case, with "_" for whatever is no letter.
SPELLINGS: dict[str, str] = {
    "id": "id concept_id subject_id term_id class_id entity_id obo_id curie identifier accession code cui iri uri",
    "name": "name label canonical_name preferred_label preferred_name preferred_term pref_label preflabel lbl "
    "term_name concept_name title term translation_value",
    "synonyms": "synonyms synonym aliases alias alternative_names alternative_labels alt_labels other_names",
    "exact_synonyms": "exact_synonyms exact_synonym has_exact_synonym hasexactsynonym",
    "narrow_synonyms": "narrow_synonyms narrow_synonym has_narrow_synonym hasnarrowsynonym",
    "broad_synonyms": "broad_synonyms broad_synonym has_broad_synonym hasbroadsynonym",
    "related_synonyms": "related_synonyms related_synonym has_related_synonym hasrelatedsynonym",
    "definition": "definition definitions def description",
    "parents": "parents parent parent_ids parent_id is_a isa subclass_of subclassof superclasses",
    "alt_ids": "alt_ids alt_id alternative_ids alternative_id alternate_ids secondary_ids has_alternative_id",
    "types": "types type semantic_types semantic_type subsets subset category",
    "xrefs": "xrefs xref cross_references database_cross_reference has_dbxref dbxrefs mappings",
    "namespace": "namespace obo_namespace has_obo_namespace",
    "obsolete": "obsolete is_obsolete deprecated is_deprecated",
    "replaced_by": "replaced_by replacement term_replaced_by successor",
    "consider": "consider",
}
_SCOPES: dict[str, Scope] = {
    "synonyms": "RELATED",
    "exact_synonyms": "EXACT",
    "narrow_synonyms": "NARROW",
    "broad_synonyms": "BROAD",
    "related_synonyms": "RELATED",
}
_IDS = ("parents", "alt_ids", "replaced_by", "consider")
_TRUE = {"true", "t", "yes", "y", "1", "obsolete", "deprecated"}
_LABELS = {"rdfs:label", LABEL}
_SHOWN = 30


def read_table(path: str | Path, report: ReadReport, columns: dict[str, str] | None = None) -> Iterator[Entity]:
    """Yield one entity a row; cells that may hold several values are split at ``|``.

    A row may end early, where only empty cells would follow its id and name.

    Args:
        path: A CSV or TSV file with a header line (tab, comma or semicolon), gzipped or not.
        report: Where rows that cannot be used are counted.
        columns: Names of columns by role, where they are not the usual ones; positions ("1", "2", …) for a file
            without a header line.

    Raises:
        OntologyError: The file cannot be read or has no column for ids or names; in strict mode, at the first bad row.
        ConfigError: ``columns`` names a role that does not exist.
    """
    path, columns = Path(path), columns or {}
    if unknown := set(columns) - set(SPELLINGS):
        raise ConfigError(Errors.COLUMN_ROLE.format(role=min(unknown), roles=", ".join(SPELLINGS)))
    with open_bytes(path) as file:
        encoding, errors = _encoding(path)
        text = io.TextIOWrapper(file, encoding, errors)
        lines = decoded_lines(lines_in(text), report)
        head = [line for _, line in zip(range(200), lines, strict=False)]
        delimiter = sniff_delimiter(head, list(columns.values()))
        rows = records(head, lines, delimiter, report)
        header, places, first = _header(path, rows, columns)
        untranslated = _translation_filter(header, places)
        if unused := [cell[:40] for place, cell in enumerate(header) if place not in places.values() and cell.strip()]:
            report.note("columns not used", ", ".join(unused[:_SHOWN]))
        for line, cells in rows if first is None else itertools.chain((first,), rows):
            if len(cells) < len(header) and _names_entity(cells, places):
                cells = [*cells, *[""] * (len(header) - len(cells))]  # spreadsheets leave out empty cells at the end
            if len(cells) != len(header):
                report.problem("wrong number of fields", f"{len(cells)} instead of {len(header)}: {cells!r:.80}", line)
            elif reason := untranslated(cells):
                report.problem(reason, f"{cells!r:.80}", line)
            elif entity := _entity(line, cells, places, report):
                yield entity


def _encoding(path: Path) -> tuple[str, str]:
    """Return encoding and error handling."""
    with open_bytes(path) as file:
        utf16 = file.read(2) in (b"\xff\xfe", b"\xfe\xff")
    if utf16:  # what spreadsheets call "Unicode text"
        return "utf-16", "replace"
    return "utf-8-sig", "surrogateescape"


def _header(
    path: Path, rows: Iterator[Record], columns: Mapping[str, str]
) -> tuple[list[str], dict[str, int], Record | None]:
    """Return the header, the place of each role in it, and the first row where that is data already."""
    for line, cells in rows:
        plain = [_plain(cell) for cell in cells]
        usual = {role: place for role in SPELLINGS if (place := _usual_place(role, plain)) is not None}
        if cells[0].startswith("#") and not {"id", "name"} <= usual.keys() | columns.keys():
            continue  # a comment above the header
        given = {role: _given_place(name, cells, plain) for role, name in columns.items()}
        by_position = [role for role, name in columns.items() if name.isdecimal() and name not in cells]
        places = given if by_position else {**usual, **given}
        for role in ("id", "name", *columns):
            if places.get(role) is None:
                shown = ", ".join(cell[:40] for cell in cells[:_SHOWN])
                missing = {"column": columns.get(role, role), "role": role, "columns": shown}
                raise OntologyError(Errors.COLUMN_MISSING.format(path=path, hint=Errors.COLUMN_HINT, **missing))
        found = {role: place for role, place in places.items() if place is not None}
        is_data = bool(by_position) and not all(usual.get(role) == found[role] for role in ("id", "name"))
        return cells, found, (line, cells) if is_data else None
    raise OntologyError(Errors.NO_ENTITIES.format(path=path, detail="the table is empty"))


def _names_entity(cells: Sequence[str], places: Mapping[str, int]) -> bool:
    return all(places[role] < len(cells) and cells[places[role]].strip() for role in ("id", "name"))


def _plain(name: str) -> str:
    letters = "".join(letter if letter.isalnum() else " " for letter in name.lower())
    return "_".join(letters.split())


def _usual_place(role: str, plain: Sequence[str]) -> int | None:
    return next((plain.index(spelling) for spelling in SPELLINGS[role].split() if spelling in plain), None)


def _given_place(name: str, cells: Sequence[str], plain: Sequence[str]) -> int | None:
    if name in cells:
        return cells.index(name)
    if name.isdecimal():
        return int(name) - 1 if 0 < int(name) <= len(cells) else None
    return plain.index(_plain(name)) if _plain(name) in plain else None


def _entity(line: int, cells: Sequence[str], places: Mapping[str, int], report: ReadReport) -> Entity | None:
    """Make the entity of a row; None, and reported, without an id or without a name."""
    values = {role: cell for role, place in places.items() if (cell := cells[place].strip())}
    id, name = compact(values.pop("id", "")), values.pop("name", "")
    obsolete = values.pop("obsolete", "").lower() in _TRUE
    if not id:
        report.problem("empty id", f"{cells!r:.80}", line)
        return None
    if not name and not obsolete:
        report.problem("empty name", id, line)
        return None
    if not values:
        return Entity(id, name, obsolete=obsolete)
    definition, namespace = values.get("definition", ""), values.get("namespace", "")
    lists: dict[str, Any] = {role: _split(values[role]) for role in (*_IDS, "types", "xrefs") if role in values}
    lists.update({role: tuple(map(compact, lists[role])) for role in _IDS if role in lists})
    synonyms = [Synonym(text, scope) for role, scope in _SCOPES.items() for text in _split(values.get(role, ""))]
    return Entity(id, name, tuple(synonyms), definition, obsolete=obsolete, namespace=namespace, **lists)


def _split(cell: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part for text in cell.split("|") if (part := text.strip()))) if cell else ()


def _translation_filter(header: Sequence[str], places: Mapping[str, int]) -> Callable[[Sequence[str]], str]:
    """Return what tells why a row of a babelon file names nothing ("" if it does); other tables have no such rows."""
    plain = [_plain(cell) for cell in header]
    name, predicate = places["name"], plain.index("predicate_id") if "predicate_id" in plain else -1
    if plain[name] != "translation_value":
        return lambda cells: ""

    def reason(cells: Sequence[str]) -> str:
        if predicate >= 0 and cells[predicate].strip() not in _LABELS:
            return "translation of something else than a label"
        return "not translated" if cells[name].strip() in ("", "NA") else ""

    return reason
