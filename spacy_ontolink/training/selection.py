"""The entities worth asking for: those that an unlabelled corpus seems to mention (Sci-ZSEL, 5.1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

import numpy as np

from ..kb import KnowledgeBase
from ..space import EntitySpace, Query, retrieve
from ..text import normalise
from ..types import SCOPES, Ints1d, Mention

BATCH = 512
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Selection:
    """The chosen entities.

    Attributes:
        by_name: E_EM, entity numbers: their name is a mention.
        by_retrieval: E_BT, entity numbers: the best candidate of a mention.
        n_entities: Size of the ontology.
        n_mentions: Number of mentions.
        unlinked: Mentions among these that retrieval found nothing for.
    """

    by_name: frozenset[int]
    by_retrieval: frozenset[int]
    n_entities: int
    n_mentions: int = 0
    unlinked: int = 0

    @property
    def entities(self) -> Ints1d:
        """Numbers of all chosen entities, ascending."""
        return np.array(sorted(self.by_name | self.by_retrieval), np.int32)

    def facts(self) -> dict[str, float]:
        """Return sizes and shares of the ontology, ready for JSON."""
        sizes = {
            "by_name": len(self.by_name),
            "by_retrieval": len(self.by_retrieval),
            "both": len(self.by_name & self.by_retrieval),
            "selected": len(self.by_name | self.by_retrieval),
        }
        shares = {f"{what}_share": size / self.n_entities for what, size in sizes.items()}
        return {"entities": self.n_entities, "mentions": self.n_mentions, "unlinked": self.unlinked, **sizes, **shares}


def select(space: EntitySpace, mentions: Iterable[Mention], *, batch_size: int = BATCH) -> Selection:
    """Choose by name and by retrieval, in one pass over a stream of mentions."""
    by_name: set[int] = set()
    top = Counter[int]()
    mention_count = 0
    for batch in _batches(mentions, batch_size):
        mention_count += len(batch)
        by_name |= _named(space.kb, [mention.text for mention in batch])
        top.update(_top_1(space, batch))
    unlinked = top.pop(-1, 0)
    return Selection(frozenset(by_name), frozenset(top), len(space.kb), mention_count, unlinked)


def _named(kb: KnowledgeBase, texts: list[str]) -> set[int]:
    position = kb.exact_names(list(dict.fromkeys(texts)))[1]
    is_name = kb.name_scope[position] == SCOPES.index("NAME")
    return set(kb.name_owner[position[is_name]].tolist())


def _top_1(space: EntitySpace, mentions: list[Mention]) -> list[int]:
    """Return the number of the best entity of each mention, -1 for none; equal ones are looked up once."""
    if space.encoder.uses_context:
        keys: list[object] = list(mentions)
    else:
        keys = [normalise(mention.text) for mention in mentions]
    distinct = dict(zip(reversed(keys), reversed(mentions), strict=True))
    hits = retrieve(space, [Query(mention) for mention in distinct.values()], 1)
    best = dict(zip(distinct, hits.entities[:, 0].tolist(), strict=True))
    return [best[key] for key in keys]


def _batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    stream = iter(items)
    while batch := list(islice(stream, size)):
        yield batch
