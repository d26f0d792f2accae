"""The manifest of a saved space: what it was made of, and a checksum of every file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..checksums import Damage, are_described, check_listed, describe_files
from ..files import read_checked_json, write_checked_json

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


def write_manifest(folder: Path, facts: dict[str, Any]) -> None:
    """Write ``facts`` with size and checksums of every file that is in the folder now."""
    write_checked_json(folder / NAME, {"format": FORMAT, **facts, "files": describe_files(folder)})


def read_manifest(folder: Path, *, whole: bool = False) -> dict[str, Any]:
    """Read a manifest and check the files against it.

    All sizes are checked; contents too, except in spaces of over 256 MiB, where of files of more than 32 MiB samples
    are looked at, so that opening stays fast.

    Args:
        folder: The saved space.
        whole: Read all files whole, as ``ontolink info --verify`` does.

    Raises:
        StateError: A file is missing, of another size or content, or the manifest is not one; it is named.
    """
    manifest = read_checked_json(folder / NAME)
    if reason := _wrong(manifest):
        raise Damage(folder / NAME, reason).error()
    there = {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()} - {NAME}
    check_listed(folder, manifest["files"], there, "the manifest", whole=whole)
    return manifest


def _wrong(manifest: dict[str, Any]) -> str:
    """Say what is wrong with the manifest itself; "" if nothing is."""
    if manifest.get("format") != FORMAT:
        return f"not a manifest of format {FORMAT}, which this version reads"
    for part, fields in FIELDS.items():
        about = manifest.get(part)
        if not isinstance(about, dict) or not all(field in about for field in fields):
            return f"no {part} with {', '.join(fields) or 'names'}"
    dims = manifest["rows"]["dims"]
    if not isinstance(dims, list | None) or not all(type(width) is int for width in dims or ()):
        return "rows with dims that are no numbers"
    return "" if are_described(manifest["files"]) else "a file without size or checksum"
