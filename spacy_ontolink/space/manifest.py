"""The manifest of a saved space: what it was made of, and a checksum of every file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..errors import Errors, StateError
from ..files import REBUILD, read_checked_json, safe_join, sha256, write_checked_json

NAME = "manifest.json"
FORMAT = 2
FIELDS = {
    "kb": ("hash",),
    "encoder": ("type", "id"),
    "rows": ("count", "dims"),
    "pooling": ("names", "hierarchy"),
    "index": ("type",),
    "files": (),
}
"""What a manifest must tell."""
_ALWAYS_HASHED = 32 << 20
_HASHED_IN_ALL = 256 << 20


def write_manifest(folder: Path, facts: dict[str, Any]) -> None:
    """Write ``facts`` with the size and SHA-256 of every file that is in the folder now."""
    files = {
        file.relative_to(folder).as_posix(): {"size": file.stat().st_size, "sha256": sha256(file)}
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }
    write_checked_json(folder / NAME, {"format": FORMAT, **facts, "files": files})


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read a manifest and check the files against it.

    All sizes are checked; contents too, except in spaces of over 256 MiB, where files of more than 32 MiB are left to
    the checks of their readers, so that opening stays fast.

    Raises:
        StateError: A file is missing, of another size or content, or the manifest is not one; it is named.
    """
    manifest = read_checked_json(folder / NAME)
    if reason := _wrong(manifest):
        raise _damaged(folder / NAME, reason)
    unlisted = {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()}
    if unlisted := unlisted - {NAME, *manifest["files"]}:
        raise _damaged(folder / min(unlisted), "not in the manifest")
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


def _wrong(manifest: dict[str, Any]) -> str:
    """Say what is wrong with the manifest itself; "" if nothing is."""
    if manifest.get("format") != FORMAT:
        return f"not a manifest of format {FORMAT}, which this version reads"
    for part, fields in FIELDS.items():
        about = manifest.get(part)
        if not isinstance(about, dict) or not all(field in about for field in fields):
            return f"no {part} with {', '.join(fields) or 'names'}"
    whole = all(
        isinstance(about, dict) and isinstance(about.get("size"), int) and "sha256" in about
        for about in manifest["files"].values()
    )
    return "" if whole else "a file without size or checksum"


def _damaged(path: Path, reason: str) -> StateError:
    return StateError(Errors.FILE_DAMAGED.format(path=path, reason=reason, rebuild=REBUILD))
