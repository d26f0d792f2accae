"""Several views of one pool of candidates made one score: a weighted sum of z-scores (PILOT, section 3.3)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from .errors import ConfigError, Errors
from .types import Floats1d, Floats2d, Ints1d, Ints2d

EXACT_NAME, EXACT_SYNONYM, NOT_EXACT = 0, 1, 2
"""How a candidate's names meet the mention's very text; the lower wins a tie."""

Bools2d = npt.NDArray[np.bool_]


def check_weights(weights: Mapping[str, float], setting: str = "weights") -> dict[str, float]:
    """Return the weights of the views as they are, if they can be used.

    Raises:
        ConfigError: One is negative or not finite, or none is above 0.
    """
    values = dict(weights)
    if not all(0 <= value < math.inf for value in values.values()) or not any(values.values()):
        wanted = "weights by view, 0 or more, one of them above 0, such as {'surface': 0.5, 'context': 0.5}"
        raise ConfigError(Errors.SETTING_VALUE.format(setting=setting, given=values, wanted=wanted))
    return values


def zscores(scores: Floats1d) -> Floats1d:
    """Standardise the scores of one pool, (K,).

    Mean and deviation are those of the finite scores. NaN (unknown) gets 0, the mean; -inf the lowest and +inf the
    highest finite z. A constant pool, a single candidate and one without any finite score get zeros.
    """
    scores = np.asarray(scores, np.float32)
    return np.asarray(batch_zscores(scores[None], np.ones((1, len(scores)), bool))[0], np.float32)


def batch_zscores(scores: Floats2d, valid: Bools2d) -> Floats2d:
    """Standardise each row, (B, K), over its places that are ``valid``; the others get 0."""
    exact = np.asarray(scores, np.float64)
    finite = valid & np.isfinite(exact)
    count = np.maximum(finite.sum(axis=1, keepdims=True), 1)
    values = np.where(finite, exact, 0.0)
    mean = values.sum(axis=1, keepdims=True) / count
    offsets = np.where(finite, exact - mean, 0.0)
    deviation = np.sqrt((offsets**2).sum(axis=1, keepdims=True) / count)
    # The mean of equal numbers need not equal them to the last bit.
    constant = deviation <= 1e-7 * np.maximum(np.abs(values).max(axis=1, keepdims=True, initial=0.0), 1e-30)
    z = np.divide(offsets, deviation, out=np.zeros_like(offsets), where=~constant)
    lowest, highest = z.min(axis=1, keepdims=True, initial=0.0), z.max(axis=1, keepdims=True, initial=0.0)
    z = np.where(valid & np.isneginf(exact), lowest, z)
    z = np.where(valid & np.isposinf(exact), highest, z)
    return np.asarray(z, np.float32)


def fuse(views: Mapping[str, Floats1d], weights: Mapping[str, float]) -> Floats1d:
    """Mix the views' z-scores of one pool, (K,): with two views, ``(1 - alpha) z(surface) + alpha z(context)``.

    Weights are shared out among the views that have a finite score; a view without a weight counts nothing. If that
    leaves no weight, the views that have scores count alike.

    Args:
        views: Scores by view, each (K,).
        weights: Weights by view, as ``check_weights`` lets them pass.
    """
    k = len(next(iter(views.values()), ()))
    batch = {name: np.asarray(scores, np.float32)[None] for name, scores in views.items()}
    return np.asarray(batch_fuse(batch, weights, np.ones((1, k), bool))[0], np.float32)


def batch_fuse(views: Mapping[str, Floats2d], weights: Mapping[str, float], valid: Bools2d) -> Floats2d:
    """Mix the views of B pools at once, (B, K); places that are not ``valid`` get -inf."""
    total = np.zeros(valid.shape, np.float64)
    for share, scores in zip(batch_shares(views, weights, valid), views.values(), strict=True):
        if share.any():
            total += share[:, None] * batch_zscores(scores, valid)
    return np.where(valid, total, -np.inf).astype(np.float32)


def batch_shares(views: Mapping[str, Floats2d], weights: Mapping[str, float], valid: Bools2d) -> Floats2d:
    """Share out the weights among the V views that have a finite score in each of B pools, (V, B), as ``fuse`` does."""
    if not views:
        return np.zeros((0, len(valid)), np.float64)
    known = np.stack([(valid & np.isfinite(scores)).any(axis=1) for scores in views.values()])
    weight = known * np.array([weights.get(name, 0.0) for name in views])[:, None]
    weight = np.where(weight.any(axis=0), weight, known)  # nothing of weight here: what there is decides
    return np.asarray(weight / np.maximum(weight.sum(axis=0), 1e-30))


def shares(views: Mapping[str, Floats1d], weights: Mapping[str, float]) -> dict[str, float]:
    """Return the share of each view that has a finite score in one pool, (K,)."""
    batch = {name: np.asarray(scores, np.float32)[None] for name, scores in views.items()}
    k = len(next(iter(views.values()), ()))
    found = batch_shares(batch, weights, np.ones((1, k), bool))[:, 0].tolist()
    return {name: share for (name, own), share in zip(batch.items(), found, strict=True) if np.isfinite(own).any()}


def rank(fused: Floats1d, exactness: Sequence[int] | Ints1d) -> Ints1d:
    """Return the order of the candidates, best first, (K,).

    Args:
        fused: Their scores.
        exactness: ``EXACT_NAME``, ``EXACT_SYNONYM`` or ``NOT_EXACT`` of each: decides between equal scores; then their
            order so far does, in which the retriever has put what it knows.
    """
    return np.lexsort((ties(exactness), -np.asarray(fused))).astype(np.int32)


def ties(exactness: Sequence[int] | Ints1d) -> Ints1d:
    """Return the place of each candidate where scores do not decide, (K,): by exactness, then in the order so far."""
    place = np.empty(len(exactness), np.int32)
    place[np.argsort(exactness, kind="stable")] = np.arange(len(exactness))
    return place


def batch_order(fused: Floats2d, tie: Ints2d) -> Ints2d:
    """Return the order of each row, best first, (B, K); ``tie`` has the places of ``ties`` row by row."""
    return np.lexsort((tie, -fused), axis=1).astype(np.int32)
