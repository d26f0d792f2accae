"""The manifest of a saved space: what it was made of, and a checksum of every file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..errors import Errors, StateError
from ..files import REBUILD, read_json, safe_join, sha256, write_json

NAME = "manifest.json"
FORMAT = 1
_ALWAYS_HASHED = 32 << 20
_HASHED_IN_ALL = 256 << 20


def write_manifest(folder: Path, facts: dict[str, Any]) -> None:
    """Write ``facts`` with the size and SHA-256 of every file that is in the folder now."""
    files = {
        file.relative_to(folder).as_posix(): {"size": file.stat().st_size, "sha256": sha256(file)}
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }
    write_json(folder / NAME, {"format": FORMAT, **facts, "files": files})


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read a manifest and check the files against it.

    All sizes are checked; contents too, except in spaces of over 256 MiB, where files of more than 32 MiB are left to
    the checks of their readers, so that opening stays fast.

    Raises:
        StateError: A file is missing, of another size or content, or the manifest is not one; it is named.
    """
    manifest = read_json(folder / NAME)
    if not isinstance(manifest, dict) or not isinstance(manifest.get("files"), dict):
        raise _damaged(folder / NAME, "not a manifest")
    if manifest.get("format") != FORMAT:
        raise _damaged(folder / NAME, f"format {manifest.get('format')}, this version reads {FORMAT}")
    small = sum(int(about["size"]) for about in manifest["files"].values()) <= _HASHED_IN_ALL
    for name, about in manifest["files"].items():
        file = safe_join(folder, name)
        if not file.is_file():
            raise _damaged(file, "missing")
        if (size := file.stat().st_size) != about["size"]:
            raise _damaged(file, f"{size} bytes instead of {about['size']}")
        if (small or size <= _ALWAYS_HASHED) and sha256(file) != about["sha256"]:
            raise _damaged(file, "its checksum differs")
    return manifest


def _damaged(path: Path, reason: str) -> StateError:
    return StateError(Errors.FILE_DAMAGED.format(path=path, reason=reason, rebuild=REBUILD))
