"""A stage after the retriever: adds a score to every candidate, ranks by it, and decides anew."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc, Span

from ..errors import ConfigError, Errors
from ..types import Floats1d, Mention
from .base import LinkingPipe
from .listening import Listener
from .spans import NIL, Answer, Columns, read_answer, read_mention, read_spans, write_answers


class Item(NamedTuple):
    """A mention that has candidates, and what was said of it so far."""

    span: Span
    text: str
    """The text of the whole document."""
    answer: Answer

    def mention(self, n_context: int = 0, n_sents: int | None = None) -> Mention:
        """Return the mention with up to ``n_context`` tokens to either side."""
        return read_mention(self.span, self.text, n_context, n_sents)[0]


class Stage(LinkingPipe, Listener):
    """Revises the answers of the retriever before it; a mention that has none, or ``NIL``, is left alone.

    Raises:
        ConfigError: There is no retriever before it in the pipeline, or a stage that decides (at first use).
    """

    view: str
    """The name of the stage's score."""

    def __init__(self, name: str, upstream: str, batch_size: int, nlp: Language | None) -> None:
        LinkingPipe.__init__(self, name, batch_size, nlp)
        Listener.__init__(self, upstream)

    @property
    def name(self) -> str:
        """The component's name in its pipeline."""
        return self._name

    @name.setter
    def name(self, name: str) -> None:
        # Whenever the pipeline changes, spaCy sets all names and then has retrievers look for their listeners.
        if self.provider is not None:
            self.provider.remove_listener(self, self._name)
        self.provider = None
        LinkingPipe.name.fset(self, name)  # type: ignore[attr-defined]

    def prepare(self) -> None:
        """Find the retriever, and see that nothing before this stage has had the last word."""
        nlp = self._nlp() if self._nlp else None
        stages = self.find_provider(nlp).stages
        before = stages[: stages.index(self)] if self in stages else []
        for stage in before:
            if stage.decides and (nlp is None or stage.name in nlp.pipe_names):
                raise ConfigError(Errors.AFTER_THE_LAST.format(name=self.name, last=stage.name))

    def annotate(self, docs: Sequence[Doc]) -> None:
        """Revise the answers of all documents together, then write them."""
        provider = self.provider
        if not self.is_read(docs):
            return
        group = provider.settings.spans_key or ""
        read = []
        items = []
        for doc in docs:
            spans, text = read_spans(doc, group), doc.text
            answers = [read_answer(span, group, provider.name) for span in spans]
            chosen = [answer is not None and bool(answer.columns["id"]) and answer.id != NIL for answer in answers]
            items += [Item(span, text, answer) for span, answer, take in zip(spans, answers, chosen, strict=True)
                      if take and answer is not None]  # fmt: skip
            read.append((spans, chosen))
        revised = iter(self.revise(items) if items else [])
        for spans, chosen in read:
            new = [next(revised) if take else None for take in chosen]
            write_answers(spans, new, group=group, component=provider.name,
                          overwrite=provider.settings.overwrite, revises=True)  # fmt: skip

    def revise(self, items: Sequence[Item]) -> list[Answer | None]:
        """Return a new answer to each item; None leaves it as it is."""
        raise NotImplementedError

    def is_read(self, docs: Sequence[Doc]) -> bool:
        """Whether all later stages read this one's score: an endpoint of a mix costs nothing for the other end."""
        nlp = self._pipeline(docs)
        stages = self.provider.stages
        later = stages[stages.index(self) + 1 :] if self in stages else []
        running = [stage for stage in later if nlp is None or stage.name in nlp.pipe_names]
        return all(stage.needs(self.view) for stage in running)


def reranked(answer: Answer, view: str, scores: Floats1d, order: np.ndarray | None = None) -> Answer:
    """Return the answer with a score per candidate, (K,), ranked by it, and the first one's id.

    Equal scores keep their order; a candidate without a finite score goes behind those that have one, and the record
    tells apart NaN and inf (failed; kept as None) from -inf (not asked). ``order`` is given by a stage with ties broken
    in its own way.
    """
    finite = np.isfinite(scores)
    if order is None:
        order = np.argsort(-np.where(finite, scores, -np.inf), kind="stable")
    known = np.asarray(scores, float).tolist()
    for position in np.flatnonzero(np.isnan(scores) | np.isposinf(scores)).tolist():
        known[position] = None
    turn = _permutation(order.tolist())
    columns: Columns = {key: turn(value) for key, value in answer.columns.items() if key != "scores"}
    columns["scores"] = {name: turn(values) for name, values in (answer.columns["scores"] | {view: known}).items()}
    return Answer(columns["id"][0], columns, answer.texts)


def view_of(answer: Answer, view: str) -> Floats1d | None:
    """Return a view's scores, (K,), NaN where it failed, -inf where it was not asked; None if not computed."""
    scores = answer.columns["scores"].get(view)
    return None if scores is None else np.array([np.nan if s is None else s for s in scores], np.float32)


def _permutation(order: Sequence[int]) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    """Return what puts a column into this order."""
    return itemgetter(*order) if len(order) > 1 else tuple
