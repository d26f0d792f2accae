"""The ontology-aware filter: an alias must be near its entity, and nearer than any neighbour (Sci-ZSEL, 5.2.2)."""

from __future__ import annotations

from dataclasses import dataclass

from .aliases import Alias


@dataclass(frozen=True, slots=True)
class Judged:
    """An alias with what the filter says of it.

    Attributes:
        alias: The alias.
        anchor: Similarity of the entity's name and the alias.
        drift: The highest similarity of a neighbour's name and the alias; -1 where there is no neighbour.
        neighbour: The id of the neighbour that won; "" where there is none.
        kept: Whether the alias passed.
        reason: Why not: "drift" (also where it is too far from its own name as well) or "anchor"; "" if it passed.
    """

    alias: Alias
    anchor: float
    drift: float
    neighbour: str
    kept: bool
    reason: str
