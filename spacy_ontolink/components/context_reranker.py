"""The context reranker as a component: which mentions it scores, what it shows of them, and its saved model."""

from __future__ import annotations

import copy
import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from spacy.language import Language

from ..errors import check_setting
from ..prompts.shown import Shown
from ..registry import check_part
from ..types import Floats1d, Mention, Reranker
from .base import Part
from .cascade import is_decided, unique_names
from .listening import ANY
from .spans import Answer
from .stage import Item, Stage, reranked

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ContextSettings(Shown):
    """What ``make_context_rerank`` documents.

    Raises:
        ConfigError: A setting makes no sense.
    """

    top_n: int | None = None
    cascade_exact: bool = False
    cascade_margin: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        top_n, margin = self.top_n, self.cascade_margin
        check_setting("top_n", top_n, top_n is None or top_n > 0, "null for all candidates, or a number above 0")
        fine = margin is None or (margin > 0 and math.isfinite(margin))
        check_setting("cascade_margin", margin, fine, "null, or a difference of scores above 0")


Key = tuple[Mention, tuple[str, ...]]
"""What makes two mentions one task: the mention in its context, and its candidates."""


class ContextReranker(Stage):
    """Scores the candidates of each distinct mention in context, with a reranker of any kind.

    Attributes:
        n_seen: Mentions that came here since the component was made.
        n_passed: Those of them that the cascade passed over.
    """

    view = "context"
    blocks = ("reranker",)

    def __init__(
        self,
        name: str = "ontolink_context_rerank",
        settings: ContextSettings = ContextSettings(),
        *,
        reranker: Reranker,
        upstream: str = ANY,
        batch_size: int = 16,
        nlp: Language | None = None,
    ) -> None:
        super().__init__(name, upstream, batch_size, nlp)
        self.settings = settings
        # Kept without state, as the config describes it: what is loaded is a copy, so that loading can be repeated.
        self._described = check_part(reranker, Reranker, "reranker")
        self._reranker: Reranker | None = None
        self.n_seen = self.n_passed = 0

    @property
    def reranker(self) -> Reranker:
        """The reranker; its weights load when it first scores."""
        if self._reranker is None:
            self._reranker = copy.deepcopy(self._described)
        return self._reranker

    def parts(self) -> dict[str, Part]:
        """Return the reranker."""
        return {"reranker": Part(lambda path: self.reranker.to_disk(path), self._load, self._reranker is not None)}

    def unloaded(self) -> dict[str, Any]:
        """Return the state without the reranker's."""
        return {"_reranker": None}

    def revise(self, items: Sequence[Item]) -> list[Answer | None]:
        """Score the candidates of the mentions that are not decided yet."""
        decided = self._decided(items)
        self.n_seen += len(items)
        self.n_passed += sum(decided)
        settings = self.settings
        keys = [
            None if skip else (item.mention(settings.n_context, settings.n_sents), tuple(item.answer.columns["id"]))
            for item, skip in zip(items, decided, strict=True)
        ]
        scores = self._score(list(dict.fromkeys(key for key in keys if key is not None)))
        return [
            None if key is None else reranked(item.answer, self.view, scores[key])
            for item, key in zip(items, keys, strict=True)
        ]

    def _decided(self, items: Sequence[Item]) -> list[bool]:
        exact, margin = self.settings.cascade_exact, self.settings.cascade_margin
        names = unique_names(self.provider.kb, [item.mention().text for item in items]) if exact else {}
        return [is_decided(item.answer, names.get(item.mention().text), margin) for item in items]

    def _score(self, keys: Sequence[Key]) -> dict[Key, Floats1d]:
        """Score the first candidates of each mention, (K,); the others get -inf."""
        from ..prompts.entity_text import EntityTexts

        if not keys:
            return {}
        kb = self.provider.kb
        describe = EntityTexts(kb, self.settings.caps)
        texts = [describe(kb.numbers_of(ids[: self.settings.top_n]), mention.text) for mention, ids in keys]
        found = self.reranker.score([mention for mention, _ in keys], texts)
        scores = {}
        for key, some in zip(keys, found, strict=True):
            scores[key] = np.full(len(key[1]), -np.inf, np.float32)
            scores[key][: len(some)] = some
        return scores

    def _load(self, path: Path) -> Reranker:
        self._reranker = copy.deepcopy(self._described).from_disk(path)
        return self._reranker
