"""What a worker is at, on the disk, so that whoever comes after its death knows what killed it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

Range = tuple[int, int]
_PARDON = "pardon"


class Journal:
    """The journal of a chunk: lines that say which rows were begun, and which were ended.

    Rows that were begun and never ended have killed their worker, or died with it for another reason, which nobody can
    tell apart. So a batch gets ``retries`` more chances. Then its documents are worked on one by one: a death costs the
    opening of a pipeline, and that way one more is enough to know which document it was, where halves would take
    several. A document that died alone more than ``retries`` times is set aside.

    Lines are written without waiting for the disk: the death of a process does not lose them.
    """

    def __init__(self, path: Path, retries: int) -> None:
        self._path, self._retries = path, retries
        self._deaths: Counter[Range] = Counter()
        path.parent.mkdir(parents=True, exist_ok=True)
        open_: Counter[Range] = Counter()
        for kind, start, stop in _lines(path):
            if kind == _PARDON:
                open_.clear()
            elif kind == "begin":
                self._deaths[start, stop] += open_[start, stop]
                open_[start, stop] = 1
            else:
                open_[start, stop] = 0
        self._deaths.update({key: 1 for key, number in open_.items() if number})
        self._deaths += Counter()  # without those at 0

    @contextmanager
    def working_on(self, start: int, stop: int) -> Iterator[None]:
        """Note that these rows are worked on; they are ended if the block raises, too."""
        self._write("begin", start, stop)
        try:
            yield
        finally:
            self._write("end", start, stop)

    def deaths(self, start: int, stop: int) -> int:
        """Return how many workers died while they worked on these rows, alone or with others."""
        return sum(number for (a, b), number in self._deaths.items() if a <= start and stop <= b)

    def killers(self, rows: Sequence[int]) -> set[int]:
        """Return the rows that killed their worker alone, more than ``retries`` times."""
        return {row for row in rows if self._deaths[row, row + 1] > self._retries}

    def batches(self, rows: Sequence[int], size: int) -> list[Sequence[int]]:
        """Return the rows in batches, but for the killers; those first that workers died of, lest more be lost."""
        made: list[Sequence[int]] = []
        killers = self.killers(rows)
        for first in range(0, len(rows), size):  # of all rows, so that a batch is the same one after each death
            if batch := [row for row in rows[first : first + size] if row not in killers]:
                alone = self.deaths(batch[0], batch[-1] + 1) > self._retries
                made += [[row] for row in batch] if alone else [batch]
        return sorted(made, key=lambda batch: -self.deaths(batch[0], batch[-1] + 1))

    def close(self) -> None:
        """Remove the journal: its chunk is done."""
        self._path.unlink(missing_ok=True)

    def _write(self, kind: str, start: int, stop: int) -> None:
        _write(self._path, kind, start, stop)


def pardon(path: Path) -> None:
    """Note in a journal that what is open in it has killed nobody: workers were stopped."""
    _write(path, _PARDON, 0, 0)


def _write(path: Path, kind: str, start: int, stop: int) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write("\n" + json.dumps([kind, start, stop]))  # a line that was cut short spoils no other


def _lines(path: Path) -> Iterator[tuple[str, int, int]]:
    """Yield the lines that are whole."""
    if path.exists():
        for line in path.read_bytes().splitlines():
            try:
                kind, start, stop = json.loads(line)
            except (ValueError, TypeError, RecursionError):
                continue
            if all(type(number) is int for number in (start, stop)):
                yield kind, start, stop
