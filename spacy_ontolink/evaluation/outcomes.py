"""What became of each mention whose ids are known, read off linked documents as plain values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from ..components.spans import NIL, NO_ANSWER, Answer, read_answer
from ..documents import GIVEN, SPANS_KEY
from ..documents.records import document_id, parts_of
from ..kb.relations import Relation, Relations
from ..metrics import Overlap, overlap, rank_of_gold

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span

    from ..kb import KnowledgeBase

Verdict = Literal["right", "wrong", "lost", "nil", "spurious"]
"""Linked rightly; to another entity; not linked, though it has one; rightly not linked; linked, though it has none.

A mention has an entity if one of its gold ids leads to a live one.
"""

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

Fit = Literal["exact", "widened", "none"]

AROUND = 80
"""Characters of the text that are kept to either side of a mention."""


class Entry(NamedTuple):
    """An entity of the knowledge base, and what the pipeline said of it where it was a candidate.

    Attributes:
        scores: By stage; empty if it was no candidate.
        matched: The name that was found, if it was a candidate.
    """

    id: str
    name: str
    matched: str = ""
    scores: Mapping[str, float | None] = {}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one mention.

    Attributes:
        number: The number of its document in the file, from 0.
        document: The id of its document.
        start, end: Its offsets in the file.
        text: Its text, widened to whole tokens.
        left, right: Some text to either side, with an ellipsis where it was cut.
        gold: The ids that the file gives it, without ``NIL``.
        leads: The live id that each of these leads to today; "" for one that the knowledge base does not know.
        live: These entities.
        namespaces: What ontologies, or parts of one, the gold ids are from.
        overlap: How its wording relates to the names of these entities.
        rank: The rank of the first right candidate, from 1; 0 if none is right.
        answer: An id, ``NIL`` (looked up, none found) or "" (not looked up).
        best: The entity that was answered, or if none was, the first candidate.
        probability: That the first candidate is right, from a calibrated fusion.
        relation: What a wrong answer is to the nearest right one in the hierarchy.
        fit: Whether it covers whole tokens, was widened to such, or covers none.
        composite: Whether the file says that its gold ids are those of its parts.
        ids: All ids that it was given: those of its parts, if it was linked by these, or the answer.
    """

    number: int
    document: str
    start: int
    end: int
    text: str
    left: str
    right: str
    label: str
    gold: tuple[str, ...]
    leads: tuple[str, ...]
    live: tuple[Entry, ...]
    namespaces: tuple[str, ...]
    overlap: Overlap
    rank: int
    answer: str
    best: Entry | None
    probability: float | None
    relation: Relation | None
    fit: Fit
    composite: bool = False
    ids: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """Say how the answer stands to the gold ids."""
        linked = self.answer not in ("", NIL)
        if not self.live:
            return "spurious" if linked else "nil"
        if not linked:
            return "lost"
        return "right" if any(self.answer == entry.id for entry in self.live) else "wrong"

    @property
    def is_right(self) -> bool:
        """Whether the answer is right, a rightly given ``NIL`` included."""
        return self.verdict in ("right", "nil")

    def to_json(self) -> dict[str, Any]:
        """Return what another run is compared with, in plain values."""
        return {"document": self.document, "start": self.start, "end": self.end, "text": self.text,
                "label": self.label, "gold": list(self.gold), "rank": self.rank, "answer": self.answer,
                "verdict": self.verdict}  # fmt: skip


def read_outcomes(docs: Iterable[Doc], retriever: Any) -> list[Outcome]:
    """Read what a retriever and the stages after it made of the mentions that came with each document."""
    reader = _Reader(retriever.kb)
    return [
        reader.read(span, given, read_answer(span, SPANS_KEY, retriever.name) or NO_ANSWER, number)
        for number, doc in enumerate(docs)
        for span, given in zip(doc.spans.get(SPANS_KEY, ()), doc.user_data[GIVEN]["mentions"], strict=True)
    ]


def gold_of(mention: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the gold ids that a file gives a mention, without ``NIL``."""
    return tuple(dict.fromkeys(id for id in mention["kb_ids"] if id not in ("", NIL)))


class _Reader:
    """Looks ids up once."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._relations, self._resolve = Relations(kb), cache(kb.resolve)
        self._entity = cache(lambda id: (kb[id].name, kb[id].namespace or _prefix(id)))

    def read(self, span: Span, given: Mapping[str, Any], answer: Answer, number: int) -> Outcome:
        """Read one mention."""
        columns, text = answer.columns, span.doc.text
        gold = gold_of(given)
        leads = tuple(self._resolve(id) or "" for id in gold)
        live = tuple(dict.fromkeys(filter(None, leads)))
        places = {id: place for place, id in enumerate(columns["id"])}
        entries = tuple(self._entry(id, columns, places.get(id)) for id in live)
        said = span.kb_id_
        best = said if said not in ("", NIL) else next(iter(columns["id"]), "")
        is_wrong = said not in ("", NIL, *live)
        start, end = given["start"], given["end"]
        return Outcome(
            number=number,
            document=document_id(span.doc),
            start=start,
            end=end,
            text=span.text or text[start:end],
            left=_before(text[max(0, span.start_char - AROUND - 1) : span.start_char]),
            right=_after(text[span.end_char : span.end_char + AROUND + 1]),
            label=span.label_,
            gold=gold,
            leads=leads,
            live=entries,
            namespaces=tuple(dict.fromkeys(self._entity(id)[1] for id in live)) or _prefixes(gold),
            overlap=overlap(span.text, [entry.name for entry in entries]),
            rank=rank_of_gold(columns["id"], live),
            answer=said,
            best=self._entry(best, columns, places.get(best)) if best else None,
            probability=next(iter(columns.get("probability", ())), None),
            relation=self._relations.of(said, live) if is_wrong and live else None,
            fit="none" if not len(span) else "exact" if (span.start_char, span.end_char) == (start, end) else "widened",
            composite=bool(given.get("composite")),
            ids=tuple(id for _, id, _ in parts_of(span)) or ((said,) if said not in ("", NIL) else ()),
        )

    def _entry(self, id: str, columns: Mapping[str, Any], place: int | None) -> Entry:
        if place is None:
            return Entry(id, self._entity(id)[0])
        scores = {stage: _finite(values[place]) for stage, values in columns["scores"].items()}
        return Entry(id, columns["name"][place], columns["matched"][place], scores)


def _before(text: str) -> str:
    """Return the end of a text, cut between words where it can be."""
    if len(text) <= AROUND:
        return text
    kept = text[-AROUND:]
    return "… " + (kept.partition(" ")[2] or kept)


def _after(text: str) -> str:
    """Return the start of a text, cut between words where it can be."""
    if len(text) <= AROUND:
        return text
    kept = text[:AROUND]
    return (kept.rpartition(" ")[0] or kept) + " …"


def _finite(score: float | None) -> float | None:
    return None if score is None or score == float("-inf") else score


def _prefix(id: str) -> str:
    return id.partition(":")[0] if ":" in id else ""


def _prefixes(ids: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(_prefix, ids)))
