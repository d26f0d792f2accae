"""A small store of what was made for a mask of entities, since callers ask for the same few masks again and again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar

from ..types import Bools1d

SIZE = 8
T = TypeVar("T")


class RecentMasks(Generic[T]):
    """Keeps what was made for the last ``SIZE`` distinct masks that were asked for."""

    def __init__(self) -> None:
        self._kept: OrderedDict[bytes, T] = OrderedDict()

    def get(self, allowed: Bools1d, make: Callable[[Bools1d], T]) -> T:
        """Return what ``make`` makes of a mask, (E,), without calling it if the mask was asked for lately.

        Threads may share this: another one may forget what is looked at, or make it at the same time.
        """
        key = allowed.tobytes()
        if (kept := self._kept.get(key)) is None:
            kept = self._kept[key] = make(allowed)
        with suppress(KeyError):
            self._kept.move_to_end(key)
            while len(self._kept) > SIZE:
                self._kept.popitem(last=False)
        return kept

    def clear(self) -> None:
        """Forget all, as the rows are others now."""
        self._kept.clear()
