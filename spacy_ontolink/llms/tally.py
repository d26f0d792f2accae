"""What a language model in process has done: its usage, and the reasons of what failed; batches that shrink."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeVar

from ..errors import OntolinkError, Warnings
from ..types import Usage

Item = TypeVar("Item")
Result = TypeVar("Result")
ITEM_ERRORS = (RuntimeError, MemoryError, IndexError, ValueError)
"""What engines raise for one input: out of memory, a token that the model does not know, a prompt too long."""
_log = logging.getLogger(__name__)


class Tally:
    """Counts what was answered and what failed, and logs each kind of reason once."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.usage = Usage()
        self._known: set[str] = set()
        self._failed: Counter[str] = Counter()
        self._reasons: dict[str, str] = {}

    def answered(self, prompt_tokens: int, completion_tokens: int = 0) -> None:
        """Count one answer."""
        self.usage = self.usage._replace(
            calls=self.usage.calls + 1,
            prompt_tokens=self.usage.prompt_tokens + prompt_tokens,
            completion_tokens=self.usage.completion_tokens + completion_tokens,
        )

    def failed(self, error: Exception) -> None:
        """Count one prompt that got no answer."""
        kind = type(error).__name__
        self.usage = self.usage._replace(failed=self.usage.failed + 1)
        self._failed[kind] += 1
        self._reasons.setdefault(kind, str(error).strip().partition("\n")[0])

    def tell(self, warning: str, **values: object) -> None:
        """Log a warning, each kind once."""
        if warning not in self._known:
            self._known.add(warning)
            _log.warning(warning.format(name=self.name, **values))

    def report(self) -> None:
        """Log what failed since the last report, unless that kind of failure was reported before."""
        for kind, total in self._failed.items():
            if kind not in self._known:
                reason = f"{kind}: {self._reasons[kind]}"
                _log.warning(Warnings.PROMPTS_FAILED.format(name=self.name, total=total, reason=reason))
        self._known.update(self._failed)
        self._failed.clear()


def in_batches(
    items: Sequence[Item], size: int, run: Callable[[Sequence[Item]], Sequence[Result]], tally: Tally
) -> list[Result | None]:
    """Run the items in batches; a batch that fails is halved, down to the one item that fails, which gets None.

    Raises:
        OntolinkError: As ``run`` does.
    """
    results: list[Result | None] = []
    room = size
    while len(results) < len(items):
        batch = items[len(results) : len(results) + room]
        try:
            results += run(batch)
            room = min(2 * room, size)
        except OntolinkError:  # nothing that another batch could mend
            raise
        except ITEM_ERRORS as error:
            if len(batch) == 1:
                tally.failed(error)
                results.append(None)
            room = max(len(batch) // 2, 1)
    return results
