"""The readers by format, and their options, which are the keyword arguments of the functions that read."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from ...errors import ConfigError, Errors
from ...types import Entity

Read = Callable[..., Iterator[Entity]]
Option = str | bool | Sequence[str]

FORMATS = ("obo", "obographs", "owl", "table", "jsonl", "skos", "umls", "mesh", "snomed")
"""Each is read by the function ``read_FORMAT`` of the module of its name."""


def reader_of(format: str) -> Read:
    """Import the function that reads a format."""
    module = importlib.import_module(f".{format}", __package__)
    read: Read = getattr(module, f"read_{format}")
    return read


def options_of(format: str) -> dict[str, Any]:
    """Return the options of a format with their defaults."""
    parameters = inspect.signature(reader_of(format)).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}


def check_options(options: Mapping[str, Option], formats: Collection[str]) -> None:
    """Refuse options that none of the formats has.

    Raises:
        ConfigError: There is one; the message lists those that exist.
    """
    known = {format: of for format in dict.fromkeys(formats) if (of := options_of(format))}
    for name in options:
        if not any(name in of for of in known.values()):
            listed = "; ".join(f"{format}: {', '.join(of)}" for format, of in known.items()) or "none"
            raise ConfigError(Errors.OPTION_UNKNOWN.format(option=name, known=listed))


def fit_options(options: Mapping[str, Option], format: str) -> dict[str, Any]:
    """Return the options that a format has, with the types of their defaults.

    A text may stand for a list, with commas between its items (but not before a space), and for true or false.

    Raises:
        ConfigError: A value is of another kind.
    """
    defaults = options_of(format)
    return {name: _fit(name, value, defaults[name]) for name, value in options.items() if name in defaults}


def _fit(name: str, value: Option, default: Any) -> Any:
    if isinstance(default, tuple):
        items = re.split(r",(?! )", value) if isinstance(value, str) else value
        if not isinstance(items, bool) and all(isinstance(item, str) for item in items):
            return tuple(item.strip() for item in items if item.strip())
        wanted = "a list of texts"
    elif isinstance(default, bool):
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and value.lower() in ("true", "false"):
            return value.lower() == "true"
        wanted = "true or false"
    elif isinstance(value, str):
        return value
    else:
        wanted = "a text"
    raise ConfigError(Errors.SETTING_VALUE.format(setting=name, given=value, wanted=wanted))
