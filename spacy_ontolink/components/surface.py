"""``ontolink_surface_rerank``: a second pass over the retriever's candidates, by rows (PILOT, 3.2) and by words."""

# No "from __future__ import annotations" here: spaCy checks the config against this signature.
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from spacy.language import Language

from ..errors import check_setting
from ..types import Floats2d, Ints2d, Mention
from .base import Part
from .linking import query_of
from .listening import ANY
from .spans import Answer
from .stage import Item, Stage, reranked

if TYPE_CHECKING:
    from ..space import Query, Wording

__all__ = ["SurfaceReranker", "SurfaceSettings", "make_surface_rerank"]


@dataclass(frozen=True, slots=True)
class SurfaceSettings:
    """What ``make_surface_rerank`` documents.

    Raises:
        ConfigError: A setting makes no sense.
    """

    weights: Sequence[float] | None = None
    pooling: float | None = None
    name_pooling: float | None = None
    wording: float = 0.03

    def __post_init__(self) -> None:
        weights = self.weights
        fine = weights is None or (len(weights) == 3 and all(0 <= w < math.inf for w in weights) and any(weights))
        wanted = "null, or three weights of 0 or more, not all 0: of the mention, its standard name and its hypernym"
        check_setting("weights", weights, fine, wanted)
        for setting in ("pooling", "name_pooling"):
            value = getattr(self, setting)
            check_setting(setting, value, value is None or 0 <= value < math.inf, "null, 0 (off) or a positive weight")
        check_setting("wording", self.wording, 0 <= self.wording < math.inf, "0 (off) or a positive weight")


class SurfaceReranker(Stage):
    """Scores candidates by their names once more: by rows that may be pooled otherwise, and by the words that differ.

    The score is ``cos(q, row) + wording · m · log p``, where ``m · log p`` is ``space.Wording``'s: ``m`` is how much of
    the mention the retriever's first candidate has in its words. That of an exact name stays.
    """

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
        self._wording: Wording | None = None

    @property
    def reads_reformulations(self) -> bool:
        """Whether standard name or hypernym have weight."""
        return any((self.settings.weights or ())[1:])

    @property
    def resolved(self) -> SurfaceSettings:
        """The settings, with the retriever's where there are none of its own."""
        theirs = self.provider.settings
        own = {name: getattr(self.settings, name) for name in ("weights", "pooling", "name_pooling")}
        return replace(self.settings, **{name: getattr(theirs, name) for name, value in own.items() if value is None})

    @property
    def wording(self) -> "Wording":
        """What was learned of words, from the names of the knowledge base as it is."""
        from ..space import Wording

        if self._wording is None or self._wording.kb != self.provider.kb.hash:
            self._wording = Wording.learn(self.provider.space)
        return self._wording

    def parts(self) -> dict[str, Part]:
        """Return what was learned of words, if it has weight."""
        learned = self._wording is not None
        return {"wording": Part(self._write, self._load, learned)} if self.settings.wording else {}

    def unloaded(self) -> dict[str, Any]:
        """Return the state without what was learned."""
        return {"_wording": None}

    def _write(self, path: Path) -> None:
        if self.provider is not None:
            self.wording.to_disk(path)

    def _load(self, path: Path) -> object:
        from ..space import Wording

        self._wording = Wording.from_disk(path) if path.exists() else None  # a folder of an earlier version has none
        return self._wording or self

    def revise(self, items: Sequence[Item]) -> list[Answer | None]:
        """Score each distinct mention's candidates."""
        from ..space import level

        kb = self.provider.kb
        keys = [self._keys(item) for item in items]
        distinct = {key: number for number, key in enumerate(dict.fromkeys(key for own in keys for key in own))}
        queries = [query_of(mention, dict(texts)) for mention, texts, _ in distinct]
        candidates = np.full((len(distinct), max(len(ids) for *_, ids in distinct)), -1, np.int32)
        there = np.arange(candidates.shape[1]) < np.array([len(ids) for *_, ids in distinct])[:, None]
        candidates[there] = kb.numbers_of([id for *_, ids in distinct for id in ids])
        scores = self.scores(queries, candidates)
        return [
            reranked(item.answer, self.view, level(scores[[distinct[key] for key in own], : len(own[0][-1])]))
            for item, own in zip(items, keys, strict=True)
        ]

    def scores(self, queries: "Sequence[Query]", candidates: Ints2d) -> Floats2d:
        """Score the candidates of queries, in the retriever's order and padded with -1, (B, K); -inf for none."""
        from ..space import CandidateScores, Pooling

        settings: Any = self.resolved  # of which none is None
        space = self.provider.space
        by_row = CandidateScores(space, queries, candidates, Pooling(settings.name_pooling, settings.pooling))
        added = None
        if settings.wording:
            added = settings.wording * self.wording.of_queries(space.kb, queries, candidates)
        return by_row.mixed(settings.weights, added)

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
        "weights": None,
        "pooling": None,
        "name_pooling": None,
        "wording": 0.03,
        "batch_size": 128,
    },
)
def make_surface_rerank(
    nlp: Language,
    name: str,
    upstream: str,
    weights: list[float] | None,
    pooling: float | None,
    name_pooling: float | None,
    wording: float,
    batch_size: int,
) -> SurfaceReranker:
    """Make the component that scores candidates by their names once more; it never changes which ones there are.

    Args:
        nlp: The pipeline.
        name: The component's name.
        upstream: The name of the retriever whose candidates are scored; "*" for the nearest before it.
        weights: Of the mention, its standard name and its hypernym in the query; null for the retriever's.
        pooling: Weight of the neighbours in the hierarchy in an entity's rows (lambda); null for the retriever's.
        name_pooling: Weight of the entity's other names in the row of each of its names; null for the retriever's.
        wording: Weight of the words in which a mention and a name differ, compared as the ontology's own synonyms
            teach it; 0 for none, as in PILOT. It counts by the share of the mention that the retriever's first
            candidate has in its words. What is learned takes seconds, once for each ontology.
        batch_size: The most documents whose mentions are scored together.

    Source:
        PILOT (arXiv 2608.04144), section 3.2: the surface-form reranker. The wording is not in it.
    """
    settings = SurfaceSettings(weights=weights, pooling=pooling, name_pooling=name_pooling, wording=wording)
    return SurfaceReranker(name, settings, upstream=upstream, batch_size=batch_size, nlp=nlp)
