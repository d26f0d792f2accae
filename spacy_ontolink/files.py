"""Files of the library's own making: JSON, arrays opened as memory maps, packed folders, checksums."""

from __future__ import annotations

import hashlib
import json
import math
import mmap
import os
import shutil
import struct
import tempfile
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path, PureWindowsPath
from typing import Any, TypeVar

import numpy as np

from .atomic import replacing as replacing
from .errors import Errors, StateError

REBUILD = "ontolink build ONTOLOGY OUT"
_DTYPES = {"F16": "<f2", "F32": "<f4", "F64": "<f8", "BOOL": "|b1", "I8": "|i1", "I16": "<i2", "I32": "<i4",
           "I64": "<i8", "U8": "|u1", "U16": "<u2", "U32": "<u4", "U64": "<u8"}  # fmt: skip
_CHECKSUM = "checksum"
_MAX_HEADER = 100_000_000
_WRITTEN = 64 << 20  # bytes at a time, so that no more of a mapped array is in memory
T = TypeVar("T")


def cache_folder() -> Path:
    """Return the folder of what may be made again: ``ONTOLINK_CACHE``, or else a place in the user's cache."""
    if folder := os.environ.get("ONTOLINK_CACHE"):
        return Path(folder).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("spacy-ontolink")


def safe_join(folder: Path, name: str) -> Path:
    """Join a relative name that a saved file gives to its folder.

    Raises:
        StateError: On some system the name would lead out of the folder, or is none.
    """
    path = PureWindowsPath(name)  # knows drives and both slashes
    if path.drive or path.root or not path.parts or ".." in path.parts or "\\" in name or "\0" in name:
        reason = f"{name!r} is not the name of a file in it"
        raise StateError(Errors.FILE_DAMAGED.format(path=folder, reason=reason, rebuild=REBUILD))
    return folder / name


def pack(write: Callable[[Path], None]) -> bytes:
    """Return as bytes the files that ``write`` puts into the folder it is given."""
    import srsly

    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "packed"
        write(folder)
        files = {f.relative_to(folder).as_posix(): f.read_bytes() for f in folder.rglob("*") if f.is_file()}
    packed: bytes = srsly.msgpack_dumps(files)
    return packed


def unpack(data: bytes, load: Callable[[Path], T]) -> T:
    """Put packed files into a temporary folder and return what ``load`` makes of it; the folder lives as long as that.

    Raises:
        StateError: A file's name leads out of the folder.
    """
    import srsly

    folder = Path(tempfile.mkdtemp(prefix="ontolink-"))
    try:
        for name, content in srsly.msgpack_loads(data).items():
            file = safe_join(folder, name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        loaded = load(folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(loaded, _remove, folder, os.getpid())
    return loaded


def _remove(folder: Path, owner: int) -> None:
    """Remove the folder, unless this is a fork of the process that made it and still uses it."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


def sha256(path: Path) -> str:
    """Return the hex SHA-256 of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def write_json(path: Path, value: Any) -> None:
    """Write a plain value as indented JSON."""
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def read_json(path: Path) -> Any:
    """Read a JSON file of the library's own making.

    Raises:
        StateError: The file is missing or not JSON.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise StateError(Errors.FILE_DAMAGED.format(path=path, reason="missing", rebuild=REBUILD)) from error
    except (ValueError, OSError, RecursionError) as error:
        raise StateError(Errors.FILE_DAMAGED.format(path=path, reason=error, rebuild=REBUILD)) from error


def write_checked_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write a part's settings with a checksum of them."""
    write_json(path, {**value, _CHECKSUM: _digest(value)})


def read_checked_json(path: Path) -> dict[str, Any]:
    """Read what ``write_checked_json`` wrote.

    Raises:
        StateError: The file is missing or not JSON, or a value was changed in it.
    """
    value = read_json(path)
    checksum = value.pop(_CHECKSUM, None) if isinstance(value, dict) else None
    if checksum is None or checksum != _digest(value):
        reason = "its checksum differs" if checksum is not None else "no checksum in it"
        raise StateError(Errors.FILE_DAMAGED.format(path=path, reason=reason, rebuild=REBUILD))
    checked: dict[str, Any] = value
    return checked


def _digest(value: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def write_tensors(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write named arrays as one safetensors file, straight from memory: the library would copy them all first."""
    names = {np.dtype(code): name for name, code in _DTYPES.items()}
    header: dict[str, Any] = {}
    at = 0
    for name, array in arrays.items():
        header[name] = {
            "dtype": names[array.dtype.newbyteorder("<")],
            "shape": list(array.shape),
            "data_offsets": [at, at := at + array.nbytes],
        }
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for array in arrays.values():
            content = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(-1).view(np.uint8)
            for start in range(0, len(content), _WRITTEN):
                file.write(content[start : start + _WRITTEN].data)
                leave_pages(array)


def leave_pages(array: np.ndarray) -> None:
    """Let go of the pages of a mapped file that this process has read; other arrays stay as they are.

    They come back when they are touched. Passing once through a file larger than memory needs no more room for that.
    """
    mapped: Any = array
    while mapped is not None and not isinstance(mapped, mmap.mmap):
        mapped = getattr(mapped, "base", None)
    if mapped is not None and hasattr(mmap, "MADV_DONTNEED"):  # not on Windows
        mapped.madvise(mmap.MADV_DONTNEED)


def open_tensors(path: Path) -> dict[str, np.ndarray]:
    """Open a safetensors file as read-only memory maps: pages load when touched and are shared between processes.

    The safetensors library copies tensors into memory; its format (8 bytes of header length, a JSON header, raw
    little-endian data) is simple enough to map directly.

    Raises:
        StateError: The file is missing, cut short, or its header makes no sense.
    """
    try:
        with path.open("rb") as file:
            if len(head := file.read(8)) < 8:
                raise ValueError(f"{len(head)} bytes")
            (length,) = struct.unpack("<Q", head)
            if length > min(_MAX_HEADER, os.fstat(file.fileno()).st_size):
                raise ValueError(f"a header of {length} bytes")
            header = json.loads(file.read(length))
        header.pop("__metadata__", None)
        return {name: _map_tensor(path, 8 + length, spec) for name, spec in header.items()}
    except FileNotFoundError as error:
        raise StateError(Errors.FILE_DAMAGED.format(path=path, reason="missing", rebuild=REBUILD)) from error
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        OverflowError,
        RecursionError,
        struct.error,
    ) as error:
        raise StateError(Errors.FILE_DAMAGED.format(path=path, reason=error, rebuild=REBUILD)) from error


def _map_tensor(path: Path, start: int, spec: Mapping[str, Any]) -> np.ndarray:
    dtype, shape = np.dtype(_DTYPES[spec["dtype"]]), tuple(spec["shape"])
    begin, end = spec["data_offsets"]
    if not all(type(number) is int and number >= 0 for number in (*shape, begin, end)):
        raise ValueError(f"shape {shape} and place {begin} to {end}")
    if end - begin != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"{end - begin} bytes for shape {shape}")
    if begin == end:  # an empty map is an error to the operating system
        return np.empty(shape, dtype)
    return np.memmap(path, dtype=dtype, mode="r", offset=start + begin, shape=shape)
