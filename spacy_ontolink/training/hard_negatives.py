"""Which candidates a reranker is to learn to reject: on arrays of one mention's pool, (K,), without any model.

PILOT mines hard ones (section 3.2), Sci-ZSEL draws them at random from the pool (appendix A.4.2).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..errors import check_setting
from ..types import Bools1d, Floats1d, Ints1d

Scheme = Literal["hard", "random"]
_DIGITS = 6  # of surface scores: beyond them a float32 says nothing, and a border would be drawn at random


@dataclass(frozen=True)
class Negatives:
    """How negatives are chosen, anew in every epoch.

    Attributes:
        scheme: "hard" for ``mine``, "random" for a draw from the pool.
        n: The most negatives of a right entity.
        n_semi_hard: The most of them from the semi-hard band.
        lower: How far a surface score may be below the right entity's: what is further below is too easy.
        upper: How far it must be below: what is closer may be right, too.

    Raises:
        ConfigError: A setting makes no sense.
    """

    scheme: Scheme = "hard"
    n: int = 8
    n_semi_hard: int = 5
    lower: float = 0.30
    upper: float = 0.02

    def __post_init__(self) -> None:
        check_setting("negatives.scheme", self.scheme, self.scheme in ("hard", "random"), '"hard" or "random"')
        check_setting("negatives.n", self.n, self.n > 0, "a positive number")
        fine = 0 <= self.n_semi_hard <= self.n
        check_setting("negatives.n_semi_hard", self.n_semi_hard, fine, f"a number from 0 to n = {self.n}")
        fine = 0 <= self.upper <= self.lower
        check_setting("negatives.upper", self.upper, fine, f"a difference from 0 to lower = {self.lower}")


def in_band(surface: Floats1d, gold_surface: float, lower: float, upper: float) -> Bools1d:
    """Tell which candidates' surface scores are within ``[gold - lower, gold - upper]``, (K,); borders belong to it."""
    below = np.round(float(gold_surface) - surface.astype(np.float64), _DIGITS)
    return np.asarray((below >= upper) & (below <= lower))


def mine(
    wrong: Bools1d,
    surface: Floats1d,
    own: Floats1d,
    gold_surface: float,
    negatives: Negatives,
    chance: np.random.Generator,
) -> Ints1d:
    """Choose hard negatives: some of the semi-hard band, then what the reranker itself ranks highest (PILOT, 3.2).

    Args:
        wrong: Which candidates are none of the mention's right entities, (K,).
        surface: Their surface scores, (K,).
        own: Their scores by the reranker in training, (K,); those without a number go last.
        gold_surface: The surface score of the right entity.
        negatives: How many, and the band.
        chance: Draws from the band.

    Returns:
        Positions in the pool, ``n`` at most, those of the band first.
    """
    band = np.flatnonzero(wrong & in_band(surface, gold_surface, negatives.lower, negatives.upper))
    drawn = chance.permutation(band)[: negatives.n_semi_hard]
    order = np.argsort(-np.where(np.isnan(own), -np.inf, own), kind="stable")
    rest = order[wrong[order] & ~np.isin(order, drawn)]
    return np.concatenate([drawn, rest[: negatives.n - len(drawn)]]).astype(np.int32)


def candidate_set(candidates: Ints1d, gold: int, others: Collection[int] = ()) -> Ints1d:
    """Return the wrong entities to draw from: the pool without the right ones (Sci-ZSEL, A.4.2).

    An entity that is not in the pool takes the place of the last candidate, so that there are K candidates with it.

    Args:
        candidates: Entity numbers, best first, (K,).
        gold: The right entity.
        others: Further right entities of the mention.
    """
    room = len(candidates) - (gold not in candidates)
    wrong = ~np.isin(candidates, [gold, *others])
    return candidates[wrong][: max(room, 0)]


def draw(candidates: Ints1d, n: int, chance: np.random.Generator) -> Ints1d:
    """Draw ``n`` of the candidates at most, each once."""
    return chance.permutation(candidates)[:n]
