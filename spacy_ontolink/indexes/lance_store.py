"""A LanceDB table of row vectors that pipelines share: written as a difference, read at one version."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import uuid
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..errors import Errors, StateError
from ..types import Floats2d

Keys = npt.NDArray[np.int64]
FORMAT = 1
_FACTS = b"ontolink"
_BATCH = 1 << 14  # rows sent at a time
_DELETED = 20_000  # keys named in one statement
_RENEWED = 0.2  # a share of rows beyond the index that makes it worth training again


class Table(NamedTuple):
    """Where a table is: a folder or the address of a bucket (``s3://…``, ``gs://…``, ``az://…``), and its name."""

    uri: str
    name: str

    def __str__(self) -> str:
        return f"the table '{self.name}' in {self.uri}"


class StoredRows(NamedTuple):
    """N rows as the table holds them.

    Attributes:
        key: Tells rows apart, and is equal in every release: a hash of the id, the name and its number.
        content: A hash of all that the row says, by which a changed row is known.
        id, name, kind: Of the entity, the name's text, and the prefix, namespace and types that filters go by.
        vectors: (N, D).
    """

    key: Keys
    content: Keys
    id: pa.Array
    name: pa.Array
    kind: pa.Array
    vectors: np.ndarray

    def reader(self, places: np.ndarray, facts: dict[str, Any]) -> pa.RecordBatchReader:
        """Stream some of the rows, so that millions need no second copy in memory.

        Vectors are widened to single precision, from which LanceDB makes an index six times faster.
        """
        width = self.vectors.shape[1]
        vector = pa.list_(pa.float32(), width)
        types = {"key": pa.int64(), "content": pa.int64(), **dict.fromkeys(("id", "name", "kind"), pa.string())}
        schema = pa.schema([*types.items(), ("vector", vector)]).with_metadata({_FACTS: json.dumps(facts).encode()})

        def batches() -> Iterator[pa.RecordBatch]:
            for start in range(0, len(places), _BATCH):
                some = places[start : start + _BATCH]
                flat = pa.array(np.ascontiguousarray(self.vectors[some], np.float32).ravel())
                texts = [column.take(pa.array(some)).cast(pa.string()) for column in (self.id, self.name, self.kind)]
                columns = [pa.array(self.key[some]), pa.array(self.content[some]), *texts]
                yield pa.record_batch([*columns, pa.FixedSizeListArray.from_arrays(flat, width)], schema=schema)

        return pa.RecordBatchReader.from_batches(schema, batches())


class Written(NamedTuple):
    """What a table was made to hold: its version and mark, and how many rows were added, changed, deleted and left."""

    version: int
    mark: str
    added: int
    changed: int
    deleted: int
    left: int


class Store:
    """One version of a table, open for reading; other processes may go on writing newer ones."""

    def __init__(self, table: Table, version: int) -> None:
        self.table, self.version = table, version
        self._handle: Any = None
        self._process = 0

    def open(self) -> Any:
        """Return LanceDB's table at this version, opened in this process: its threads do not survive a fork.

        Raises:
            StateError: The table or the version is not there.
        """
        if self._process != os.getpid():
            handle = _open(self.table)
            if handle is None:
                raise StateError(Errors.STORE_MISSING.format(table=self.table))
            try:
                handle.checkout(self.version)
            except ValueError as error:
                raise StateError(Errors.STORE_VERSION.format(table=self.table, version=self.version)) from error
            self._handle, self._process = handle, os.getpid()
        return self._handle

    def check(self, mark: str, n_rows: int, dimension: int) -> None:
        """See that this is the table, and holds the rows, that a saved pipeline was built with.

        Raises:
            StateError: It is missing, another one, or of other rows.
        """
        handle = self.open()
        facts, found = _facts(handle, self.table), (handle.count_rows(), _dimension(handle))
        if facts["mark"] != mark or found != (n_rows, dimension):
            raise StateError(Errors.STORE_REPLACED.format(table=self.table))

    def search(
        self, queries: Floats2d, fetch: int, nprobe: int, where: str | None
    ) -> tuple[Keys, npt.NDArray[np.bool_]]:
        """Return the keys of the best rows of each query, best first, and which of these were found, (B, fetch).

        Args:
            queries: (B, D).
            fetch: How many rows.
            nprobe: How many lists to visit.
            where: A condition, applied by the store before it searches.
        """
        search = self.open().search(list(queries), vector_column_name="vector").distance_type("dot")
        search = search.nprobes(max(1, nprobe)).limit(fetch).select(["key", "_distance"])
        try:
            found = (search.where(where, prefilter=True) if where else search).to_arrow()
        except (OSError, RuntimeError, ValueError) as error:
            raise StateError(Errors.STORE_FAILED.format(table=self.table, reason=_first_line(error))) from error
        several = "query_index" in found.column_names
        query = found["query_index"].to_numpy() if several else np.zeros(found.num_rows, np.int32)
        order = np.lexsort((found["_distance"].to_numpy(), query))
        query = query[order]
        place = np.arange(len(query)) - np.searchsorted(query, query)
        keys, known = np.zeros((len(queries), fetch), np.int64), np.zeros((len(queries), fetch), np.bool_)
        keys[query, place], known[query, place] = found["key"].to_numpy()[order], True
        return keys, known

    def keep(self) -> None:
        """Tag this version, which keeps LanceDB from cleaning it up."""
        tags, name = self.open().tags, f"ontolink-{self.version}"
        if name not in tags.list():
            tags.create(name, self.version)


def write(table: Table, rows: StoredRows, facts: dict[str, Any], lists: int, quantiser: str) -> Written:
    """Make a table hold these rows and no others, writing what differs; a table that is not there is created.

    Args:
        table: Where.
        rows: All rows, their keys distinct.
        facts: ``kb``, its name, and ``encoder``, its id.
        lists: How many lists of near rows the index should have, 0 for none.
        quantiser: What the index keeps of a vector: ``none`` for all of it, ``sq8`` for a byte per dimension.

    Raises:
        StateError: The table is another's, of another KB, encoder or dimension, or was written to meanwhile.
    """
    handle, everything = _open(table), np.arange(len(rows.key))
    try:
        if handle is None:
            about = {"format": FORMAT, "mark": uuid.uuid4().hex, **facts}
            data = rows.reader(everything, about)
            handle = load_lancedb().connect(table.uri).create_table(table.name, data=data)
            done = Written(0, about["mark"], len(everything), 0, 0, 0)
        else:
            done = _write_difference(handle, table, rows, facts)
        _renew_index(handle, len(rows.key), lists, quantiser)
    except (OSError, RuntimeError, ValueError) as error:
        if isinstance(error, StateError):
            raise
        message = Errors.STORE_CONFLICT if _is_conflict(error) else Errors.STORE_FAILED
        raise StateError(message.format(table=table, reason=_first_line(error))) from error
    # Whatever others did in between, this version has our rows and no others, or we do not take it.
    version = handle.version
    handle.checkout(version)
    if not _equal(_held(handle), (rows.key, rows.content)):
        raise StateError(Errors.STORE_CONFLICT.format(table=table))
    return done._replace(version=version)


def _write_difference(handle: Any, table: Table, rows: StoredRows, facts: dict[str, Any]) -> Written:
    about = _facts(handle, table)
    if (saved := _dimension(handle)) != rows.vectors.shape[1]:
        raise StateError(Errors.STORE_DIMENSION.format(table=table, saved=saved, given=rows.vectors.shape[1]))
    if about["encoder"] != facts["encoder"]:
        raise StateError(Errors.STORE_ENCODER.format(table=table, saved=about["encoder"], given=facts["encoder"]))
    keys, contents = _held(handle)
    order = np.argsort(keys)
    keys, contents = keys[order], contents[order]
    known = np.isin(rows.key, keys)
    if len(keys) and len(known) and not known.any():
        raise StateError(Errors.STORE_KB.format(table=table, saved=about["kb"], given=facts["kb"]))
    changed = known.copy()
    changed[known] = contents[np.searchsorted(keys, rows.key[known])] != rows.content[known]
    fresh = np.flatnonzero(~known | changed)
    gone = np.setdiff1d(keys, rows.key)
    if len(fresh):
        merge = handle.merge_insert("key").when_matched_update_all().when_not_matched_insert_all()
        merge.execute(rows.reader(fresh, about))
    for start in range(0, len(gone), _DELETED):
        handle.delete(f"key IN ({','.join(map(str, gone[start : start + _DELETED].tolist()))})")
    added = len(known) - int(known.sum())
    n_changed = int(changed.sum())
    return Written(0, about["mark"], added, n_changed, len(gone), len(known) - added - n_changed)


def _renew_index(handle: Any, n_rows: int, lists: int, quantiser: str) -> None:
    """Index the rows if they are not yet, or too many of them: LanceDB compares rows beyond its index one by one."""
    from lancedb.index import IvfFlat, IvfSq

    indexed = {column: index for index in handle.list_indices() for column in index.columns}
    beyond = indexed["vector"].num_unindexed_rows if "vector" in indexed else n_rows
    if not lists or beyond <= _RENEWED * n_rows:
        return
    kind = IvfSq if quantiser == "sq8" else IvfFlat
    handle.create_index("vector", config=kind(distance_type="dot", num_partitions=lists, sample_rate=64), replace=True)


def _held(handle: Any) -> tuple[Keys, Keys]:
    """The keys and contents of all rows."""
    found = handle.search().select(["key", "content"]).limit(None).to_arrow()
    return found["key"].to_numpy(), found["content"].to_numpy()


def _equal(one: tuple[Keys, Keys], other: tuple[Keys, Keys]) -> bool:
    return len(one[0]) == len(other[0]) and all(
        np.array_equal(a[np.argsort(one[0])], b[np.argsort(other[0])]) for a, b in zip(one, other, strict=True)
    )


def _open(table: Table) -> Any:
    """Return LanceDB's table at its latest version, or None if there is none."""
    if "://" not in table.uri and not Path(table.uri).exists():
        return None
    try:
        return load_lancedb().connect(table.uri).open_table(table.name)
    except ValueError as error:
        if "not found" in str(error):
            return None
        raise StateError(Errors.STORE_FAILED.format(table=table, reason=_first_line(error))) from error
    except (OSError, RuntimeError) as error:
        raise StateError(Errors.STORE_FAILED.format(table=table, reason=_first_line(error))) from error


def _facts(handle: Any, table: Table) -> dict[str, Any]:
    """What ``write`` noted of a table.

    Raises:
        StateError: Nothing, so that it is another's.
    """
    with contextlib.suppress(ValueError, RecursionError):
        facts = json.loads((handle.schema.metadata or {}).get(_FACTS, b"null"))
        if isinstance(facts, dict) and facts.get("format") == FORMAT:
            return facts
    raise StateError(Errors.STORE_FOREIGN.format(table=table))


def _dimension(handle: Any) -> int:
    return int(handle.schema.field("vector").type.list_size)


def _is_conflict(error: Exception) -> bool:
    text = str(error).lower()
    return any(sign in text for sign in ("conflict", "already exists", "concurrent"))


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0].rstrip(".")


@functools.cache
def load_lancedb() -> ModuleType:
    """Import LanceDB; its warning of forks does not concern those who open a table anew in every process."""
    import lancedb

    warnings.filterwarnings("ignore", "lancedb fork support", RuntimeWarning)
    module: ModuleType = lancedb
    return module
