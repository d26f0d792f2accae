"""What rerankers learn from: mentions with their pools, and of these, in every epoch, the right and some wrong ones."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..types import EntityText, Floats1d, Ints1d, Mention
from .hard_negatives import Negatives, candidate_set, draw, mine

Describe = Callable[[Sequence[int], str], list[EntityText]]
"""Gives the texts of entities, by number, for the text of a mention, as ``prompts.entity_text.EntityTexts`` does."""


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """A mention, the candidates that a retriever has for it, and which entities are right.

    Attributes:
        mention: The mention in its context.
        candidates: Entity numbers, best first, (K,).
        surface: Their surface scores, (K,).
        gold: All entities that are right, by the numbers that their ids lead to today, (G,); none is ever a negative.
        gold_surface: Their surface scores, be they in the pool or not, (G,).
        weights: What each of them counts, (G,).
    """

    mention: Mention
    candidates: Ints1d
    surface: Floats1d
    gold: Ints1d
    gold_surface: Floats1d
    weights: Floats1d


class CandidateSet(NamedTuple):
    """A mention with some entities to be told apart: the right one first, then wrong ones, at least one; its weight."""

    mention: Mention
    entities: tuple[int, ...]
    weight: float = 1.0


def choose_sets(
    pools: Sequence[Pool], negatives: Negatives, own: Sequence[Floats1d] | None, chance: np.random.Generator
) -> list[CandidateSet]:
    """Choose negatives for each right entity of each mention; one without anything to tell it from is left out.

    Args:
        pools: The mentions.
        negatives: How to choose.
        own: The reranker's scores of the pools, (K,) each, for hard negatives; None draws at random in any case.
        chance: Draws.
    """
    sets = []
    for number, pool in enumerate(pools):
        golds = zip(pool.gold.tolist(), pool.gold_surface.tolist(), pool.weights.tolist(), strict=True)
        for gold, gold_surface, weight in golds:
            if own is not None and negatives.scheme == "hard":
                wrong = ~np.isin(pool.candidates, pool.gold)
                places = mine(wrong, pool.surface, own[number], gold_surface, negatives, chance)
                chosen = pool.candidates[places]
            else:
                chosen = draw(candidate_set(pool.candidates, gold, pool.gold.tolist()), negatives.n, chance)
            if len(chosen):
                sets.append(CandidateSet(pool.mention, (gold, *chosen.tolist()), weight))
    return sets


def fingerprint(pools: Sequence[Pool]) -> str:
    """Return a hash of pools, by which a run that is resumed knows its data again."""
    digest = hashlib.sha256()
    for pool in pools:
        digest.update(repr((pool.mention, pool.candidates.tolist(), pool.gold.tolist())).encode())
        digest.update(np.concatenate([pool.surface, pool.gold_surface, pool.weights]).astype("<f4").tobytes())
    return digest.hexdigest()[:16]
