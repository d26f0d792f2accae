"""Where a retriever's ontology comes from, and what a saved config may tell of it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError, Errors

if TYPE_CHECKING:
    from ..types import Reader


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


def cache_folder() -> Path:
    """Return the folder of built ontologies: ``ONTOLINK_CACHE``, or else a place in the user's cache."""
    if folder := os.environ.get("ONTOLINK_CACHE"):
        return Path(folder).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("spacy-ontolink")


def names_only(value: Any) -> Any:
    """Reduce absolute paths in a config block to the names of their files: no one else has those folders."""
    if isinstance(value, dict):
        return {key: names_only(item) for key, item in value.items()}
    if isinstance(value, list):
        return [names_only(item) for item in value]
    return Path(value).name if isinstance(value, str) and os.path.isabs(value) else value
