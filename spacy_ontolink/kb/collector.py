"""Take entities one by one and keep them as Arrow chunks, so that few Python objects live at any time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..text import normalise
from ..types import NIL, SCOPES, Entity
from .columns import TABLES, column_array
from .hashing import Hashes, hash_texts
from .hierarchy import Problem

CHUNK = 16_384
ENTITY_FIELDS = ("id", "definition", "namespace", "parents", "alt_ids", "replaced_by", "consider", "xrefs", "types")
OBSOLETE, MARKED = 1, 2
"""Codes of the synonym types that are made here: names of former entities, and those that say so themselves."""
_MARK = re.compile(r"obsolete[\s_:.-]+", re.IGNORECASE)
_SCOPE_CODES = {scope: code for code, scope in enumerate(SCOPES)}


class Collected(NamedTuple):
    """All entities as read: ``R`` records and their names, in the order of reading."""

    records: dict[str, Any]  # Arrow arrays (R,) of ENTITY_FIELDS
    obsolete: np.ndarray  # bool, (R,)
    n_names: np.ndarray  # names of each record, (R,)
    texts: Any  # Arrow text array of all names
    keys: Hashes  # hashes of the normalised names
    scopes: np.ndarray  # uint8
    types: np.ndarray  # int32, positions in ``type_labels``
    type_labels: list[str]


class Collector:
    """Gather entities; entities without a name of their own are left out and counted."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.nameless: Counter[str] = Counter()  # by prefix
        self._type_codes: dict[str, int] = {"": 0, "obsolete": OBSOLETE, "marked obsolete": MARKED}
        self._chunks: dict[str, list[Any]] = {column: [] for column in (*ENTITY_FIELDS, "texts")}
        self._arrays: dict[str, list[np.ndarray]] = {
            "obsolete": [],
            "n_names": [],
            "keys": [],
            "scopes": [],
            "types": [],
        }
        self._clear()

    def _clear(self) -> None:
        self._entities: list[Entity] = []
        self._counts: list[int] = []
        self._texts: list[str] = []
        self._normal: list[str] = []
        self._scopes: list[int] = []
        self._types: list[int] = []

    def add(self, entity: Entity) -> None:
        """Take one entity; white space in names is collapsed and its ends are cut off."""
        name = " ".join(entity.name.split())
        normal = normalise(name)
        if not normal or _is_own_id(name, entity.id):
            if not entity.obsolete:
                self.nameless[entity.id.rpartition(":")[0].partition(":")[0]] += 1
                self.problem("entity without a name", entity.id)
                return
            normal = ""
        if entity.id in ("", NIL):
            self.problem(f"entity with the id {NIL}, which means none" if entity.id else "entity without an id", name)
            return
        before = len(self._texts)
        codes = self._type_codes
        if normal and entity.obsolete and (mark := _MARK.match(name)) and normalise(name[mark.end() :]):
            # "obsolete fat yield" was "fat yield" when texts were written: that is the name to hand on.
            self._add_name(name, normal, 0, MARKED)
            self._add_name(name[mark.end() :], normalise(name[mark.end() :]), _SCOPE_CODES["RELATED"], OBSOLETE)
        elif normal:
            self._add_name(name, normal, 0, 0)
        for synonym in entity.synonyms:
            text = " ".join(synonym.text.split())
            if normal := normalise(text):
                # A synonym cannot claim to be the primary name.
                self._add_name(
                    text, normal, _SCOPE_CODES[synonym.scope] or 1, codes.setdefault(synonym.type, len(codes))
                )
        self._entities.append(entity)
        self._counts.append(len(self._texts) - before)
        if len(self._texts) >= CHUNK or len(self._entities) >= CHUNK:
            self._flush()

    def _add_name(self, text: str, normal: str, scope: int, kind: int) -> None:
        self._texts.append(text)
        self._normal.append(normal)
        self._scopes.append(scope)
        self._types.append(kind)

    def _flush(self) -> None:
        for column in ENTITY_FIELDS:
            values = [getattr(entity, column) for entity in self._entities]
            self._chunks[column].append(column_array(values, TABLES["entities"][column]))
        self._chunks["texts"].append(column_array(self._texts, "text"))
        self._arrays["obsolete"].append(np.array([entity.obsolete for entity in self._entities], np.bool_))
        self._arrays["n_names"].append(np.array(self._counts, np.int32))
        self._arrays["keys"].append(hash_texts(self._normal))
        self._arrays["scopes"].append(np.array(self._scopes, np.uint8))
        self._arrays["types"].append(np.array(self._types, np.int32))
        self._clear()

    def finish(self) -> Collected:
        """Join the chunks; the collector is empty afterwards."""
        self._flush()
        records = {column: _join(self._chunks[column]) for column in ENTITY_FIELDS}
        texts = _join(self._chunks["texts"])
        arrays = {column: np.concatenate(parts) for column, parts in self._arrays.items()}
        self._arrays.clear()
        return Collected(records=records, texts=texts, type_labels=list(self._type_codes), **arrays)


def _is_own_id(name: str, id: str) -> bool:
    """Whether a name only repeats the id; an id that is a plain word, as in lists of drugs, is a name as well."""
    return (":" in id or "_" in id) and name in (id, id.replace(":", "_"))


def _join(chunks: list[Any]) -> Any:
    """Concatenate Arrow chunks and let go of them."""
    import pyarrow as pa

    array = pa.concat_arrays(chunks)
    chunks.clear()
    return array


def release_unused() -> None:
    """Give back to the system what Arrow keeps of the memory of arrays that are gone."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()


def select(array: Any, rows: np.ndarray) -> Any:
    """Take rows of an Arrow array; all of them in order cost nothing."""
    import pyarrow as pa

    if len(rows) == len(array) and (rows == np.arange(len(rows))).all():
        return array
    return array.take(pa.array(rows))


def strings(array: Any, rows: Sequence[int] | np.ndarray) -> list[str]:
    """Return some texts of an Arrow array as Python strings."""
    return list(select(array, np.asarray(rows, np.int64)).to_numpy(zero_copy_only=False))
