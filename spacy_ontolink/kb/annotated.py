"""Annotated mentions as names: what people call an entity, and how often, which decides where entities share a name."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import DataError, Errors, Warnings
from ..text import in_brief, normalise
from .columns import column_array, content_hash, make_table
from .hashing import hash_texts
from .knowledge_base import KnowledgeBase
from .names import EXACT, Names
from .readers.sources import open_bytes

logger = logging.getLogger(__name__)

TRAIN = "train"
"""The synonym type of a name that only mentions have given."""


class AnnotatedName(NamedTuple):
    """A text that mentions have, the entity that they mean, and how many there are."""

    text: str
    id: str
    times: int = 1


def read_names(path: str | Path) -> Iterator[AnnotatedName]:
    """Stream the names of a JSONL file of documents with mentions, or of names with an ``id`` and perhaps a ``count``.

    A mention with several ids is a name of each; one without is passed over.

    Raises:
        OntologyError: The file is missing or cannot be read.
        DataError: A line holds neither; the message says which. Or no line has a name with an id.
    """
    path, found = Path(path), False
    with open_bytes(path) as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                for name in _names_of(json.loads(line)):
                    found = True
                    yield name
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                reason = f"neither a document with 'mentions' nor a name with 'text' and 'id' ({in_brief(error)})"
                raise DataError(Errors.BAD_LINE.format(path=path, line=number, reason=reason)) from error
    if not found:
        raise DataError(Errors.NO_MENTIONS.format(path=path, verb="take for a name", hint=Errors.NO_GOLD_HINT))


def _names_of(row: dict[str, Any]) -> Iterator[AnnotatedName]:
    if "mentions" not in row:
        if not (isinstance(row["text"], str) and isinstance(row["id"], str)):
            raise ValueError(row)
        yield AnnotatedName(row["text"], row["id"], int(row.get("count", 1)))
        return
    for mention in row["mentions"] or ():
        text = mention["text"] if "text" in mention else row["text"][mention["start"] : mention["end"]]
        ids = mention.get("kb_ids") or []
        for id in dict.fromkeys([ids] if isinstance(ids, str) else ids):
            yield AnnotatedName(text, id)


def names_of(kb: KnowledgeBase) -> Iterator[AnnotatedName]:
    """Return the names of a knowledge base that mentions have given, as they were added."""
    places = np.flatnonzero(kb.name_count)
    ids = kb.ids_of(kb.name_owner[places])
    for text, id, count in zip(kb.texts_of(places), ids, kb.name_count[places].tolist(), strict=True):
        yield AnnotatedName(text, id, count)


def add_names(kb: KnowledgeBase, names: Iterable[AnnotatedName]) -> KnowledgeBase:
    """Return the same knowledge base with names that mentions have given, and with counts of those that it had already.

    New names are EXACT and of the type ``TRAIN``. Old ids lead to today's entity; names of ids that lead nowhere are
    left out, counted among the problems and logged once.
    """
    counts: Counter[tuple[int, str]] = Counter()
    spelled: dict[tuple[int, str], str] = {}
    numbers: dict[str, int] = {}
    lost: Counter[str] = Counter()
    for name in names:
        if name.id not in numbers:
            live = kb.resolve(name.id)
            numbers[name.id] = -1 if live is None else kb.number_of(live)
        key = numbers[name.id], normalise(name.text)
        if key[0] < 0:
            lost[name.id] += 1
        elif key[1]:
            counts[key] += name.times
            spelled.setdefault(key, " ".join(name.text.split()))
    if lost:
        logger.warning(Warnings.NAMES_LOST.format(n=lost.total(), name=kb.name, examples=", ".join([*lost][:5])))
    added = _merge(kb, counts, spelled)
    added.facts["problems"] |= {"annotated with an unknown id": lost.total()} if lost else {}
    return added


def _merge(kb: KnowledgeBase, counts: Counter[tuple[int, str]], spelled: dict[tuple[int, str], str]) -> KnowledgeBase:
    """Count the names that are there, append the others to those of their entities, and make the tables again."""
    import pyarrow as pa

    table, entities = kb.tables["names"], kb.tables["entities"]
    texts = sorted({text for _, text in counts})
    query, position = kb.exact_names(texts)
    there = {(int(kb.name_owner[p]), texts[q]): int(p) for q, p in zip(query, position, strict=True)}
    count = np.array(table.values("count"))
    for key in counts.keys() & there.keys():
        count[there[key]] += counts[key]
    new = sorted(counts.keys() - there.keys())
    labels = table.labels("type")
    type_labels = labels if TRAIN in labels else [*labels, TRAIN]
    keys = np.zeros(len(table), np.uint64)
    keys[kb.tables["lookup"].values("position")] = kb.tables["lookup"].values("hash")
    names = Names(
        source=np.arange(len(table) + len(new)),
        owner=np.concatenate([table.values("owner"), np.array([number for number, _ in new], np.int32)]),
        scope=np.concatenate([table.values("scope"), np.full(len(new), EXACT, np.uint8)]),
        type=np.concatenate([table.values("type"), np.full(len(new), type_labels.index(TRAIN), np.int32)]),
        key=np.concatenate([keys, hash_texts([text for _, text in new])]),
        times=np.concatenate([count, np.array([counts[pair] for pair in new], np.int32)]),
        texts=pa.concat_arrays([table.array("text"), column_array([spelled[pair] for pair in new], "text")]),
        type_labels=type_labels,
    )
    names = names.keep(np.argsort(names.owner, kind="stable"))
    n_names = kb.n_names + len(new)
    first = np.searchsorted(names.owner, np.arange(len(entities))).astype(np.int32)
    columns = {column: entities.array(column) for column in entities.batch.schema.names}
    tables = {
        **kb.tables,
        "entities": make_table("entities", {**columns, "first_name": first}),
        "names": names.to_table(),
        "lookup": names.lookup(n_names),
    }
    facts = {
        **kb.facts,
        "hash": content_hash(tables),
        "names": n_names,
        "rows": {name: len(rows) for name, rows in tables.items()},
        "problems": dict(kb.facts["problems"]),
    }
    return KnowledgeBase(tables, facts)
