"""Ids with a prefix that the file does not give them, as annotated corpora often have them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from ...types import Entity

_LISTS = ("parents", "alt_ids", "replaced_by", "consider")


def with_prefix(entities: Iterable[Entity], prefix: str) -> Iterator[Entity]:
    """Put a prefix such as ``MESH:`` before every id of the entities and those that they refer to."""
    for entity in entities:
        if prefix:
            lists: dict[str, Any] = {
                name: tuple(prefix + id for id in ids) for name in _LISTS if (ids := getattr(entity, name))
            }
            entity = replace(entity, id=prefix + entity.id, **lists)
        yield entity
