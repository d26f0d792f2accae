"""The tables of a knowledge base: their columns, and how they are hashed.

Each table is one record batch, so every numeric column is one stretch of the file, seen by numpy without a copy.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..types import Ints1d

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = 3
TABLES: dict[str, dict[str, str]] = {
    # One row per entity: the live ones in KB order, then the obsolete ones. ``first_name`` points into ``names``.
    "entities": {"id": "text", "definition": "text", "namespace": "text", "prefix": "label", "first_name": "int32",
                 "parents": "texts", "alt_ids": "texts", "replaced_by": "texts", "consider": "texts",
                 "xrefs": "texts", "types": "texts"},
    # One row per name, owners ascending: names of obsolete entities come last and are not indexed. ``count`` is how
    # many annotated mentions gave the name to its owner.
    "names": {"text": "text", "owner": "int32", "scope": "uint8", "type": "label", "count": "int32"},
    # One row per live entity: numbers of its live is-a parents and children, ascending.
    "hierarchy": {"parents": "numbers", "children": "numbers"},
    # One row per own or alt id, by hash: its row in ``entities`` and the live entity it leads to (or -1).
    "ids": {"hash": "uint64", "text": "text", "alt": "uint8", "row": "int32", "number": "int32"},
    # One row per live name, by hash of its normalised text, primary names first.
    "lookup": {"hash": "uint64", "position": "int32"},
}  # fmt: skip
CONTENT = ("entities", "names")
"""The tables that the content hash covers; the others follow from them."""


class Csr(NamedTuple):
    """Compressed sparse rows: row ``r`` holds ``indices[indptr[r]:indptr[r + 1]]``."""

    indptr: Ints1d
    indices: Ints1d

    def row(self, number: int) -> Ints1d:
        """Return one row."""
        return self.indices[self.indptr[number] : self.indptr[number + 1]]


class Table:
    """Read one record batch: numbers as views, texts as Python strings only where asked for."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self.batch = batch

    def __len__(self) -> int:
        return int(self.batch.num_rows)

    def array(self, column: str) -> Any:
        """Return a column as an Arrow array."""
        return self.batch.column(self.batch.schema.get_field_index(column))

    def values(self, column: str) -> Any:
        """Return a numeric column, or the codes of a label column, as a read-only numpy view, (rows,)."""
        array = self.array(column)
        return getattr(array, "indices", array).to_numpy()

    def labels(self, column: str) -> list[str]:
        """Return the distinct values of a label column, in order of their codes."""
        return list(self.array(column).dictionary.to_pylist())

    def text(self, column: str, row: int) -> str:
        """Return one text."""
        return str(self.array(column)[row].as_py())

    def take(self, column: str, rows: np.ndarray) -> list[str]:
        """Return the texts of some rows."""
        import pyarrow as pa

        return list(self.array(column).take(pa.array(rows)).to_numpy(zero_copy_only=False))

    def slice(self, column: str, start: int, stop: int) -> list[str]:
        """Return the texts of a stretch of rows."""
        return list(self.array(column)[start:stop].to_numpy(zero_copy_only=False))

    def csr(self, column: str) -> Csr:
        """Return a column of number lists as views of its offsets and its numbers."""
        array = self.array(column)
        return Csr(array.offsets.to_numpy(), array.values.to_numpy())


def field_type(kind: str) -> pa.DataType:
    """Return the Arrow type of a kind of column. Large types: one column may hold more than 2 GB of text."""
    import pyarrow as pa

    text = pa.large_string()
    types = {
        "text": text,
        "texts": pa.large_list(text),
        "label": pa.dictionary(pa.int32(), text),
        "numbers": pa.list_(pa.int32()),
        "int32": pa.int32(),
        "uint8": pa.uint8(),
        "uint64": pa.uint64(),
    }
    return types[kind]


def column_array(values: Iterable[Any], kind: str) -> pa.Array:
    """Make an Arrow array; lone surrogates, which UTF-8 cannot hold, become U+FFFD."""
    import pyarrow as pa

    try:
        return pa.array(values, field_type(kind))
    except UnicodeEncodeError:
        return pa.array([_encodable(value) for value in values], field_type(kind))


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return "".join("\ufffd" if "\ud800" <= letter <= "\udfff" else letter for letter in value)
    return [_encodable(text) for text in value]


def make_table(name: str, columns: Mapping[str, Any]) -> Table:
    """Put Arrow or numpy columns together, in the order and with the types of ``TABLES[name]``."""
    import pyarrow as pa

    arrays, fields = [], []
    for column, kind in TABLES[name].items():
        array = columns[column]
        arrays.append(pa.array(array, field_type(kind)) if isinstance(array, np.ndarray) else array)
        fields.append(pa.field(column, field_type(kind), nullable=False))
    return Table(pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields)))


def offsets_of(array: Any) -> Any:
    """Return the offsets of a text or list array, None for numbers."""
    import pyarrow as pa

    if pa.types.is_large_string(array.type):
        buffer = array.buffers()[1]
        stop = array.offset + len(array) + 1
        return np.frombuffer(buffer, np.int64)[array.offset : stop] if buffer else np.zeros(1, np.int64)
    return array.offsets.to_numpy() if hasattr(array, "offsets") else None


def text_lengths(array: Any) -> np.ndarray:
    """Return the length of each text in bytes, of each list in items, (rows,)."""
    return np.diff(offsets_of(array))


def content_hash(tables: Mapping[str, Table]) -> str:
    """Hash the content of a knowledge base: every column value in order, whatever the file around it looks like.

    Counts of annotated mentions are content only where there are any, so that an ontology alone has one hash for good.
    """
    digest = hashlib.sha256()
    for name in CONTENT:
        for column, kind in TABLES[name].items():
            if column == "count" and not tables[name].values(column).any():
                continue
            digest.update(f"{name}.{column}:{kind}:{len(tables[name])};".encode())
            for part in _parts(tables[name].array(column)):
                digest.update(f"{len(part)};".encode())
                digest.update(part)
    return digest.hexdigest()


def _parts(array: Any) -> Sequence[bytes | memoryview]:
    """Split an array into stretches of bytes that fix its values, little-endian."""
    if hasattr(array, "dictionary"):
        return [*_parts(array.indices), *_parts(array.dictionary)]
    offsets = offsets_of(array)
    if offsets is None:
        return [_little(array.to_numpy())]
    if hasattr(array, "values"):
        return [_little(np.diff(offsets)), *_parts(array.flatten())]
    data = array.buffers()[2]
    return [_little(np.diff(offsets)), memoryview(data)[offsets[0] : offsets[-1]] if data else b""]


def _little(values: np.ndarray) -> memoryview:
    return np.ascontiguousarray(values, values.dtype.newbyteorder("<")).data.cast("B")
