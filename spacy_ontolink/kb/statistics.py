"""What there is to say about a knowledge base in numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..types import SCOPES
from . import hierarchy
from .columns import text_lengths

if TYPE_CHECKING:
    from .knowledge_base import KnowledgeBase

_SHOWN = 5


def statistics(kb: KnowledgeBase) -> dict[str, Any]:
    """Count everything that ``ontolink info`` shows; plain values, ready for JSON."""
    size, tables = len(kb), kb.tables
    parents, children = tables["hierarchy"].csr("parents"), tables["hierarchy"].csr("children")
    scopes = np.bincount(kb.name_scope, minlength=len(SCOPES))
    ambiguous, examples = _ambiguous_names(kb)
    obsolete = (tables["ids"].values("row") >= size) & (tables["ids"].values("alt") == 0)
    return {
        "name": kb.name,
        "hash": kb.hash,
        "entities": size,
        "obsolete": int(np.count_nonzero(obsolete)),
        "obsolete_without_replacement": int(np.count_nonzero(obsolete & (tables["ids"].values("number") < 0))),
        "alt_ids": int(text_lengths(tables["entities"].array("alt_ids"))[:size].sum()),
        "names": kb.n_names,
        "names_by_scope": {scope: int(count) for scope, count in zip(SCOPES, scopes, strict=True)},
        "annotated_names": int(np.count_nonzero(kb.name_count)),
        "ambiguous_names": ambiguous,
        "most_ambiguous_names": examples,
        "definitions": int(np.count_nonzero(text_lengths(tables["entities"].array("definition"))[:size])),
        "is_a": len(parents.indices),
        "roots": len(hierarchy.roots(parents)),
        "depth": hierarchy.depth(parents, children),
        "prefixes": kb.prefixes(),
        "types": kb.types(),
        "stop_synonyms": dict(kb.facts["stop_synonyms"]),
        "problems": dict(kb.facts["problems"]),
    }


def _ambiguous_names(kb: KnowledgeBase) -> tuple[int, dict[str, int]]:
    """Count the names of more than one entity, and pick the most shared ones."""
    _, first, counts = np.unique(kb.tables["lookup"].values("hash"), return_index=True, return_counts=True)
    most = np.argsort(-counts, kind="stable")[:_SHOWN]
    most = most[counts[most] > 1]
    texts = kb.texts_of(kb.tables["lookup"].values("position")[first[most]])
    return int(np.count_nonzero(counts > 1)), dict(zip(texts, counts[most].tolist(), strict=True))
