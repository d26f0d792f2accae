"""How encoders that take long report on it, and those around them hand the report on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Progress = Callable[[int, int], None]
"""Called with the number of names that are encoded, and of names in all."""


def handed_on(part: str) -> Any:
    """Make the attribute ``progress`` of an encoder that is that of another one, which takes nearly all the time."""

    def get(self: Any) -> Progress | None:
        return getattr(getattr(self, part), "progress", None)

    def put(self: Any, report: Progress | None) -> None:
        getattr(self, part).progress = report

    return property(get, put, doc="The report of the encoder inside, which takes nearly all the time.")
