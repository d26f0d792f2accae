"""Where the ids of obsolete and merged entities lead: alt ids, and chains of ``replaced_by``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..types import Ints1d
from .columns import Csr


def live_targets(successors: Sequence[Sequence[int]], n_live: int) -> Csr:
    """Follow each obsolete entity to the live ones that stand for it.

    Args:
        successors: For each obsolete entity, the rows it leads to, the preferred ones first: a live row is below
            ``n_live``, the obsolete ones follow in order, -1 leads nowhere.
        n_live: Number of live entities.

    Returns:
        For each obsolete entity, its live rows: depth first, so replacements come in the order they were given.
        Cycles and missing targets lead nowhere.
    """
    counts: list[int] = []
    targets: list[int] = []
    for start in range(len(successors)):
        found: dict[int, None] = {}
        seen: set[int] = set()
        stack = [start + n_live]
        while stack:
            row = stack.pop()
            if row < 0 or row in seen:
                continue
            seen.add(row)
            if row < n_live:
                found[row] = None
            else:
                stack.extend(reversed(successors[row - n_live]))
        counts.append(len(found))
        targets.extend(found)
    return Csr(np.concatenate([[0], np.cumsum(counts)]).astype(np.int32), np.asarray(targets, np.int32))


def first_targets(targets: Csr) -> Ints1d:
    """Return the first live row of each obsolete entity, or -1."""
    first = np.full(len(targets.indptr) - 1, -1, np.int32)
    some = np.diff(targets.indptr) > 0
    first[some] = targets.indices[targets.indptr[:-1][some]]
    return first


def why_nowhere(row: int, successors: Sequence[Sequence[int]], n_live: int) -> str:
    """Say why an obsolete entity leads to no live one, as a kind of problem; "" when it names no replacement at all."""
    seen: set[int] = set()
    stack, missing = [row], False
    if not successors[row]:
        return ""
    while stack:
        current = stack.pop()
        seen.add(current)
        for successor in successors[current]:
            missing |= successor < 0
            if successor >= n_live and successor - n_live not in seen:
                stack.append(successor - n_live)
    return "replacement missing" if missing else "replacement obsolete or in a cycle"
