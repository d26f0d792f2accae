"""Which prompts share a beginning worth computing once; plain lists of token ids, no model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

OVERHEAD = 32  # what one more pass over a prefix costs, in tokens: less than that is not worth sharing

Tokens = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Prompts that begin with the same ``shared`` tokens, which are fewer than each of them has."""

    shared: int
    prompts: tuple[Tokens, ...]


@dataclass(frozen=True, slots=True)
class _Plan:
    """How to compute the sorted prompts ``first … last - 1``, and how many tokens that takes."""

    first: int
    last: int
    cost: int
    groups: tuple[Group, ...]


@dataclass(slots=True)
class _Node:
    """Neighbouring prompts that share ``depth`` tokens, with the plans of those that share more."""

    depth: int
    plans: list[_Plan] = field(default_factory=list)


def group_by_prefix(prompts: Sequence[Tokens]) -> list[Group]:
    """Group distinct prompts so that the fewest tokens are computed: each group's shared beginning counts once.

    The groups are those of a tree of common beginnings, where a node is either one group or the groups of its children,
    whichever takes fewer tokens. (The candidates of one mention share more than the instruction that all share.)
    """
    ordered = sorted(prompts)
    before = [0, *accumulate(map(len, ordered))]
    open_nodes: list[_Node] = []
    done: _Plan | None = None
    for number, prompt in enumerate(ordered):
        is_last = number + 1 == len(ordered)
        depth = -1 if is_last else _common(prompt, ordered[number + 1])
        done = _Plan(number, number + 1, len(prompt), (Group(0, (prompt,)),))
        while open_nodes and open_nodes[-1].depth > depth:
            node = open_nodes.pop()
            node.plans.append(done)
            done = _close(node, ordered, before)
        if open_nodes and open_nodes[-1].depth == depth:
            open_nodes[-1].plans.append(done)
        elif not is_last:
            open_nodes.append(_Node(depth, [done]))
    return list(done.groups) if done else []


def _close(node: _Node, ordered: list[Tokens], before: list[int]) -> _Plan:
    first, last = node.plans[0].first, node.plans[-1].last
    apart = sum(plan.cost for plan in node.plans)
    together = OVERHEAD + before[last] - before[first] - node.depth * (last - first - 1)
    if together < apart:
        return _Plan(first, last, together, (Group(node.depth, tuple(ordered[first:last])),))
    return _Plan(first, last, apart, tuple(group for plan in node.plans for group in plan.groups))


def _common(one: Tokens, other: Tokens) -> int:
    """Count the tokens that both begin with, leaving at least one of each."""
    length = min(len(one), len(other)) - 1
    return next((place for place in range(length) if one[place] != other[place]), max(length, 0))
