"""Where a retriever's ontology comes from, and what a saved config may tell of it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError, Errors
from ..registry import saving_of
from ..text import shown

if TYPE_CHECKING:
    from ..types import Reader

_VARIABLE = re.compile(r"\$\{([\w.:]+)\}")


def check_ontology(ontology: str | Sequence[str] | None) -> list[Path]:
    """Return the ontology's files as absolute paths, since the working directory may change before they are read.

    Raises:
        ConfigError: One does not exist.
    """
    names = [ontology] if isinstance(ontology, str | os.PathLike) else ontology or []
    paths = [Path(name).expanduser().absolute() for name in names]
    for name, path in zip(names, paths, strict=True):
        if not path.exists():
            raise ConfigError(Errors.FILE_MISSING.format(path=name))
    return paths


def make_reader(paths: Sequence[Path]) -> Reader:
    """Make the reader of these files, merged into one KB."""
    from ..kb.readers import make_ontology_reader

    return make_ontology_reader([str(path) for path in paths] if len(paths) > 1 else str(paths[0]))


def files_of(reader: Reader) -> list[Path]:
    """Return the files that a reader says it reads; one need not say."""
    paths = getattr(reader, "paths", [])
    return [Path(path) for path in ([paths] if isinstance(paths, str) else paths)]


def variables(value: Any) -> set[str]:
    """Return the variables in a config block, such as ``paths.ontology``, that may hold paths."""
    if isinstance(value, dict):
        names = saving_of(value).as_given
        value = [item for key, item in value.items() if key not in names]
    items = value if isinstance(value, list) else ()
    own = set(_VARIABLE.findall(value)) if isinstance(value, str) else set()
    return own.union(*map(variables, items))


def forget_folders(config: dict[str, Any], names: Iterable[str]) -> None:
    """Apply ``names_only`` to the values of these variables, and of the variables that they are made of."""
    for name in names:
        *sections, key = re.split("[.:]", name)
        section: Any = config
        for part in sections:
            section = section.get(part) if isinstance(section, dict) else None
        if isinstance(section, dict) and key in section:
            forget_folders(config, variables(section[key]))
            section[key] = names_only(section[key])


def names_only(value: Any) -> Any:
    """Reduce absolute paths in a config block to ``./NAME``: no one else has those folders.

    A bare name could be taken for that of a model on a hub, and be fetched. A part may say that a setting is no path,
    or means nothing elsewhere (``registry.saves``).
    """
    if isinstance(value, dict):
        names, ours = saving_of(value)
        known = {key: item if key in names else names_only(item) for key, item in value.items()}
        return known | dict.fromkeys(ours & known.keys())
    if isinstance(value, list):
        return [names_only(item) for item in value]
    return f"./{shown(Path(value).name)}" if isinstance(value, str) and os.path.isabs(value) else value
