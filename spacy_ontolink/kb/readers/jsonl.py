"""JSON Lines: one entity per line, in this project's own fields or as a concept of scispaCy's knowledge bases."""

from __future__ import annotations

import json
import reprlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...errors import Errors, OntologyError
from ...types import SCOPES, Entity, Scope, Synonym
from .report import ReadReport
from .sources import read_lines, tidy

_LISTS = ("parents", "alt_ids", "replaced_by", "consider", "xrefs", "types")


def read_jsonl(path: Path, report: ReadReport) -> Iterator[Entity]:
    """Yield the rows of a JSON Lines file.

    Fields are ``id``, ``name``, ``synonyms`` (texts, which are EXACT, or objects with ``text`` or ``name``, ``scope``
    and ``type``), ``definition``, ``namespace``, ``obsolete`` and the lists of ``Entity``; or scispaCy's
    ``concept_id``, ``canonical_name``, ``aliases``, ``definition`` and ``types``. Other fields are passed over; null
    is an absent one.

    Raises:
        OntologyError: No line holds an object with an id; in a strict report, the first problem.
    """
    found = False
    for number, line in read_lines(path, report):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            report.problem("not JSON", str(error), number)
            continue
        if isinstance(row, dict):
            if (entity := _Row(row, number, report).entity()) is not None:
                found = True
                yield entity
        else:
            report.problem("not an object", line, number)
    if not found:
        reason = report.summary() or "there is no row in it"
        raise OntologyError(Errors.NOT_THIS_FORMAT.format(path=path, format="JSON Lines of entities", reason=reason))


class _Row:
    """One line, with where to complain about it."""

    def __init__(self, row: dict[str, Any], line: int, report: ReadReport) -> None:
        self.row, self.line, self.report = row, line, report

    def entity(self) -> Entity | None:
        id_ = self._text("id", "concept_id")
        if not id_:
            self._problem("row without an id", reprlib.repr(self.row))
            return None
        obsolete = self.row.get("obsolete")
        if not isinstance(obsolete, bool | None):
            self._problem("'obsolete' is neither true nor false", reprlib.repr(obsolete))
        return Entity(
            id=id_,
            name=self._text("name", "canonical_name"),
            synonyms=tuple(self._synonyms()),
            definition=self._text("definition"),
            namespace=self._text("namespace"),
            obsolete=obsolete is True,
            **{field: self._texts(field) for field in _LISTS},
        )

    def _problem(self, kind: str, detail: str) -> None:
        self.report.problem(kind, detail, self.line)

    def _value(self, *fields: str) -> tuple[str, Any]:
        """Return the first field that the row has, and its value."""
        return next(
            ((field, self.row[field]) for field in fields if self.row.get(field) is not None), (fields[0], None)
        )

    def _text(self, *fields: str) -> str:
        field, value = self._value(*fields)
        if value is None:
            return ""
        if (text := _as_text(value)) is None:
            self._problem(f"'{field}' is no text", reprlib.repr(value))
        return text or ""

    def _list(self, *fields: str) -> list[Any]:
        field, value = self._value(*fields)
        if isinstance(value, list):
            return value
        if _as_text(value) is not None:
            return [value]
        if value is not None:
            self._problem(f"'{field}' is no list", reprlib.repr(value))
        return []

    def _texts(self, field: str) -> tuple[str, ...]:
        texts: dict[str, None] = {}
        for value in self._list(field):
            if text := _as_text(value):
                texts[text] = None
            else:
                self._problem(f"'{field}' holds something else than texts", reprlib.repr(value))
        return tuple(texts)

    def _synonyms(self) -> Iterator[Synonym]:
        for item in self._list("synonyms", "aliases"):
            parts = item if isinstance(item, dict) else {"text": item}
            text, type_ = _as_text(parts.get("text", parts.get("name"))), _as_text(parts.get("type") or "")
            if not text or type_ is None:
                self._problem("malformed synonym", reprlib.repr(item))
                continue
            yield Synonym(text, self._scope(parts.get("scope")), type_)

    def _scope(self, value: Any) -> Scope:
        if value is None:
            return "EXACT"
        scope = next((s for s in SCOPES[1:] if isinstance(value, str) and s == value.upper()), None)
        if scope is None:
            self._problem("unknown synonym scope, read as RELATED", reprlib.repr(value))
        return scope or "RELATED"


def _as_text(value: Any) -> str | None:
    """Return a text, tidied, or an integer as a text, since ids are often written as numbers; None for all else."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return tidy(value) if isinstance(value, str) else None
