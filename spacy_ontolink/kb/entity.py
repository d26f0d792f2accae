"""One entity put together from the tables."""

from __future__ import annotations

from collections.abc import Mapping

from ..types import SCOPES, Entity, Synonym
from .columns import TABLES, Table


def read_entity(tables: Mapping[str, Table], row: int, n_live: int) -> Entity:
    """Return the entity in a row of ``entities``; its synonyms are those of the name table."""
    entities, names = tables["entities"], tables["names"]
    first = entities.values("first_name")
    start, stop = int(first[row]), int(first[row + 1]) if row + 1 < len(first) else len(names)
    scopes = [SCOPES[code] for code in names.values("scope")[start:stop]]
    texts, kinds = names.slice("text", start, stop), names.slice("type", start, stop)
    counts = names.values("count")[start:stop].tolist()
    synonyms = [Synonym(*parts) for parts in zip(texts, scopes, kinds, counts, strict=True)]
    name = synonyms.pop(0).text if synonyms and synonyms[0].scope == "NAME" else ""
    fields = entities.batch.slice(row, 1).to_pylist()[0]
    lists = {column: tuple(fields[column]) for column, kind in TABLES["entities"].items() if kind == "texts"}
    return Entity(
        id=fields["id"],
        name=name,
        synonyms=tuple(synonyms),
        definition=fields["definition"],
        namespace=fields["namespace"],
        obsolete=row >= n_live,
        **lists,
    )
