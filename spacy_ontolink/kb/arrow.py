"""Write and open tables as Arrow IPC files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..errors import Errors, StateError
from ..files import REBUILD
from .columns import TABLES, Table, field_type, offsets_of


def write_table(table: Table, sink: Any) -> None:
    """Write a table as an Arrow IPC file to a path (as text) or an Arrow output stream."""
    import pyarrow as pa

    with pa.ipc.new_file(sink, table.batch.schema) as writer:
        writer.write_batch(table.batch)


def open_table(name: str, source: Path | bytes, label: str, rows: int) -> Table:
    """Open a table over a memory map or over bytes in memory; texts and numbers are not copied.

    Raises:
        StateError: It is missing, cut short, has other columns or another number of rows than ``rows``, or offsets
            that lead out of it. The message names ``label``. (Changed bytes inside a value are for a checksum to find.)
    """
    import pyarrow as pa

    try:
        buffer = pa.py_buffer(source) if isinstance(source, bytes) else pa.memory_map(str(source))
        reader = pa.ipc.open_file(buffer)
        expected = [(column, field_type(kind)) for column, kind in TABLES[name].items()]
        if [(field.name, field.type) for field in reader.schema] != expected:
            raise ValueError(f"unexpected columns {reader.schema.names}")
        if reader.num_record_batches != 1:
            raise ValueError(f"{reader.num_record_batches} record batches instead of 1")
        batch = reader.get_batch(0)
        if batch.num_rows != rows:
            raise ValueError(f"{batch.num_rows} rows instead of {rows}")
        for array, kind in zip(batch.columns, TABLES[name].values(), strict=True):
            _check_offsets(array)
            if kind == "numbers":  # row numbers of this table: scipy would not check them
                _check_range(array.values.to_numpy(), rows)
    except FileNotFoundError as error:
        raise StateError(Errors.FILE_DAMAGED.format(path=label, reason="missing", rebuild=REBUILD)) from error
    except (OSError, ValueError, pa.ArrowException) as error:
        raise StateError(Errors.FILE_DAMAGED.format(path=label, reason=error, rebuild=REBUILD)) from error
    return Table(batch)


def _check_offsets(array: Any) -> None:
    """Refuse offsets that would make a read leave its buffer: Arrow itself would not notice, but crash."""
    array.validate()
    if array.null_count:
        raise ValueError("missing values")
    if hasattr(array, "dictionary"):
        _check_offsets(array.dictionary)
        _check_range(array.indices.to_numpy(), len(array.dictionary))
        return
    offsets = offsets_of(array)
    if offsets is not None and len(offsets) and (offsets[0] < 0 or (offsets[1:] < offsets[:-1]).any()):
        raise ValueError("offsets that go backwards")
    if hasattr(array, "values"):
        _check_offsets(array.values)


def _check_range(numbers: np.ndarray, size: int) -> None:
    if len(numbers) and not 0 <= numbers.min() <= numbers.max() < size:
        raise ValueError(f"numbers outside of 0 to {size - 1}")
