"""What was met while documents were read or written: counts, and the first place of each kind."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from ..errors import DataError, Errors

logger = logging.getLogger(__name__)

STDIN = Path("-")


class Place(NamedTuple):
    """A line of a file."""

    path: Path
    line: int

    def __str__(self) -> str:
        return f"{name_of(self.path)}, line {self.line}"

    def problem(self, reason: str) -> DataError:
        """Return the error that this line cannot be used."""
        return DataError(Errors.BAD_LINE.format(path=name_of(self.path), line=self.line, reason=reason))


def name_of(path: Path) -> str:
    """Return what to call an input in messages."""
    return "standard input" if path == STDIN else str(path)


@dataclass
class Tally:
    """What was read: ``expanded`` mentions were widened to whole tokens, ``differing`` ones claim another text.

    ``bare`` documents are of files in which there is no mention at all, where several files are read.
    ``noted`` counts everything else that is worth telling, in the words that tell it, with the place of the first.
    """

    documents: int = 0
    mentions: int = 0
    expanded: int = 0
    differing: int = 0
    first_differing: str = ""
    bare: int = 0
    noted: dict[str, tuple[int, str]] = field(default_factory=dict)

    def differs(self, place: Place, start: int, end: int) -> None:
        """Count a mention that has another text than its offsets show."""
        self.differing += 1
        self.first_differing = self.first_differing or f"{_short(place)}, {start}…{end}"

    def note(self, what: str, place: Place | str) -> None:
        """Count something that is passed over or changed, as in "3 ``what``"."""
        number, first = self.noted.get(what, (0, place if isinstance(place, str) else _short(place)))
        self.noted[what] = (number + 1, first)

    def add(self, other: Tally) -> None:
        """Add the numbers of another file; what is to be told of it, its own tally has told."""
        self.documents += other.documents
        self.mentions += other.mentions
        self.expanded += other.expanded

    def warn(self, name: str) -> None:
        """Log each kind once, with the name of the file, its count and its first place."""
        if self.differing:
            logger.warning(
                "%s: %d mention(s) have another text than their offsets show (first: %s); the offsets are used",
                name, self.differing, self.first_differing,
            )  # fmt: skip
        for what, (number, first) in self.noted.items():
            logger.warning("%s: %d %s (first: %s)", name, number, what, first)


def _short(place: Place) -> str:
    """Say where, under a file or a folder that the message names already."""
    return f"{place.path.name}, line {place.line}" if place.path.suffix == ".ann" else f"line {place.line}"
