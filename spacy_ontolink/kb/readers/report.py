"""What a reader passed over: counted by kind, the first few kept with their line, or raised at once when strict."""

from __future__ import annotations

import copy
import logging
import textwrap
from collections import Counter
from collections.abc import Collection, Iterable
from pathlib import Path

from ...errors import Errors, OntologyError, Warnings

logger = logging.getLogger(__name__)

_KEPT = 5


class ReadReport:
    """Collects the problems of one file.

    Attributes:
        path: The file.
        strict: Whether the first problem raises.
        counts: Number of problems by kind.
        first: The first few as (line or None, kind, detail).
    """

    def __init__(self, path: str | Path, strict: bool = False) -> None:
        self.path = Path(path)
        self.strict = strict
        self.counts: Counter[str] = Counter()
        self.first: list[tuple[int | None, str, str]] = []
        self._place = ""

    def part(self, path: str | Path) -> ReadReport:
        """Return a report on one file of a release of several, which counts here and tells the file with each kind."""
        part = copy.copy(self)
        part.path = Path(path)
        part._place = f" in {part.path.name}"
        return part

    def problem(self, kind: str, detail: str, line: int | None = None) -> None:
        """Count a problem.

        Raises:
            OntologyError: In strict mode, with file, line and reason.
        """
        if self.strict:
            place = "?" if line is None else line
            raise OntologyError(Errors.STRICT_CLAUSE.format(path=self.path, line=place, reason=f"{kind}: {detail}"))
        self.note(kind, detail, line)

    def note(self, kind: str, detail: str, line: int | None = None) -> None:
        """Count something worth telling that is no fault of the file's form; never raises."""
        kind += self._place
        self.counts[kind] += 1
        if len(self.first) < _KEPT:
            self.first.append((line, kind, textwrap.shorten(detail, 120, placeholder="…")))

    def note_unmet(self, what: str, wanted: Iterable[str], met: Collection[str]) -> None:
        """Tell which values of a filter nothing has, and which there are: they may be misspelt."""
        for value in wanted:
            if value not in met:
                self.note(f"{what} {value}", f"there are {', '.join(sorted(met)[:30]) or 'none'}")

    def summary(self) -> str:
        """Return the counts by kind and the first few problems in one sentence; "" if there were none."""
        if not self.counts:
            return ""
        counts = ", ".join(f"{kind}: {count}" for kind, count in self.counts.most_common())
        first = "; ".join(
            f"line {line}: {kind}: {detail}" if line else f"{kind}: {detail}" for line, kind, detail in self.first
        )
        return Warnings.SKIPPED_CLAUSES.format(path=self.path, total=self.counts.total(), counts=counts, first=first)

    def log(self) -> None:
        """Log the summary as one warning, if there is anything to say."""
        if summary := self.summary():
            logger.warning(summary)
