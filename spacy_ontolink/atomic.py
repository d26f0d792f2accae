"""Files and folders that appear whole or not at all: a kill, a full disk or another process leave no half of one."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from .errors import DataError, Errors, WriteError

_REPLACED = "replaced"
_SCRATCH = re.compile(r"\..+\.\w{8}")
_FULL = [os.strerror(number) for number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)]
_YOUNG = 60.0  # seconds; a scratch folder may be this old before it is locked
_HERE, _EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux


@contextlib.contextmanager
def replacing(path: Path, durable: bool = False) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; what is written there takes its place when the block ends well.

    Works for files and folders, and follows links. When the block raises, ``path`` is as it was and the temporary one
    is gone; when the process is killed, it is gone with the next writing. A device or a pipe cannot be replaced and is
    yielded itself. A ``durable`` file is on the disk when the block has ended, so that not even a machine that stops
    can take it back.

    Raises:
        DataError: A file would take the place of a folder, or a folder that of a file.
        WriteError: The disk is full.
    """
    path = Path(path).resolve()
    if path.exists() and not path.is_file() and not path.is_dir():
        yield path
        return
    with naming_full_disk(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with scratch_beside(path) as scratch:
            yield scratch / path.name
            if (scratch / path.name).exists():
                if durable:
                    _sync(scratch / path.name)
                _swap(scratch / path.name, path, scratch / _REPLACED)
                if durable and os.name != "nt":  # Windows opens no folders
                    _sync(path.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def naming_full_disk(path: Path | str) -> Iterator[None]:
    """Say of which file or folder a disk is too full, whoever's words for that the block raises.

    Raises:
        WriteError: It is too full.
    """
    try:
        yield
    except WriteError:
        raise
    except Exception as error:
        reason = next((word for word in _FULL if word in str(error)), None)
        if reason is None:
            raise
        raise WriteError(Errors.DISK_FULL.format(path=path, reason=reason)) from error


@contextlib.contextmanager
def scratch_beside(path: Path) -> Iterator[Path]:
    """Make a hidden folder beside ``path`` that is gone after the block, and take away those of killed processes."""
    _remove_leftovers(path)
    scratch = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    try:
        with _locked(scratch):
            yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def is_empty(folder: Path) -> bool:
    """Tell whether there is nothing in a folder but what killed processes left."""
    return all(path.is_dir() and _SCRATCH.fullmatch(path.name) for path in folder.iterdir())


def _remove_leftovers(path: Path) -> None:
    """Remove scratch folders that no process holds; what one of them has moved aside comes back first."""
    for scratch in path.parent.glob(f".{_literal(path.name)}.????????"):
        with contextlib.suppress(OSError):
            if time.time() - scratch.stat().st_mtime < _YOUNG:
                continue
            with _locked(scratch) as held:
                if held and not path.exists() and (scratch / _REPLACED).exists():
                    os.replace(scratch / _REPLACED, path)
                if held:
                    shutil.rmtree(scratch, ignore_errors=True)


def _literal(name: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[bool]:
    """Hold a lock on a folder that ends with the process; yield whether it was to be had."""
    try:
        import fcntl

        handle = os.open(folder, os.O_RDONLY)
    except (ImportError, OSError):  # a system without such locks, where leftovers stay
        yield False
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        held = True
    except OSError:
        held = False
    try:
        yield held
    finally:
        os.close(handle)


def _swap(new: Path, path: Path, aside: Path) -> None:
    """Put ``new`` in the place of ``path``; a folder changes places with it, or steps aside where that cannot be."""
    if path.exists() and path.is_dir() != new.is_dir():
        kinds = ("folder", "file") if path.is_dir() else ("file", "folder")
        raise DataError(Errors.OTHER_KIND.format(path=path, there=kinds[0], new=kinds[1]))
    if not path.is_dir():
        os.replace(new, path)
        return
    if _exchanged(new, path):
        return
    os.replace(path, aside)
    try:
        os.replace(new, path)
    except OSError:
        if not path.exists():
            os.replace(aside, path)
        raise


def _exchanged(one: Path, other: Path) -> bool:
    """Let two folders change places in one step, so that there is no moment without; False where that cannot be."""
    rename = getattr(ctypes.CDLL(None), "renameat2", None) if sys.platform == "linux" else None
    return rename is not None and rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0
