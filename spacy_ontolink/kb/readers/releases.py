"""Ontologies that are released as several files: in a folder, in a zip archive, or beside the file that was named."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Sequence
from pathlib import Path

from ...errors import Errors, OntologyError
from .sources import Place

_UMLS = re.compile(r"(MR(?:CONSO|STY|DEF|REL|CUI)\.RRF)(?:\.gz)?")
_SNOMED = re.compile(
    r"x?(?:sct2_(?:Concept|Description|TextDefinition|Relationship)_|der2_cRefset_(?:Language|Association\w*?))"
    r"[A-Z]*Snapshot[\w-]*\.txt(?:\.gz)?"  # national editions put letters of their own before the word
)
_CONCEPTS = re.compile(r"x?sct2_Concept_[A-Z]*Snapshot")
_MESH = re.compile(r"(?:desc|supp)\d*\.xml", re.IGNORECASE)
_DEPTH = 5
"""Folders to look into: an archive may be unpacked into one of its own, and have Snapshot/Refset/Language in it."""


class Release:
    """The files of a release that some reader reads, by name.

    Attributes:
        path: What the user named.
        files: The files.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        named = [(place.name, place) for place in _places(path)]
        self.files = [place for name, place in named if _UMLS.fullmatch(name) or _SNOMED.fullmatch(name)]
        self._mesh = [place for name, place in named if _MESH.fullmatch(name)] if len(named) == 1 else []

    @property
    def format(self) -> str | None:
        """The format, or None if these are the files of no known release."""
        if any(place.name.startswith("MRCONSO.RRF") for place in self.files):
            return "umls"
        if any(_CONCEPTS.match(place.name) for place in self.files):
            return "snomed"
        return "mesh" if self._mesh else None

    def one(self, name: str) -> Place | None:
        """Return the file of this name, or the packed one; None if there is none.

        Raises:
            OntologyError: There are several, as in a folder of several releases.
        """
        found = self.all(re.escape(name)) or self.all(rf"{re.escape(name)}\.gz")
        if len(found) > 1:
            reason = f"there is more than one {name} in it: {', '.join(map(str, found[:3]))}"
            raise OntologyError(Errors.UNREADABLE.format(path=self.path, reason=reason))
        return found[0] if found else None

    def all(self, pattern: str) -> list[Place]:
        """Return the files whose whole name a regular expression matches."""
        return [place for place in self.files if re.fullmatch(pattern, place.name)]

    def single(self) -> Place:
        """Return the XML file of an archive that holds nothing else."""
        return self._mesh[0]


def is_archive(path: Path) -> bool:
    """Whether this is a folder or a zip archive, which may hold a release."""
    return path.is_dir() or (path.is_file() and zipfile.is_zipfile(path))


def is_release(path: Path) -> bool:
    """Whether this is the folder or zip archive of a release that some reader reads."""
    return is_archive(path) and Release(path).format is not None


def files_read(path: Path) -> list[Path]:
    """Return the files whose content decides what is read at a path: those of a release, else the file itself."""
    if path.is_dir() or _UMLS.fullmatch(path.name):
        return [place for place in Release(path).files if isinstance(place, Path)] or [path]
    return [path]


def _places(path: Path) -> Sequence[Place]:
    if path.name == "Terminology" and (path.parent / "Refset").is_dir():
        path = path.parent
    try:
        if path.is_dir():
            found = [place for depth in range(_DEPTH) for place in path.glob("*/" * depth + "*") if place.is_file()]
            return sorted(found)
        if zipfile.is_zipfile(path):
            archive = zipfile.ZipFile(path)
            members = [name for name in archive.namelist() if not name.endswith("/") and "__MACOSX" not in name]
            return [zipfile.Path(archive, name) for name in sorted(members)]
        return sorted(path.parent.glob("MR*.RRF*")) if _UMLS.fullmatch(path.name) else [path]
    except (OSError, zipfile.BadZipFile, RuntimeError) as error:  # the last for a version that zipfile does not know
        raise OntologyError(Errors.UNREADABLE.format(path=path, reason=error)) from error
