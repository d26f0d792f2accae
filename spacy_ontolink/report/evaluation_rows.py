"""The mentions of a run as the data of a table that the page's script draws."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from ..components.spans import NIL
from ..evaluation import Outcome

MOST_ROWS = 20_000
"""Mentions that a page holds; of more, those that went wrong come first."""

VERDICT_WORDS = {
    "right": "right",
    "wrong": "wrong entity",
    "lost": "not linked",
    "nil": "rightly not linked",
    "spurious": "linked, but has no entity",
}
COLUMNS = ("document", "label", "left", "mention", "right", "gold", "answer", "best", "verdict", "overlap", "relation",
           "steps", "rank", "before", "probability")  # fmt: skip
"""What a row holds, in this order; ``gold`` and ``best`` are entries: id, name, matched name, scores by stage,
and the other ids by which the file names it."""


def rows_of(outcomes: Sequence[Outcome], link: Callable[[str], str], ranks_before: Sequence[int] | None) -> str:
    """Return the rows as JSON that may stand in a page.

    Args:
        outcomes: The mentions.
        link: Gives the web address of an id.
        ranks_before: The rank of the first right candidate in another run, by mention.
    """
    stages = list(dict.fromkeys(stage for one in outcomes for entry in _entries(one) for stage in entry.scores))
    before = list(ranks_before) if ranks_before is not None else [None] * len(outcomes)
    pairs = list(zip(outcomes, before, strict=True))
    if len(pairs) > MOST_ROWS:
        pairs = sorted(pairs, key=lambda pair: pair[0].is_right)[:MOST_ROWS]
    ids = {entry.id for one, _ in pairs for entry in _entries(one)}
    found = {
        "stages": stages,
        "verdicts": VERDICT_WORDS,
        "total": len(outcomes),
        "columns": COLUMNS,
        "links": {id: link(id) for id in sorted(ids)},
        "rows": [_row(one, rank, stages) for one, rank in pairs],
    }
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    # Inside a script element only these can end it, or begin another.
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _entries(one: Outcome) -> list[Any]:
    return [*one.live, *([one.best] if one.best else [])]


def _row(one: Outcome, rank_before: int | None, stages: Sequence[str]) -> list[Any]:
    unknown: list[Any] = [[id, None, "", [], []] for id, now in zip(one.gold, one.leads, strict=True) if not now]
    written = list(zip(one.gold, one.leads, strict=True))
    gold = [
        _entry(entry, stages, [id for id, now in written if now == entry.id and id != now]) for entry in one.live
    ] + unknown
    relation, steps = one.relation or ("", None)
    best = _entry(one.best, stages) if one.best else None
    answer = one.answer if one.answer in ("", NIL) else "linked"
    probability = None if one.probability is None else round(one.probability, 4)
    return [one.document, one.label, one.left, one.text, one.right, gold, answer, best, one.verdict,
            one.overlap if one.gold else "", relation, steps, one.rank, rank_before, probability]  # fmt: skip


def _entry(entry: Any, stages: Sequence[str], written: Sequence[str] = ()) -> list[Any]:
    scores = [entry.scores.get(stage) for stage in stages]
    matched = entry.matched if entry.matched != entry.name else ""
    rounded = [None if score is None else round(score, 4) for score in scores]
    return [entry.id, entry.name, matched, rounded, list(written)]
