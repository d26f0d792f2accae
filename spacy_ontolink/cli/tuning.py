"""The steps of ``ontolink tune``: the pipeline's own stages score the mentions once, then grids are searched.

What is found goes into the components, and into the config that is saved with them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..components.cascade import unique_names
from ..components.fuse import VIEWS, tables_of
from ..components.linking import query_of
from ..components.spans import NO_ANSWER, read_answer, read_spans
from ..components.stage import Item
from ..documents import SPANS_KEY
from ..errors import DataError, Errors
from ..indexes.exact import ExactIndex
from ..space import Pooling
from ..training.cascade import OFF, leads, passed_over, tune_cascade
from ..training.grids import Setting, Step, folds, show
from ..training.rejection import tune_rejection
from ..training.tuning import Lookups, Pools, gold_among, mix, tune_alpha, tune_retriever, tune_surface
from ..types import Bools1d, Ints1d, Ints2d, Mention, Reformulation, Reformulator
from .tuned import Tuned, present_rejection
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
        self.chain = [stage for stage in retriever.stages if stage.view in VIEWS]
        self.gold = [gold - set(hidden.tolist()) for gold in dev.gold]
        self.fold = folds([span.text for doc in dev.docs for span in read_spans(doc, SPANS_KEY)])
        self.threshold: float | None = retriever.settings.threshold
        self.tuned = Tuned()

    def tune(self, precision: float | None) -> Tuned:
        """Tune everything that the pipeline has.

        Raises:
            DataError: No mention has candidates, the context stage gives no score, or no threshold reaches the
                precision.
        """
        retriever = self.retriever
        if fuser := self.stages.get("fused"):
            self.nlp.disable_pipe(fuser.name)  # what it does not need now it may need when tuned
        retriever.settings = replace(retriever.settings, spans_key=SPANS_KEY, threshold=None, overwrite=True)
        if retriever.reformulator is not None:
            retriever.reformulator = Remembering(retriever.reformulator)
            retriever.always_reformulate = True
        self._use(self.dev.space)
        self._look_up("Looking mentions up")
        self._tune_retriever()
        cascade = OFF
        for stage in self.chain:
            if stage is not self.stages[stage.view]:
                self._run(stage, f"Scoring by {stage.name}")
                other = self.stages[stage.view].name
                self.tuned.notes.append(f"'{stage.name}' stays as it is: '{other}' after it is tuned instead")
            elif stage.view == "surface":
                self._tune_surface(stage)
            else:
                cascade = {key: getattr(stage.settings, key) for key in OFF}
                stage.settings = replace(stage.settings, **OFF)
                self._run(stage, "Scoring candidates in context")
        items = self._items()
        pools = self._pools(items)
        self._check_context(pools)
        linkable = np.array([bool(gold) for gold in self.gold], bool)
        weights = self._tune_weights(pools.take(linkable))
        passed = np.zeros(len(items), bool)
        if "context" in pools.views and weights["context"] and (weights["context"] < 1 or cascade != OFF):
            passed = self._tune_cascade(pools, linkable, weights, items, cascade)
        self._reject(pools, passed, weights, ~linkable, precision)
        return self.tuned

    def _use(self, space: EntitySpace) -> None:
        self.space = space
        self.retriever.adopt(space)
        self.retriever.hide(self.hidden)

    def _run(self, component: Any, doing: str) -> None:
        with self.bar(doing) as report:
            for number, _ in enumerate(component.pipe(self.dev.docs), start=1):
                report(number, len(self.dev.docs))

    def _look_up(self, doing: str) -> None:
        self._run(self.retriever, doing)
        items = self._items()
        if not any(item.answer.columns["id"] for item in items):
            raise DataError(Errors.NO_CANDIDATES.format(n=len(items), name=self.retriever.name))

    def _items(self) -> list[Item]:
        """Return what was said of each mention so far; of some that they have no candidates."""
        spans = [(doc, span) for doc in self.dev.docs for span in read_spans(doc, SPANS_KEY)]
        answers = [read_answer(span, SPANS_KEY, self.retriever.name) for _, span in spans]
        return [Item(span, doc.text, answer or NO_ANSWER) for (doc, span), answer in zip(spans, answers, strict=True)]

    def _lookups(self) -> tuple[Lookups, Ints2d]:
        """Return the mentions that have an entity, and their candidates, (B, K)."""
        retriever, settings = self.retriever, self.retriever.settings
        linkable = [(number, item) for number, item in enumerate(self._items()) if self.gold[number]]
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

    def _pools(self, items: Sequence[Item]) -> Pools:
        views, valid, tie = tables_of(items)
        right = gold_among(self._candidates(items, valid.shape[1]), self.gold)
        return Pools(views, valid, right, tie, self.fold)

    def _check_context(self, pools: Pools) -> None:
        """Refuse a context stage that gives no score at all, and tell of mentions that it failed on."""
        if (stage := self.stages.get("context")) is None:
            return
        some = np.asarray(pools.valid.any(axis=1))
        if "context" not in pools.views:
            raise DataError(Errors.NO_SCORES.format(name=stage.name, n=int(some.sum())))
        if failed := int((some & ~np.isfinite(pools.views["context"]).any(axis=1)).sum()):
            self.tuned.notes.append(f"'{stage.name}' failed on {failed:,} of {len(some):,} mentions")

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
            self._look_up("Looking mentions up anew")

    def _tune_surface(self, surface: Any) -> None:
        lookups, candidates = self._lookups()
        settings = surface.resolved
        present = _present(settings) | {"wording": float(settings.wording)}
        with self.bar("Tuning the surface stage") as report:
            wording = surface.wording if settings.wording else None
            step = tune_surface(self.space, lookups, candidates, present, settings.name_pooling, report, wording)
        self._note(step, "surface")
        surface.settings = replace(surface.settings, **step.after)
        self._run(surface, "Scoring names")

    def _tune_weights(self, pools: Pools) -> dict[str, float]:
        """Return the weights of all views, with alpha tuned if there is a context to weigh."""
        fuser, last = self.stages.get("fused"), self.chain[-1].view if self.chain else "retriever"
        present = dict.fromkeys(VIEWS, 0.0) | (fuser.weights if fuser else {last: 1.0})
        self.tuned.settings["fused"] = {"weights": present} if fuser else {}
        if "context" in pools.views:
            base = {view: weight for view, weight in present.items() if view in pools.views and view != "context"}
            if not any(base.values()):
                base[self._before_context()] = 1.0
            total = sum(base.values())
            alpha = present["context"] / (present["context"] + sum(present[view] for view in base) or 1.0)
            base = {view: weight / total for view, weight in base.items()}
            step = tune_alpha(pools, base, "context", round(alpha, 4))
            self._note(step)
            present = dict.fromkeys(VIEWS, 0.0) | mix(base, "context", step.after["alpha"])
            if fuser or step.changed:
                self.tuned.settings["fused"] = {"weights": present}
        return present

    def _before_context(self) -> str:
        """Return the view by which the candidates are ranked when the context stage gets them."""
        before = self.chain[: self.chain.index(self.stages["context"])]
        return str(before[-1].view) if before else "retriever"

    def _tune_cascade(
        self, pools: Pools, linkable: Bools1d, weights: dict[str, float], items: Sequence[Item], present: Setting
    ) -> Bools1d:
        """Tune the cascade if there is one, else report what it would save; return what is passed over, (B,)."""
        base = self._before_context()
        texts = [item.mention().text for item in items]
        names = unique_names(self.space.kb, texts)
        first = [
            item.answer.columns["id"][place] if item.answer.columns["id"] else ""
            for item, place in zip(items, pools.first(pools.views[base]), strict=True)
        ]
        decided = np.array([names.get(text) == id for text, id in zip(texts, first, strict=True)], bool)
        step = tune_cascade(pools.take(linkable), base, "context", weights, decided[linkable], present)
        if present == OFF:
            self._note(replace(step, note=f"{step.note}; not applied, since the pipeline has no cascade"))
            return np.zeros(len(items), bool)
        self._note(step, "context")
        return passed_over(step.after, decided, leads(pools.views[base], pools.valid))

    def _reject(
        self, pools: Pools, passed: Bools1d, weights: dict[str, float], is_nil: Bools1d, precision: float | None
    ) -> None:
        used = [view for view in VIEWS if view == "retriever" or weights[view]]
        seen, fuser = pools.seen(used, {"context": passed}), self.stages.get("fused")
        fused = seen.fused(weights)
        present = present_rejection(pools.seen(VIEWS, {"context": passed}), fused, self.threshold, fuser)
        try:
            rejection = tune_rejection(seen, fused, is_nil, precision, present)
        except DataError as error:
            if precision is not None:
                raise
            stays = "" if present is None else f" Rejected as before: {show(present.thresholds)}"
            self.tuned.notes.append(f"no calibration: {error}{stays}")
            return
        self.tuned.rejection = rejection
        self.tuned.steps += rejection.steps
        if not rejection.keeps and self.threshold is not None:
            self.tuned.settings["retriever"]["threshold"] = None
        self.tuned.settings["fused"] |= {
            "weights": weights,
            "calibration": rejection.calibration.to_config(),
            "threshold": rejection.threshold,
        }

    def _note(self, step: Step, view: str = "") -> None:
        self.tuned.steps.append(step)
        if view and step.changed:
            self.tuned.settings[view] |= step.after


def _present(settings: Any) -> Setting:
    return {"weights": [float(weight) for weight in settings.weights], "pooling": float(settings.pooling)}
