"""``ontolink_surface_rerank``: the retriever's second pass over its own candidates (PILOT, section 3.2)."""

# No "from __future__ import annotations" here: spaCy checks the config against this signature.
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from spacy.language import Language

from ..errors import check_setting
from ..types import Mention
from .linking import query_of
from .listening import ANY
from .spans import Answer
from .stage import Item, Stage, reranked

__all__ = ["SurfaceReranker", "SurfaceSettings", "make_surface_rerank"]


@dataclass(frozen=True, slots=True)
class SurfaceSettings:
    """What ``make_surface_rerank`` documents.

    Raises:
        ConfigError: A setting makes no sense.
    """

    weights: Sequence[float] = (1.0, 0.0, 0.0)
    pooling: float = 0.0
    name_pooling: float = 0.0

    def __post_init__(self) -> None:
        fine = len(self.weights) == 3 and all(0 <= w < math.inf for w in self.weights) and any(self.weights)
        wanted = "three weights of 0 or more, not all 0: of the mention, its standard name and its hypernym"
        check_setting("weights", self.weights, fine, wanted)
        for setting in ("pooling", "name_pooling"):
            value = getattr(self, setting)
            check_setting(setting, value, 0 <= value < math.inf, "0 (off) or a positive weight")


class SurfaceReranker(Stage):
    """Scores candidates by their names with weights and pooling tuned for the first place, not for the whole pool."""

    view = "surface"

    def __init__(
        self,
        name: str = "ontolink_surface_rerank",
        settings: SurfaceSettings = SurfaceSettings(),
        *,
        upstream: str = ANY,
        batch_size: int = 128,
        nlp: Language | None = None,
    ) -> None:
        super().__init__(name, upstream, batch_size, nlp)
        self.settings = settings

    @property
    def reads_reformulations(self) -> bool:
        """Whether standard name or hypernym have weight."""
        return any(self.settings.weights[1:])

    def revise(self, items: Sequence[Item]) -> list[Answer | None]:
        """Score each distinct mention's candidates over the retriever's rows."""
        from ..space import CandidateScores, Pooling, level

        space = self.provider.space
        keys = [self._keys(item) for item in items]
        distinct = {key: number for number, key in enumerate(dict.fromkeys(key for own in keys for key in own))}
        queries = [query_of(mention, dict(texts)) for mention, texts, _ in distinct]
        candidates = np.full((len(distinct), max(len(ids) for *_, ids in distinct)), -1, np.int32)
        there = np.arange(candidates.shape[1]) < np.array([len(ids) for *_, ids in distinct])[:, None]
        candidates[there] = space.kb.numbers_of([id for *_, ids in distinct for id in ids])
        pooling = Pooling(self.settings.name_pooling, self.settings.pooling)
        scores = CandidateScores(space, queries, candidates, pooling).mixed(self.settings.weights)
        return [
            reranked(item.answer, self.view, level(scores[[distinct[key] for key in own], : len(own[0][-1])]))
            for item, own in zip(items, keys, strict=True)
        ]

    def _keys(self, item: Item) -> list[tuple[Mention, tuple[tuple[str, str], ...], tuple[str, ...]]]:
        """What the scores of a mention depend on: the mention, or each part of it, texts beside it, candidates."""
        mention = item.mention(self.provider.n_context, self.provider.settings.n_sents)
        ids = tuple(item.answer.columns["id"])
        if parts := list(dict.fromkeys(filter(None, item.answer.columns.get("part", ())))):
            return [(replace(mention, text=part), (), ids) for part in parts]
        return [(mention, tuple(item.answer.texts.items()), ids)]


@Language.factory(
    "ontolink_surface_rerank",
    assigns=["token.ent_kb_id", "span._.kb_ents", "span._.ontolink"],
    requires=["span._.ontolink"],
    default_config={
        "upstream": ANY,
        "weights": [1.0, 0.0, 0.0],
        "pooling": 0.0,
        "name_pooling": 0.0,
        "batch_size": 128,
    },
)
def make_surface_rerank(
    nlp: Language,
    name: str,
    upstream: str,
    weights: list[float],
    pooling: float,
    name_pooling: float,
    batch_size: int,
) -> SurfaceReranker:
    """Make the component that scores candidates by their names once more; it never changes which ones there are.

    Args:
        nlp: The pipeline.
        name: The component's name.
        upstream: The name of the retriever whose candidates are scored; "*" for the nearest before it.
        weights: Of the mention, its standard name and its hypernym in the query.
        pooling: Weight of the neighbours in the hierarchy in an entity's rows (lambda).
        name_pooling: Weight of the entity's other names in the row of each of its names.
        batch_size: The most documents whose mentions are scored together.

    Source:
        PILOT (arXiv 2608.04144), section 3.2: the surface-form reranker.
    """
    settings = SurfaceSettings(weights=weights, pooling=pooling, name_pooling=name_pooling)
    return SurfaceReranker(name, settings, upstream=upstream, batch_size=batch_size, nlp=nlp)
