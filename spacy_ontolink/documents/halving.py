"""Batches of documents that fail as a whole, so that the one that does it is found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from ..errors import ConfigError, LLMError, MissingExtraError, StateError

Item = TypeVar("Item")
Result = TypeVar("Result")

NO_ITEMS_FAULT = (LLMError, ConfigError, StateError, MissingExtraError, OSError)
"""What is raised for the sake of a setting, a file, a package or a server, whatever the items are."""


def by_halves(
    work: Callable[[Sequence[Item]], list[Result]],
    items: Sequence[Item],
    failed: Callable[[Sequence[Item], Exception], list[Result]],
) -> list[Result]:
    """Work on a batch; where that fails, on its halves, so that an item that fails is soon alone.

    Args:
        work: Makes a result of each item.
        items: The batch.
        failed: Makes the results of the item that fails alone, or of all, if the error is no item's fault.
    """
    try:
        return work(items)
    except Exception as error:
        # A language model that does not answer, say, will not answer to half a batch either.
        if len(items) > 1 and not isinstance(error, NO_ITEMS_FAULT):
            half = len(items) // 2
            return by_halves(work, items[:half], failed) + by_halves(work, items[half:], failed)
        return failed(items, error)
