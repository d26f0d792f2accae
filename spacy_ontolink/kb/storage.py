"""A knowledge base as a folder of Arrow files, or as bytes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..checksums import Damage, are_described, damaged, describe_files
from ..errors import Errors, StateError
from ..files import REBUILD, read_checked_json, replacing, write_checked_json
from .arrow import open_table, write_table
from .columns import FORMAT, TABLES, Table

FACTS, FILES = "kb.json", "files"


def save(path: Path, tables: dict[str, Table], facts: dict[str, Any]) -> None:
    """Write the folder ``path``, whole or not at all."""
    with replacing(path) as folder:
        folder.mkdir()
        for name, table in tables.items():
            write_table(table, str(folder / f"{name}.arrow"))
        write_checked_json(folder / FACTS, {**facts, FILES: describe_files(folder)})


def load(path: Path, *, checked: bool = False, whole: bool = False) -> tuple[dict[str, Table], dict[str, Any]]:
    """Open what ``save`` wrote as memory maps.

    Args:
        path: The folder.
        checked: Its files were compared with their checksums just now, as those of a space are.
        whole: Read them whole for that, however large they are.

    Raises:
        StateError: A file is missing, damaged or of another format version.
    """
    facts = _checked(read_checked_json(path / FACTS), str(path / FACTS))
    files = facts.pop(FILES, None)
    if not are_described(files) or len(files) != len(TABLES):
        raise Damage(path / FACTS, "no checksums of the tables").error()
    for damage in damaged(path, {} if checked else files, whole=whole):
        raise damage.error()
    tables = {}
    for name in TABLES:
        file = path / f"{name}.arrow"
        tables[name] = open_table(name, file, str(file), facts["rows"][name])
    return tables, facts


def dump(tables: dict[str, Table], facts: dict[str, Any]) -> bytes:
    """Pack everything into one message."""
    import pyarrow as pa
    import srsly

    parts: dict[str, bytes] = {FACTS: json.dumps(facts).encode()}
    for name, table in tables.items():
        sink = pa.BufferOutputStream()
        write_table(table, sink)
        parts[name] = sink.getvalue().to_pybytes()
    return bytes(srsly.msgpack_dumps(parts))


def parse(data: bytes) -> tuple[dict[str, Table], dict[str, Any]]:
    """Open what ``dump`` packed.

    Raises:
        StateError: The bytes are damaged or of another format version.
    """
    import srsly

    try:
        parts = srsly.msgpack_loads(data)
        facts = json.loads(parts[FACTS])
        sources = {name: bytes(parts[name]) for name in TABLES}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _damaged("knowledge base (bytes)", error) from error
    facts = _checked(facts, "knowledge base (bytes)")
    return {name: open_table(name, sources[name], f"{name} (bytes)", facts["rows"][name]) for name in TABLES}, facts


def _checked(facts: Any, label: str) -> dict[str, Any]:
    try:
        if facts["format"] != FORMAT:
            raise ValueError(f"format {facts['format']}, but this version reads format {FORMAT}")
        wanted = {"name": str, "hash": str, "names": int, "rows": dict, "problems": dict, "stop_synonyms": dict}
        for key, kind in wanted.items():
            if not isinstance(facts[key], kind):
                raise ValueError(f"'{key}' is {facts[key]!r}")
        if not (set(facts["rows"]) >= set(TABLES) and 0 < facts["names"] <= facts["rows"]["names"]):
            raise ValueError("row counts that make no sense")
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(label, error) from error
    return dict(facts)


def _damaged(label: str, error: Exception) -> StateError:
    return StateError(Errors.FILE_DAMAGED.format(path=label, reason=error, rebuild=REBUILD))
