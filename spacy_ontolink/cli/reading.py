"""The options of commands that say how an ontology is to be read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from ..errors import ConfigError, Errors

OntologyFormat = Literal["obo", "obographs", "owl", "table", "jsonl", "skos", "umls", "mesh", "snomed"]
READING = ("format", "columns", "option", "strict")
COLUMNS_HELP = "Columns of a table: id=ID,name=LABEL,synonyms=OTHERS,…"
OPTION_HELP = "Of the format, such as languages=ENG,SPA or types=T047; may be repeated. docs/ontologies.md has all."


def reading_settings(
    format: str | None, columns: str | None, option: Sequence[str] | None, strict: bool
) -> dict[str, Any]:
    """Put the options of the command line that say how to read an ontology together.

    Raises:
        ConfigError: One is no list of columns, or no option.
    """
    return {"format": format, "strict": strict, "columns": _columns(columns), "options": parse_options(option or ())}


def parse_options(texts: Sequence[str]) -> dict[str, str]:
    """Read options such as ``languages=ENG,SPA``; one that is repeated adds to the list.

    Raises:
        ConfigError: There is no name or no "=" in one.
    """
    options: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise ConfigError(Errors.BAD_OPTION.format(text=text))
        before = options.get(name.strip())
        options[name.strip()] = value.strip() if before is None else f"{before},{value.strip()}"
    return options


def _columns(text: str | None) -> dict[str, str] | None:
    if text is None:
        return None
    pairs = [part.partition("=") for part in text.split(",")]
    if not all(role.strip() and column.strip() for role, _, column in pairs):
        raise ConfigError(Errors.BAD_COLUMNS.format(text=text))
    return {role.strip(): column.strip() for role, _, column in pairs}
