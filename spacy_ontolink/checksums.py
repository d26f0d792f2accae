"""Checksums of the files of a saved folder: whole ones where there is time for that, of samples of large files else."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from .errors import Errors, StateError
from .files import REBUILD, read_checked_json, safe_join, sha256, write_checked_json

NAME = "checksums.json"

ALWAYS = 32 << 20
"""Bytes of a file up to which it is always read whole."""
IN_ALL = 256 << 20
"""Bytes of a folder up to which every file of it is."""
SAMPLES, SAMPLE = 64, 1 << 16
"""Blocks of a larger file that are looked at, evenly spread, the first and the last ones among them; their bytes."""


class Damage(NamedTuple):
    """A file that is not as it was saved, and what is wrong with it."""

    path: Path
    reason: str

    def error(self) -> StateError:
        """Make the error that names it, with the way out."""
        return StateError(Errors.FILE_DAMAGED.format(path=self.path, reason=self.reason, rebuild=REBUILD))


def describe_files(folder: Path) -> dict[str, dict[str, Any]]:
    """Return size and checksums of every file in a folder, by name."""
    found = {}
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            about: dict[str, Any] = {"size": file.stat().st_size, "sha256": sha256(file)}
            if about["size"] > ALWAYS:
                about["samples"] = sampled(file)
            found[file.relative_to(folder).as_posix()] = about
    return found


def sampled(file: Path) -> str:
    """Return the hex SHA-256 of ``SAMPLES`` blocks of a file: other content, zeros and cuts show, single bits need not.

    Two files of one size that were made of different things differ nearly everywhere, so this tells them apart at the
    cost of 4 MiB read, however large they are.
    """
    digest = hashlib.sha256()
    last = max(file.stat().st_size - SAMPLE, 0)
    with file.open("rb") as opened:
        for number in range(SAMPLES):
            opened.seek(last * number // (SAMPLES - 1))
            digest.update(opened.read(SAMPLE))
    return digest.hexdigest()


def damaged(folder: Path, files: Mapping[str, Any], *, whole: bool = False) -> Iterator[Damage]:
    """Yield the files that are missing, or differ from what ``describe_files`` said of them.

    Args:
        folder: Where they are.
        files: What it said.
        whole: Read all of them whole, however large they are. Otherwise, in folders of over ``IN_ALL`` bytes, only
            samples of files of over ``ALWAYS`` bytes are looked at, so that opening stays fast.

    Raises:
        StateError: A name leads out of the folder.
    """
    whole = whole or sum(about["size"] for about in files.values()) <= IN_ALL
    for name, about in files.items():
        file = safe_join(folder, name)
        if not file.is_file():
            yield Damage(file, "missing")
        elif (size := file.stat().st_size) != about["size"]:
            yield Damage(file, f"{size} bytes instead of {about['size']}")
        elif whole or size <= ALWAYS:
            if sha256(file) != about["sha256"]:
                yield Damage(file, "its checksum differs")
        elif "samples" in about and sampled(file) != about["samples"]:
            yield Damage(file, "its checksum differs")


def check_listed(
    folder: Path, files: Mapping[str, Any], there: Collection[str], listing: str, *, whole: bool = False
) -> None:
    """Refuse files that are damaged, and such as nobody listed.

    Args:
        folder: Where they are.
        files: What ``describe_files`` said of them.
        there: Names of those that are there.
        listing: What they should be in, for the message.
        whole: As for ``damaged``.

    Raises:
        StateError: The first such file.
    """
    if unlisted := set(there) - set(files):
        raise Damage(folder / min(unlisted), f"not in {listing}").error()
    for damage in damaged(folder, files, whole=whole):
        raise damage.error()


def are_described(files: object) -> bool:
    """Tell whether a value read from a file has the form of what ``describe_files`` returns."""
    return isinstance(files, dict) and all(
        isinstance(about, dict) and type(about.get("size")) is int and isinstance(about.get("sha256"), str)
        for about in files.values()
    )


def write_checksums(folder: Path, parts: Iterable[str]) -> None:
    """Write into a folder what the files of its subfolders ``parts`` are; nothing if there are none."""
    files = {f"{part}/{name}": about for part in parts for name, about in describe_files(folder / part).items()}
    if files:
        write_checked_json(folder / NAME, {"files": files})


def check_files(folder: Path, parts: Iterable[str]) -> None:
    """Compare the files of the subfolders ``parts`` with what ``write_checksums`` wrote of them.

    Raises:
        StateError: A file is missing, of other content, or was not there; it is named.
    """
    parts = set(parts)
    there = {
        file.relative_to(folder).as_posix() for part in parts for file in (folder / part).rglob("*") if file.is_file()
    }
    if not there and not (folder / NAME).exists():
        return
    files: Any = read_checked_json(folder / NAME).get("files")
    if not are_described(files):
        raise Damage(folder / NAME, "a file without size or checksum").error()
    known = {name: about for name, about in files.items() if name.split("/")[0] in parts}
    check_listed(folder, known, there, NAME)
