"""Which mentions need no model, because the answer is plain already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..types import SCOPES
from .spans import Answer

if TYPE_CHECKING:
    from ..kb import KnowledgeBase

_EXACT = (SCOPES.index("NAME"), SCOPES.index("EXACT"))


def unique_names(kb: KnowledgeBase, texts: Sequence[str]) -> dict[str, str]:
    """Map each text that is the name or an exact synonym of one entity only, whatever else has it, to its id."""
    distinct = list(dict.fromkeys(texts))
    owners: dict[str, set[int]] = {}
    exact: set[str] = set()
    for query, position in zip(*kb.exact_names(distinct), strict=True):
        text = distinct[query]
        owners.setdefault(text, set()).add(int(kb.name_owner[position]))
        if kb.name_scope[position] in _EXACT:
            exact.add(text)
    unique = [text for text in exact if len(owners[text]) == 1]
    return dict(zip(unique, kb.ids_of([owners[text].pop() for text in unique]), strict=True))


def is_decided(answer: Answer, named: str | None, margin: float | None) -> bool:
    """Whether the first candidate is the only one of the mention's name, or leads the others by ``margin``.

    The lead is in the scores of the last stage before this one.
    """
    if named is not None and answer.columns["id"][0] == named:
        return True
    if margin is None:
        return False
    scores = list(answer.columns["scores"].values())[-1]
    known = [score for score in scores if score is not None]
    return scores[0] is not None and (len(scores) == 1 or len(known) < 2 or known[0] - known[1] >= margin)
