"""What is written: one Parquet row per mention, one line of JSON per document that was set aside."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from spacy.tokens import Doc

from ..components.spans import NIL
from ..documents import GIVEN, mention_records
from ..documents.records import document_id, probability_of
from .reading import Record, Unreadable, plain


class Linked(NamedTuple):
    """The mentions of a document."""

    row: int
    mentions: list[dict[str, Any]]


class Failed(NamedTuple):
    """A document that was set aside, as a line of ``failed/``."""

    row: int
    line: dict[str, Any]


@cache
def schema() -> Any:
    """Return the columns of the output."""
    import pyarrow as pa

    candidate = {"id": pa.string(), "name": pa.string(), "matched": pa.string(), "score": pa.float32()}
    return pa.schema({
        "shard": pa.string(), "row": pa.int64(), "document": pa.string(),
        "start": pa.int32(), "end": pa.int32(), "mention": pa.string(), "label": pa.string(),
        "kb_id": pa.string(), "name": pa.string(), "score": pa.float32(), "probability": pa.float32(),
        "candidates": pa.list_(pa.struct(candidate)),
    })  # fmt: skip


def linked(doc: Doc, record: Record, shard: str, key: str | None, k: int) -> Linked:
    """Return the rows of a linked document."""
    about = {"shard": shard, "row": record.row, "document": document_id(doc)}
    return Linked(record.row, [
        {
            **about,
            **{name: mention[name] for name in ("start", "end", "label", "kb_id")},
            "mention": mention["text"],
            "name": mention.get("name"),
            "score": mention.get("score"),
            "probability": probability_of(mention),
            "candidates": [
                {name: candidate[name] for name in ("id", "name", "matched", "score")}
                for candidate in mention["candidates"][:k]
            ],
        }
        for mention in mention_records(doc, key, k)
    ])  # fmt: skip


def set_aside(record: Record | Unreadable, shard: str, kind: str, error: str, doc: Doc | None = None) -> Failed:
    """Return the line of a document that could not be linked; with its text, so that it may be an input again."""
    own = record.plain
    if doc is not None:
        own = {"id": document_id(doc), "text": doc.text, "mentions": doc.user_data[GIVEN]["mentions"]}
    about = {"shard": shard, "row": record.row, "kind": kind, "error": error}
    return Failed(record.row, plain({**own, **about}))


def batch_of(rows: Iterable[dict[str, Any]]) -> Any:
    """Return rows as an Arrow batch, which takes a small part of their memory."""
    import pyarrow as pa

    return pa.RecordBatch.from_pylist(list(rows), schema=schema())


def counts_of(rows: Iterable[dict[str, Any]]) -> Counter[str]:
    """Count the mentions that have an id, those that were looked up and have none, and those that nobody looked up."""
    return Counter({"": "skipped", NIL: "nil"}.get(row["kb_id"], "linked") for row in rows)


def write_part(path: Path, batches: Iterable[Any]) -> None:
    """Write batches as a Parquet file."""
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.Table.from_batches(batches, schema=schema()), path, compression="zstd")
