"""Names of entities that a language model makes of their definitions (Sci-ZSEL, 5.2.2)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Alias:
    """One generated name of an entity, with its provenance.

    Attributes:
        entity: The entity's id.
        text: The name.
        model: The id of the language model.
        prompt: The version of the prompt.
        answer: The hash of the raw answer that the name was taken from.
    """

    entity: str
    text: str
    model: str = ""
    prompt: str = ""
    answer: str = ""
