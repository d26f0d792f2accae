"""Examples for a prompt, drawn from the ontology itself (Sci-ZSEL, A.1)."""

from __future__ import annotations

import random
from typing import NamedTuple

from ..kb import KnowledgeBase
from ..text import normalise
from ..types import Entity

_POOL = 64  # examples to choose from, since those near an entity must not be shown to it
_DRAWS = 50_000
_MOST_NAMES = 4


class Example(NamedTuple):
    """An entity's number, and the lines that show its definition and its names."""

    number: int
    lines: tuple[str, str]


def draw_examples(kb: KnowledgeBase, seed: int, max_words: int) -> list[Example]:
    """Draw entities with a definition and plain names, those with synonyms first."""
    order = random.Random(seed).sample(range(len(kb)), min(len(kb), _DRAWS))
    ids = (kb.ids_of([number])[0] for number in order if kb.definition_of(number).strip())
    found: list[tuple[int, Example]] = []
    for id in ids:
        entity = kb[id]
        synonyms = [synonym.text for synonym in entity.synonyms if synonym.scope == "EXACT"]
        names = [name for name in (entity.name, *synonyms) if _is_plain(name, max_words)][:_MOST_NAMES]
        if _is_plain(entity.name, max_words) and _shows_something(entity):
            lines = (f"Definition: {entity.definition}", f"Names: {', '.join(names)}")
            found.append((len(names) < 2, Example(kb.number_of(id), lines)))
        if len(found) == _POOL:
            break
    return [example for _, example in sorted(found, key=lambda pair: pair[0])]


def _is_plain(name: str, max_words: int) -> bool:
    """Tell whether a name can stand in a list with commas."""
    return not set(name) & set(",;|\n") and len(name.split()) <= max_words


def _shows_something(entity: Entity) -> bool:
    """Tell whether the definition is of a common length and does not give the name away."""
    definition = normalise(entity.definition)
    return 4 <= len(definition.split()) <= 60 and normalise(entity.name) not in definition
