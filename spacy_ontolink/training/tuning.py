"""The paper's grids over what is computed once: vectors of mentions and rows, and the scores of fixed pools.

PILOT tunes the retriever by Recall@K and the surface pass by Recall@1, each with weights and lambda of its own (section
3.1 and 3.2), then alpha (3.3). No grid point encodes a text or asks a model.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..fusion import batch_fuse, batch_order
from ..indexes.exact import ExactIndex
from ..space import CandidateScores, EntitySpace, Pooling, Query, Wording, encode, retrieve
from ..types import Bools1d, Floats2d, Ints1d, Ints2d
from .grids import ALPHAS, POOLING, WORDING, Setting, Step, tune_grid, weight_grid

Tick = Callable[[int, int], None]


@dataclass(frozen=True)
class Lookups:
    """B mentions that have a gold entity, ready to be looked up.

    Attributes:
        queries: Their queries.
        gold: Numbers of the entities that are right, of which none is hidden.
        masks: The entities that each may get, (E,), equal objects for equal filters; None for all.
        fold: The fold of each, (B,).
    """

    queries: Sequence[Query]
    gold: Sequence[Collection[int]]
    masks: Sequence[Bools1d | None]
    fold: Ints1d

    def right(self, entities: Ints2d) -> np.ndarray:
        """Mark the gold among candidates, (B, K)."""
        return gold_among(entities, self.gold)


@dataclass(frozen=True)
class Pools:
    """The fixed candidates of B mentions, and what each view says of them; all tables (B, K).

    Attributes:
        views: Scores by view, NaN where there is none.
        valid: Which places hold a candidate.
        right: Which candidates are gold.
        tie: Places where scores do not decide, see ``fusion.ties``.
        fold: The fold of each mention, (B,).
    """

    views: Mapping[str, Floats2d]
    valid: np.ndarray
    right: np.ndarray
    tie: Ints2d
    fold: Ints1d

    def take(self, mentions: np.ndarray) -> Pools:
        """Select mentions by position or mask."""
        views = {name: table[mentions] for name, table in self.views.items()}
        return Pools(views, self.valid[mentions], self.right[mentions], self.tie[mentions], self.fold[mentions])

    def seen(self, views: Collection[str], passed: Mapping[str, Bools1d]) -> Pools:
        """Keep some views, blank where their stage passes mentions over, (B,)."""
        kept = {name: table.copy() for name, table in self.views.items() if name in views}
        for name, mentions in passed.items():
            if name in kept:
                kept[name][mentions] = np.nan
        return Pools(kept, self.valid, self.right, self.tie, self.fold)

    def fused(self, weights: Mapping[str, float]) -> Floats2d:
        """Mix the views, (B, K)."""
        return batch_fuse(self.views, weights, self.valid)

    def first(self, scores: Floats2d) -> Ints1d:
        """Return the place of each mention's best candidate, (B,)."""
        known = np.where(self.valid & ~np.isnan(scores), scores, -np.inf)
        return np.asarray(batch_order(known, np.where(self.valid, self.tie, self.tie.shape[1]))[:, 0])

    def right_first(self, scores: Floats2d) -> Bools1d:
        """Say whether each mention's best candidate is gold, (B,)."""
        return np.asarray(self.right[np.arange(len(self.right)), self.first(scores)])


def gold_among(entities: Ints2d, gold: Sequence[Collection[int]]) -> np.ndarray:
    """Mark the gold among entity numbers, (B, K); -1 is none."""
    most = max((len(numbers) for numbers in gold), default=0)
    wanted = np.full((len(gold), most), -2, np.int32)
    for row, numbers in zip(wanted, gold, strict=True):
        row[: len(numbers)] = sorted(numbers)
    return np.asarray((entities[:, :, None] == wanted[:, None, :]).any(axis=2))


def grid_of(space: EntitySpace, queries: Sequence[Query]) -> list[Setting]:
    """Return PILOT's grid of weights and lambda, the simplest first, without what makes no difference here.

    Weights are (1, 0, 0) where no query has a reformulation, and lambda is 0 where the KB has no hierarchy.
    """
    reformulated = any(query.standard_name or query.hypernym for query in queries)
    weights = weight_grid() if reformulated else weight_grid()[:1]
    pooling = POOLING if space.kb.parent_matrix.nnz else POOLING[:1]
    return [{"weights": mix, "pooling": lambda_} for mix in weights for lambda_ in pooling]


def tune_retriever(
    space: EntitySpace, lookups: Lookups, k: int, present: Setting, *, at: int | None = None, tick: Tick | None = None
) -> Step:
    """Tune weights and lambda of the retriever by Recall@K (section 3.1).

    Args:
        space: Its plain rows are pooled anew for each lambda, and searched exactly.
        lookups: Mentions.
        k: K.
        present: The present ``weights`` and ``pooling``.
        at: The depth that counts: K by default; 1 where no later stage puts the first candidate right.
        tick: See ``tune_grid``.
    """
    depth = at or k
    groups: dict[int, list[int]] = {}
    for number, mask in enumerate(lookups.masks):
        groups.setdefault(id(mask), []).append(number)
    batches = [(np.array(numbers), [lookups.queries[n] for n in numbers]) for numbers in groups.values()]
    encoded = [encode(space, queries) for _, queries in batches]
    pooled: dict[float, EntitySpace] = {space.pooling.hierarchy: space}

    def right_of(setting: Setting) -> Bools1d:
        lambda_ = setting["pooling"]
        if lambda_ not in pooled:
            pooled.clear()  # one at a time: pooled rows are as large as the ontology
            pooled[lambda_] = space.repooled(Pooling(space.pooling.names, lambda_), ExactIndex())
        entities = np.full((len(lookups.queries), k), -1, np.int32)
        for (numbers, queries), texts in zip(batches, encoded, strict=True):
            allowed = lookups.masks[numbers[0]]
            entities[numbers] = retrieve(pooled[lambda_], queries, k, allowed, setting["weights"], texts).entities
        return np.asarray(lookups.right(entities[:, :depth]).any(axis=1))

    grid = grid_of(space, lookups.queries)
    return _tune_by_pooling("retriever", f"recall_at_{depth}", grid, lookups, right_of, present, tick)


def tune_surface(
    space: EntitySpace,
    lookups: Lookups,
    candidates: Ints2d,
    present: Setting,
    name_pooling: float = 0.0,
    tick: Tick | None = None,
    wording: Wording | None = None,
) -> Step:
    """Tune weights, lambda and the weight of wording of the surface pass over fixed candidates by Recall@1 (3.2).

    Args:
        space: Where the candidates come from.
        lookups: Mentions.
        candidates: Entity numbers in the retriever's order, (B, K), padded with -1.
        present: The present ``weights``, ``pooling`` and ``wording``.
        name_pooling: The stage's weight of an entity's other names, which stays.
        tick: See ``tune_grid``.
        wording: What was learned of words; None if it has no weight, which stays.
    """
    encoded = encode(space, lookups.queries)
    right = lookups.right(candidates)
    words = None if wording is None else wording.of_queries(space.kb, lookups.queries, candidates)
    scored: dict[float, CandidateScores] = {}

    def right_of(setting: Setting) -> Bools1d:
        lambda_ = setting["pooling"]
        if lambda_ not in scored:
            scored.clear()
            scored[lambda_] = CandidateScores(
                space, lookups.queries, candidates, Pooling(name_pooling, lambda_), encoded
            )
        # Without weight there is nothing to add: 0 times the -inf of padding is no number, and argmax would choose it.
        added = None if words is None or not setting["wording"] else setting["wording"] * words
        first = scored[lambda_].mixed(setting["weights"], added).argmax(axis=1)
        return np.asarray(right[np.arange(len(right)), first])

    weights = [present["wording"]] if wording is None else WORDING
    grid = [setting | {"wording": weight} for setting in grid_of(space, lookups.queries) for weight in weights]
    return _tune_by_pooling("surface", "recall_at_1", grid, lookups, right_of, present, tick)


def _tune_by_pooling(
    name: str,
    measure: str,
    grid: Sequence[Setting],
    lookups: Lookups,
    right_of: Callable[[Setting], Bools1d],
    present: Setting,
    tick: Tick | None,
) -> Step:
    """Tune over the grid, computing lambda by lambda, since that is what costs."""
    settings = [*grid, *([] if present in grid else [present])]
    known: dict[str, Bools1d] = {}
    for number, setting in enumerate(sorted(settings, key=lambda setting: setting["pooling"]), start=1):
        known[str(setting)] = right_of(setting)
        if tick:
            tick(number, len(settings))
    return tune_grid(name, measure, grid, lambda setting: known[str(setting)], present=present, fold=lookups.fold)


def mix(base: Mapping[str, float], context: str, alpha: float) -> dict[str, float]:
    """Return the weights of the views: ``alpha`` for the context, the rest shared as in ``base``, which sums to 1."""
    return {**{view: round((1 - alpha) * share, 4) for view, share in base.items()}, context: alpha}


def tune_alpha(pools: Pools, base: Mapping[str, float], context: str, present: float) -> Step:
    """Tune alpha, the weight of the view ``context`` beside those of ``base``, by Recall@1 (section 3.3)."""

    def right_of(setting: Setting) -> Bools1d:
        return pools.right_first(pools.fused(mix(base, context, setting["alpha"])))

    grid: list[Setting] = [{"alpha": alpha} for alpha in ALPHAS]
    return tune_grid("fusion", "recall_at_1", grid, right_of, present={"alpha": present}, fold=pools.fold)
