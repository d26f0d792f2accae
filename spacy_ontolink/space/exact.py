"""Entities that have a mention's very text as a name, and how much that says for each of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..kb import KnowledgeBase
from ..types import Bools1d, Floats1d, Ints1d

PRIOR = 0.1
"""What an entity loses that no annotated mention gave a name, where others were given it."""


class ExactNames(NamedTuple):
    """Pairs of a text and an entity of that name: number of the text, position of the name, entity, score (P,) each."""

    query: Ints1d
    position: Ints1d
    entity: Ints1d
    score: Floats1d


def exact_names(kb: KnowledgeBase, texts: Sequence[str], allowed: Bools1d | None = None) -> ExactNames:
    """Find the entities, among those allowed, that have these texts as names after ``normalise()``.

    The score is 1. Where annotated mentions have given several entities the name, or one of several, it is 1 for the
    one that was meant most often, and for any other less by ``PRIOR`` times the share that it lacks.
    """
    query, position = kb.exact_names(texts)
    entity = kb.name_owner[position]
    if allowed is not None:
        query, position, entity = (values[allowed[entity]] for values in (query, position, entity))
    count = kb.name_count[position].astype(np.float32)
    most = np.zeros(len(texts), np.float32)
    np.maximum.at(most, query, count)
    share = np.divide(count, most[query], out=np.ones_like(count), where=most[query] > 0)
    return ExactNames(query, position, entity, 1 - np.float32(PRIOR) * (1 - share))
