"""The steps of ``ontolink tune``: the pipeline's own stages score the mentions once, then grids are searched.

What is found goes into the components, and into the config that is saved with them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..components.cascade import unique_names
from ..components.fuse import VIEWS, tables_of
from ..components.linking import query_of
from ..components.spans import read_answer, read_spans
from ..components.stage import Item
from ..documents import SPANS_KEY
from ..errors import DataError
from ..indexes.exact import ExactIndex
from ..space import Pooling
from ..training.grids import Setting, Step, folds
from ..training.rejection import Rejection, tune_rejection
from ..training.tuning import (
    Lookups,
    Pools,
    gold_among,
    leads,
    mix,
    tune_alpha,
    tune_cascade,
    tune_retriever,
    tune_surface,
)
from ..types import Ints1d, Ints2d, Mention, Reformulation, Reformulator
from .tuning_data import Dev

if TYPE_CHECKING:
    from spacy.language import Language

    from ..space import EntitySpace

Bar = Callable[[str], AbstractContextManager[Callable[[int, int], None]]]


class Remembering:
    """A reformulator that is asked once for each mention, however often its pools are made anew."""

    def __init__(self, reformulator: Reformulator) -> None:
        self._asked = reformulator
        self._known: dict[Mention, Reformulation] = {}

    def reformulate(self, mentions: Sequence[Mention]) -> list[Reformulation]:
        """Rewrite each mention."""
        new = [mention for mention in dict.fromkeys(mentions) if mention not in self._known]
        self._known.update(zip(new, self._asked.reformulate(new) if new else [], strict=True))
        return [self._known[mention] for mention in mentions]


@dataclass
class Tuned:
    """What tuning found.

    Attributes:
        steps: The steps, in order.
        settings: The tuned settings by view: of ``retriever``, ``surface``, ``context`` and ``fused``.
        rejection: Calibration and threshold, if there was enough to fit them to.
        notes: What else is to be said.
    """

    steps: list[Step] = field(default_factory=list)
    settings: dict[str, Setting] = field(default_factory=lambda: {view: {} for view in (*VIEWS, "fused")})
    rejection: Rejection | None = None
    notes: list[str] = field(default_factory=list)


class Tuner:
    """Tunes the stages of one retriever on mentions, some of whose entities are hidden.

    The components are left as tuning needed them; ``applying.apply`` puts them right.

    Args:
        nlp: The pipeline; only this retriever is enabled.
        retriever: The retriever.
        dev: The mentions.
        hidden: Numbers of the entities that no mention may get.
        bar: Shows progress.
    """

    def __init__(self, nlp: Language, retriever: Any, dev: Dev, hidden: Ints1d, bar: Bar) -> None:
        self.nlp, self.retriever, self.dev, self.hidden, self.bar = nlp, retriever, dev, hidden, bar
        self.stages = {stage.view: stage for stage in retriever.stages}
        self.gold = [gold - set(hidden.tolist()) for gold in dev.gold]
        self.fold = folds([span.text for doc in dev.docs for span in read_spans(doc, SPANS_KEY)])
        self.tuned = Tuned()

    def tune(self, precision: float | None) -> Tuned:
        """Tune everything that the pipeline has.

        Raises:
            DataError: No threshold reaches the precision.
        """
        retriever = self.retriever
        if fuser := self.stages.get("fused"):
            self.nlp.disable_pipe(fuser.name)  # what it does not need now it may need when tuned
        retriever.settings = replace(retriever.settings, spans_key=SPANS_KEY, threshold=None, overwrite=True)
        if retriever.reformulator is not None:
            retriever.reformulator = Remembering(retriever.reformulator)
            retriever.always_reformulate = True
        self._use(self.dev.space)
        self._run(retriever, "Looking mentions up")
        self._tune_retriever()
        if surface := self.stages.get("surface"):
            self._tune_surface(surface)
        if context := self.stages.get("context"):
            cascades = context.settings.cascade_exact or context.settings.cascade_margin is not None
            context.settings = replace(context.settings, cascade_exact=False, cascade_margin=None)
            self._run(context, "Scoring candidates in context")
        numbers, items = self._items()
        pools = self._pools(numbers, items)
        linkable = np.array([bool(self.gold[number]) for number in numbers], bool)
        weights = self._tune_weights(pools.take(linkable))
        passed = np.zeros(len(numbers), bool)
        if weights["context"] and weights["context"] < 1 and "context" in pools.views:
            passed = self._tune_cascade(pools, linkable, weights, items, bool(cascades))
        used = [view for view in VIEWS if view == "retriever" or weights[view]]
        self._reject(pools.seen(used, {"context": passed}), weights, ~linkable, precision)
        return self.tuned

    def _use(self, space: EntitySpace) -> None:
        self.space = space
        self.retriever.adopt(space)
        self.retriever.hide(self.hidden)

    def _run(self, component: Any, doing: str) -> None:
        with self.bar(doing) as report:
            for number, _ in enumerate(component.pipe(self.dev.docs), start=1):
                report(number, len(self.dev.docs))

    def _items(self, empty: bool = False) -> tuple[list[int], list[Item]]:
        """Return the numbers of the mentions that have candidates, and what was said; or that were looked up at all."""
        spans = [(doc, span) for doc in self.dev.docs for span in read_spans(doc, SPANS_KEY)]
        found = [
            (number, Item(span, doc.text, answer))
            for number, (doc, span) in enumerate(spans)
            if (answer := read_answer(span, SPANS_KEY, self.retriever.name)) and (empty or answer.columns["id"])
        ]
        return [number for number, _ in found], [item for _, item in found]

    def _lookups(self) -> tuple[Lookups, Ints2d]:
        """Return the mentions that have an entity, and their candidates, (B, K)."""
        retriever, settings = self.retriever, self.retriever.settings
        linkable = [pair for pair in zip(*self._items(empty=True), strict=True) if self.gold[pair[0]]]
        numbers, items = [number for number, _ in linkable], [item for _, item in linkable]
        mentions = [item.mention(retriever.n_context, settings.n_sents) for item in items]
        labels = [item.span.label_ for item in items]
        lookups = Lookups(
            [query_of(mention, item.answer.texts) for mention, item in zip(mentions, items, strict=True)],
            [self.gold[number] for number in numbers],
            [retriever.masks[label if label in settings.label_filters else ""] for label in labels],
            self.fold[numbers],
        )
        return lookups, self._candidates(items, settings.k)

    def _candidates(self, items: Sequence[Item], k: int) -> Ints2d:
        ids = [item.answer.columns["id"] for item in items]
        valid = np.arange(k) < np.array([len(own) for own in ids], int)[:, None]
        table = np.full(valid.shape, -1, np.int32)
        table[valid] = self.space.kb.numbers_of([id for own in ids for id in own])
        return table

    def _pools(self, numbers: Sequence[int], items: Sequence[Item]) -> Pools:
        views, valid, tie = tables_of(items)
        right = gold_among(self._candidates(items, valid.shape[1]), [self.gold[number] for number in numbers])
        return Pools(views, valid, right, tie, self.fold[list(numbers)])

    def _tune_retriever(self) -> None:
        settings = self.retriever.settings
        lookups, _ = self._lookups()
        with self.bar("Tuning the retriever") as report:
            at = None if self.stages.keys() & {"surface", "context"} else 1
            step = tune_retriever(self.space, lookups, settings.k, _present(settings), at=at, tick=report)
        self._note(step, "retriever")
        if step.changed:
            self.retriever.settings = replace(settings, **step.after)
            self._use(self.space.repooled(Pooling(settings.name_pooling, step.after["pooling"]), ExactIndex()))
            self._run(self.retriever, "Looking mentions up anew")

    def _tune_surface(self, surface: Any) -> None:
        lookups, candidates = self._lookups()
        present, names = _present(surface.settings), surface.settings.name_pooling
        with self.bar("Tuning the surface stage") as report:
            step = tune_surface(self.space, lookups, candidates, present, names, report)
        self._note(step, "surface")
        surface.settings = replace(surface.settings, **step.after)
        self._run(surface, "Scoring names")

    def _tune_weights(self, pools: Pools) -> dict[str, float]:
        """Return the weights of all views, with alpha tuned if there is a context to weigh."""
        fuser, last = self.stages.get("fused"), [view for view in VIEWS if view in pools.views][-1:]
        present = {view: 0.0 for view in VIEWS} | (fuser.weights if fuser else dict.fromkeys(last, 1.0))
        if "context" in pools.views:
            names = {view: weight for view, weight in present.items() if view in pools.views and view != "context"}
            if not any(names.values()):
                names["surface" if "surface" in names else "retriever"] = 1.0
            total = sum(names.values())
            alpha = present["context"] / (present["context"] + sum(present[view] for view in names) or 1.0)
            base = {view: weight / total for view, weight in names.items()}
            step = tune_alpha(pools, base, "context", round(alpha, 4))
            self._note(step)
            present = {view: 0.0 for view in VIEWS} | mix(base, "context", step.after["alpha"])
        self.tuned.settings["fused"]["weights"] = present
        return present

    def _tune_cascade(
        self, pools: Pools, linkable: np.ndarray, weights: dict[str, float], items: Sequence[Item], wanted: bool
    ) -> np.ndarray:
        """Report what a cascade would save; if one is wanted, return the mentions that it passes over, (B,)."""
        base = "surface" if "surface" in pools.views else "retriever"
        texts = [item.mention().text for item in items]
        names = unique_names(self.space.kb, texts)
        ids = [
            item.answer.columns["id"][place] for item, place in zip(items, pools.first(pools.views[base]), strict=True)
        ]
        decided = np.array([names.get(text) == id for text, id in zip(texts, ids, strict=True)], bool)
        step = tune_cascade(pools.take(linkable), base, "context", weights, decided[linkable])
        if not wanted:
            self._note(replace(step, note=f"{step.note}; not applied, since the pipeline has no cascade"))
            return np.zeros(len(items), bool)
        self._note(step, "context")
        margin = step.after["cascade_margin"]
        far = leads(pools.views[base], pools.valid) >= (np.inf if margin is None else margin)
        return np.asarray((decided & step.after["cascade_exact"]) | (far & (margin is not None)))

    def _reject(self, pools: Pools, weights: dict[str, float], is_nil: np.ndarray, precision: float | None) -> None:
        try:
            rejection = tune_rejection(pools, pools.fused(weights), is_nil, precision)
        except DataError as error:
            if precision is not None:
                raise
            self.tuned.notes.append(f"no calibration: {error}")
            return
        self.tuned.rejection = rejection
        self.tuned.steps += rejection.steps
        self.tuned.settings["fused"] |= {
            "calibration": rejection.calibration.to_config(),
            "threshold": rejection.threshold,
        }

    def _note(self, step: Step, view: str = "") -> None:
        self.tuned.steps.append(step)
        if view and step.changed:
            self.tuned.settings[view] |= step.after


def _present(settings: Any) -> Setting:
    return {"weights": [float(weight) for weight in settings.weights], "pooling": float(settings.pooling)}
