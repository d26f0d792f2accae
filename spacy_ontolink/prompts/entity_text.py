"""What a reranker reads of a candidate: the synonyms closest to the mention, the definition, and the neighbours."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import ConfigError, Errors
from ..text import normalise
from ..types import EntityText
from .neutral import neutral

if TYPE_CHECKING:
    from ..kb import KnowledgeBase

_LABELS = re.compile(r"([\[(]\s*(?:synonyms|definition|parents|children|siblings))\s*:", re.IGNORECASE)
_PAIRS = {")": "(", "]": "["}


@dataclass(frozen=True, slots=True)
class Caps:
    """How much is read of a candidate: numbers of names, whether its definition, and how many words of that.

    Raises:
        ConfigError: A number is negative.
    """

    synonyms: int = 8
    parents: int = 3
    children: int = 5
    siblings: int = 5
    definition: bool = True
    definition_words: int = 60

    def __post_init__(self) -> None:
        for name in ("synonyms", "parents", "children", "siblings", "definition_words"):
            if (value := getattr(self, name)) < 0:
                raise ConfigError(Errors.SETTING_VALUE.format(setting=name, given=value, wanted="0 or more"))


class _Known(NamedTuple):
    """What does not depend on the mention: the text with all synonyms, and the trigrams of each synonym."""

    text: EntityText
    trigrams: tuple[frozenset[str], ...]


class EntityTexts:
    """Makes the texts of candidates; what does not depend on the mention is read from the KB once.

    Neighbours are the first ones by entity number. Keep one for a batch (or as long as memory allows).
    """

    def __init__(self, kb: KnowledgeBase, caps: Caps | None = None) -> None:
        self.kb, self.caps = kb, caps or Caps()
        self._known: dict[int, _Known] = {}
        self._mentions: dict[str, frozenset[str]] = {}

    def __call__(self, numbers: Sequence[int], mention: str) -> list[EntityText]:
        """Return the texts of entity numbers, (K,), for one mention."""
        self._read(numbers)
        if mention not in self._mentions:
            self._mentions[mention] = trigrams(mention)
        return [self._closest(self._known[int(number)], self._mentions[mention]) for number in numbers]

    def _closest(self, known: _Known, mention: frozenset[str]) -> EntityText:
        text, most = known.text, self.caps.synonyms
        likeness = [similarity(own, mention) for own in known.trigrams]
        order = sorted(range(len(likeness)), key=lambda place: (-likeness[place], place))[:most]
        synonyms = tuple(text.synonyms[place] for place in order)
        return EntityText(text.name, synonyms, text.definition, text.parents, text.children, text.siblings)

    def _read(self, numbers: Iterable[int]) -> None:
        """Read all new entities, with a few calls of the KB together."""
        new = sorted({int(number) for number in numbers} - self._known.keys())
        if not new:
            return
        kb, caps = self.kb, self.caps
        near = [(self._parents(n)[: caps.parents], self._children(n)[: caps.children], self._siblings(n)) for n in new]
        owner = np.asarray(kb.name_owner)
        starts, stops = np.searchsorted(owner, new), np.searchsorted(owner, new, side="right")
        own = iter(kb.texts_of(_joined(np.arange(a, b) for a, b in zip(starts, stops, strict=True))))
        names = iter(kb.names_of(_joined(part for parts in near for part in parts)))
        primary = kb.names_of(new)
        for place, number in enumerate(new):
            texts = [next(own) for _ in range(stops[place] - starts[place])]
            synonyms = _distinct(texts, primary[place]) if caps.synonyms else ()
            definition = kb.definition_of(number) if caps.definition else ""
            parents, children, siblings = (tuple(next(names) for _ in part) for part in near[place])
            text = EntityText(
                primary[place], synonyms, _shortened(definition, caps.definition_words), parents, children, siblings
            )
            self._known[number] = _Known(text, tuple(map(trigrams, synonyms)))

    def _parents(self, number: int) -> np.ndarray:
        return self._row(self.kb.parent_matrix, number)

    def _children(self, number: int) -> np.ndarray:
        return self._row(self.kb.child_matrix, number)

    def _siblings(self, number: int) -> np.ndarray:
        """Return the first few other children of all parents; rows of the matrix are ascending, so a few of each do."""
        most = self.caps.siblings
        if not most:
            return np.empty(0, np.int32)
        found = _joined(self._children(int(parent))[: most + 1] for parent in self._parents(number))
        return np.unique(found[found != number])[:most]

    @staticmethod
    def _row(matrix: Any, number: int) -> np.ndarray:
        return np.asarray(matrix.indices[matrix.indptr[number] : matrix.indptr[number + 1]])


def entity_text(kb: KnowledgeBase, number: int, mention: str, caps: Caps | None = None) -> EntityText:
    """Return the text of one entity for one mention; for many, make ``EntityTexts`` once."""
    return EntityTexts(kb, caps)([number], mention)[0]


def render(text: EntityText) -> str:
    """Write a candidate on one line, as PILOT does, with only the parts that it has.

    Names from an ontology stay where they are put: special tokens are neutral, brackets that do not match are gone,
    and a name cannot pretend to be another part of the line.
    """
    parts = [_clean(text.name)]
    if text.synonyms:
        parts.append(f"(synonyms: {_listed(text.synonyms)})")
    for label, value in [("definition", _clean(text.definition)), ("parents", _listed(text.parents)),
                         ("children", _listed(text.children)), ("siblings", _listed(text.siblings))]:  # fmt: skip
        if value:
            parts.append(f"[{label}: {value}]")
    return " ".join(parts)


def trigrams(text: str) -> frozenset[str]:
    """Return the character trigrams of a normalised text, padded so that its beginning counts more."""
    padded = f"  {normalise(text)} "
    return frozenset(padded[start : start + 3] for start in range(len(padded) - 2))


def similarity(one: frozenset[str], other: frozenset[str]) -> float:
    """Return Dice's coefficient, from 0 to 1."""
    return 2 * len(one & other) / (len(one) + len(other) or 1)


def _distinct(texts: Iterable[str], name: str) -> tuple[str, ...]:
    """Drop texts equal to the name, or to an earlier one, after ``normalise()``."""
    first = {normalise(name): name}
    for text in texts:
        first.setdefault(normalise(text), text)
    return tuple(first.values())[1:]


def _shortened(text: str, n_words: int) -> str:
    words = text.split()
    return " ".join(words) if len(words) <= n_words else " ".join(words[:n_words]) + " …"


def _joined(parts: Iterable[np.ndarray]) -> np.ndarray:
    arrays = list(parts)
    return np.concatenate(arrays) if arrays else np.empty(0, np.int32)


def _listed(names: Sequence[str]) -> str:
    return "; ".join(filter(None, (_clean(name).replace(";", ",") for name in names)))


def _clean(text: str) -> str:
    return _LABELS.sub(r"\1", neutral(_balanced(text)))  # in this order: without a bracket, a text may be a token


def _balanced(text: str) -> str:
    """Drop round and square brackets that have no partner, so that a text cannot close what is open around it."""
    if not any(bracket in text for bracket in "()[]"):
        return text
    open_at: list[int] = []
    drop = set()
    for place, character in enumerate(text):
        if character in _PAIRS.values():
            open_at.append(place)
        elif character in _PAIRS:
            if open_at and text[open_at[-1]] == _PAIRS[character]:
                open_at.pop()
            else:
                drop.add(place)
    drop.update(open_at)
    return "".join(character for place, character in enumerate(text) if place not in drop)
