"""A batch of documents through the pipeline; one that it cannot link costs itself and no other."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc, Span

from ..documents import SPANS_KEY, Tally, by_halves, mention_records
from ..documents.formats import check_row
from ..documents.reading import to_doc
from ..documents.records import probability_of
from ..documents.tally import Place
from ..errors import DataError, Errors, Warnings
from .problems import Problem, problem_of, where

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Item:
    """A document to link, or with ``whole`` a mention to search for.

    Without ``mentions``, the pipeline finds some.
    """

    text: str
    k: int
    id: str = ""
    mentions: Sequence[Mapping[str, Any]] | None = None
    whole: bool = False


@dataclass(frozen=True)
class Linked:
    """What became of an item: a JSON object, the number of mentions in it, the problem that it tells of."""

    json: str
    mentions: int = 0
    problem: Problem | None = None


class Linker:
    """Links batches.

    Args:
        nlp: Makes the documents.
        link: Runs the pipeline over them; mentions are in the group ``documents.SPANS_KEY``, and documents that lack
            that group get it on the way.
        label: Of mentions to search for.
    """

    def __init__(self, nlp: Language, link: Callable[[Iterable[Doc]], Iterable[Doc]], label: str = "") -> None:
        self._nlp, self._link, self._label = nlp, link, label

    def __call__(self, items: Sequence[Item]) -> list[Linked]:
        """Link a batch; a document that fails is found and has its problem."""
        return by_halves(self._batch, items, self._failed)

    def _batch(self, items: Sequence[Item]) -> list[Linked]:
        docs = list(self._link([self._doc(item) for item in items]))
        return [_linked(doc, item) for doc, item in zip(docs, items, strict=True)]

    def _failed(self, items: Sequence[Item], error: Exception) -> list[Linked]:
        logger.warning(Warnings.NOT_LINKED.format(n=len(items), where=where(error)))
        problem = problem_of(error)
        return [_failed(item, problem) for item in items]

    def _doc(self, item: Item) -> Doc:
        if item.whole:
            doc = self._nlp.make_doc(item.text)
            doc.spans[SPANS_KEY] = [Span(doc, 0, len(doc), label=self._label)]
            return doc
        row = {"id": item.id, "text": item.text, "mentions": item.mentions}
        place, tally = _Sent(Path(), 0), Tally()
        return to_doc(check_row(row, place, tally), self._nlp, place, tally)


class _Sent(Place):
    """The place of a document that was sent: its error stands beside its id already."""

    def problem(self, reason: str) -> DataError:
        return DataError(Errors.BAD_DOCUMENT.format(reason=reason))


def _linked(doc: Doc, item: Item) -> Linked:
    rows = mention_records(doc, SPANS_KEY, item.k)
    for row in rows:
        row["probability"] = probability_of(row)
    if item.whole:
        (row,) = rows
        return Linked(_json({"text": item.text} | {key: row[key] for key in ("kb_id", "candidates")}), 1)
    return Linked(_json({"id": item.id, "mentions": rows}), len(rows))


def _failed(item: Item, problem: Problem) -> Linked:
    who = {"text": item.text} if item.whole else {"id": item.id}
    return Linked(_json({**who, "error": problem.fields()}), problem=problem)


def _json(row: Mapping[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False, allow_nan=False)
