"""Annotated mentions, or pseudo-pairs, as the examples that a retriever learns from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from ..text import normalise
from ..types import Mention
from .batches import Example

if TYPE_CHECKING:
    from ..kb import KnowledgeBase


@dataclass(frozen=True, slots=True)
class Annotation:
    """A mention and ids that are right for it, as a file has them.

    Attributes:
        mention: With its context.
        place: Its document and offsets: annotations of one place are of one mention, of which each id is right.
        ids: As written there; some may be old or unknown.
        weight: What it counts.
    """

    mention: Mention
    place: Hashable
    ids: tuple[str, ...]
    weight: float = 1.0


class Examples(NamedTuple):
    """Examples, and what was left out: annotations without ids, of blank text, or with unknown ids only."""

    examples: list[Example]
    without_id: int = 0
    blank: int = 0
    unknown: int = 0


def make_examples(kb: KnowledgeBase, annotations: Iterable[Annotation], *, context: bool) -> Examples:
    """Make an example of each mention and each entity that is right for it.

    With context, each mention is an example of its own, its ids sharing its weight. Without, equal texts are one
    mention, whose weight is their mean: what repeats has nothing more to teach. All right entities of a mention, and
    without context all that have its text as a name, are never its negatives.
    """
    left_out = {"without_id": 0, "blank": 0, "unknown": 0}
    resolved: dict[str, int] = {}
    kept: list[tuple[Annotation, Hashable, list[int]]] = []
    right: dict[Hashable, set[int]] = defaultdict(set)
    for annotation in annotations:
        text = normalise(annotation.mention.text)
        numbers = [number for id in annotation.ids if (number := _number(kb, id, resolved)) >= 0]
        if not numbers:
            left_out["unknown" if annotation.ids else "without_id"] += 1
        elif not text:
            left_out["blank"] += 1
        else:
            key = annotation.place if context else text
            kept.append((annotation, key, list(dict.fromkeys(numbers))))
            right[key].update(numbers)
    found = _in_context(kept, right) if context else _by_text(kb, kept, right)
    return Examples(found, **left_out)


def _number(kb: KnowledgeBase, id: str, known: dict[str, int]) -> int:
    if id not in known:
        live = kb.resolve(id)
        known[id] = kb.number_of(live) if live else -1
    return known[id]


def _in_context(kept: list[tuple[Annotation, Hashable, list[int]]], right: dict[Hashable, set[int]]) -> list[Example]:
    return [
        Example(annotation.mention, number, tuple(sorted(right[key] - {number})), annotation.weight / len(numbers))
        for annotation, key, numbers in kept
        for number in numbers
    ]


def _by_text(
    kb: KnowledgeBase, kept: list[tuple[Annotation, Hashable, list[int]]], right: dict[Hashable, set[int]]
) -> list[Example]:
    weights: dict[tuple[Hashable, int], list[float]] = defaultdict(list)
    for annotation, key, numbers in kept:
        for number in numbers:
            weights[key, number].append(annotation.weight / len(numbers))
    found = []
    for (text, number), own in weights.items():
        spared = right[text] | set(kb.lookup(str(text)).tolist())
        found.append(Example(Mention(str(text)), number, tuple(sorted(spared - {number})), sum(own) / len(own)))
    return found
