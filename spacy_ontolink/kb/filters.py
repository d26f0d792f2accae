"""Which entities a filter lets through: by id prefix, by branch of the hierarchy, by type."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ConfigError, Errors, Warnings
from ..types import Bools1d, Ints1d
from .hierarchy import descendants

if TYPE_CHECKING:
    from .knowledge_base import KnowledgeBase

logger = logging.getLogger(__name__)
_SHOWN = 20


def mask(kb: KnowledgeBase, prefixes: Sequence[str], branches: Sequence[str], types: Sequence[str]) -> Bools1d:
    """Mark the entities that have one of the prefixes, lie in one of the branches *and* have one of the types, (E,).

    An empty filter lets everything through.

    Raises:
        ConfigError: A branch root is no entity; the message lists the roots.
    """
    allowed = np.ones(len(kb), np.bool_)
    if prefixes:
        allowed &= _with_prefix(kb, prefixes)
    if branches:
        allowed &= _in_branch(kb, branches)
    if types:
        allowed &= _with_type(kb, types)
    return allowed


def prefix_counts(kb: KnowledgeBase) -> dict[str, int]:
    """Count live entities by id prefix, the most frequent first."""
    codes = kb.tables["entities"].values("prefix")[: len(kb)]
    return _ranked(kb.tables["entities"].labels("prefix"), np.bincount(codes))


def type_counts(kb: KnowledgeBase) -> dict[str, int]:
    """Count live entities by type and by namespace (what OBO calls the kinds of its terms), the most frequent first."""
    counts: dict[str, int] = {}
    for texts, _ in _type_columns(kb):
        for pair in texts.value_counts().to_pylist():
            if pair["values"]:
                counts[pair["values"]] = counts.get(pair["values"], 0) + pair["counts"]
    return _ranked(list(counts), np.array(list(counts.values()), np.int64))


def kinds(kb: KnowledgeBase) -> tuple[Ints1d, list[str]]:
    """Sort the live entities by prefix, namespace and types taken together: all that filters but branches go by.

    Returns:
        The number of each entity's kind, (E,), and the kinds as texts, such as ``HP | phenotype | disease, finding``.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    table, size = kb.tables["entities"], len(kb)
    types = table.array("types").slice(0, size).cast(pa.list_(pa.string()))
    columns = [table.array("namespace").slice(0, size).cast(pa.string()), pc.binary_join(types, ", ")]
    coded = [column.dictionary_encode() for column in columns]
    codes = np.stack([table.values("prefix")[:size], *(column.indices.to_numpy() for column in coded)])
    distinct, kind = np.unique(codes, axis=1, return_inverse=True)
    labels = [pa.array(table.labels("prefix"), pa.string()), *(column.dictionary for column in coded)]
    texts = zip(
        *(label.take(pa.array(row)).to_pylist() for label, row in zip(labels, distinct, strict=True)), strict=True
    )
    return kind.ravel().astype(np.int32), [" | ".join(filter(None, parts)) for parts in texts]


def _ranked(labels: Sequence[str], counts: np.ndarray) -> dict[str, int]:
    order = np.argsort(-counts, kind="stable")
    return {labels[code]: int(counts[code]) for code in order if counts[code]}


def _type_columns(kb: KnowledgeBase) -> list[tuple[Any, np.ndarray]]:
    """Return the texts of the columns that hold types, each with the entity number of every text."""
    table, size = kb.tables["entities"], len(kb)
    types = table.array("types").slice(0, size)
    owner = np.repeat(np.arange(size), np.diff(types.offsets.to_numpy()))
    return [(types.flatten(), owner), (table.array("namespace").slice(0, size), np.arange(size))]


def _with_prefix(kb: KnowledgeBase, prefixes: Sequence[str]) -> Bools1d:
    # "HP" and "HP:" are the same wish.
    wanted = [prefix.removesuffix(":") for prefix in prefixes]
    _warn_unknown("prefix", wanted, kb.prefixes())
    labels = kb.tables["entities"].labels("prefix")
    chosen = np.array([label in wanted for label in labels], np.bool_)
    return np.asarray(chosen[kb.tables["entities"].values("prefix")[: len(kb)]])


def _in_branch(kb: KnowledgeBase, branches: Sequence[str]) -> Bools1d:
    roots = []
    for branch in branches:
        live = kb.resolve(branch)
        if live is None:
            shown = kb.roots()
            listed = ", ".join(shown[:_SHOWN]) + (f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else "")
            raise ConfigError(Errors.UNKNOWN_BRANCH.format(branch=branch, name=kb.name, roots=listed))
        roots.append(kb.number_of(live))
    return descendants(kb.tables["hierarchy"].csr("children"), np.array(roots, np.int32))


def _with_type(kb: KnowledgeBase, types: Sequence[str]) -> Bools1d:
    import pyarrow as pa
    import pyarrow.compute as pc

    _warn_unknown("type", types, kb.types())
    allowed = np.zeros(len(kb), np.bool_)
    wanted = pa.array(types, pa.large_string())
    for texts, owner in _type_columns(kb):
        allowed[owner[pc.is_in(texts, value_set=wanted).to_numpy(zero_copy_only=False)]] = True
    return allowed


def _warn_unknown(kind: str, values: Sequence[str], known: Collection[str]) -> None:
    listed = ", ".join(list(known)[:_SHOWN]) or "none"
    for value in values:
        if value not in known:
            logger.warning(Warnings.UNKNOWN_FILTER.format(kind=kind, value=value, known=listed))
