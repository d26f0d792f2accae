"""The name table: which text names which entity, in which scope."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..text import normalise
from ..types import SCOPES, Ints1d
from .collector import MARKED, OBSOLETE, Collected, select, strings
from .columns import Csr, Table, column_array, make_table
from .hashing import Hashes, hash_texts
from .hierarchy import expand

NAME, EXACT, RELATED = (SCOPES.index(scope) for scope in ("NAME", "EXACT", "RELATED"))
SHARED_BY = 24
"""A synonym of this many entities, not EXACT and no entity's name, is a curation marker rather than a name."""


class Names(NamedTuple):
    """Names in order of their owner's row, the primary name of each first."""

    source: np.ndarray  # position in ``texts``
    owner: np.ndarray
    scope: np.ndarray
    type: np.ndarray
    key: Hashes
    times: Ints1d  # how often annotated mentions gave the name to its owner
    texts: Any
    type_labels: list[str]

    def keep(self, which: np.ndarray) -> Names:
        """Select rows by mask or positions."""
        source, owner, scope, kind, key, times = (column[which] for column in self[:6])
        return Names(source, owner, scope, kind, key, times, self.texts, self.type_labels)

    def to_table(self) -> Table:
        """Make the ``names`` table."""
        import pyarrow as pa

        used, codes = np.unique(self.type, return_inverse=True)
        labels = column_array([self.type_labels[code] for code in used], "text")
        types = pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), labels)
        columns = {"text": select(self.texts, self.source), "owner": self.owner, "scope": self.scope, "type": types,
                   "count": self.times}  # fmt: skip
        return make_table("names", columns)

    def lookup(self, n_names: int) -> Table:
        """Make the ``lookup`` table of the first ``n_names`` names."""
        key = self.key[:n_names]
        order = np.lexsort((self.scope[:n_names] != NAME, key))
        return make_table("lookup", {"hash": key[order], "position": order.astype(np.int32)})


def primary_keys(data: Collected) -> Hashes:
    """Return the key of each record's own name, (R,); 0 for one without."""
    keys = np.zeros(len(data.n_names), np.uint64)
    record = np.repeat(np.arange(len(keys)), data.n_names)
    primary = data.scopes == NAME
    keys[record[primary]] = data.keys[primary]
    return keys


def arrange(data: Collected, rows: np.ndarray, n_live: int, targets: Csr) -> Names:
    """Order the names by row, hand those of obsolete entities to their replacements, and drop repetitions.

    Args:
        data: The records and names as read.
        rows: Row of each record, (R,).
        n_live: Number of live entities.
        targets: The live entities that stand for each obsolete one.
    """
    owner = np.repeat(rows, data.n_names)
    scope, kind = data.scopes.copy(), data.types
    # The name of a second record of the same id becomes a synonym. Live records were given precedence.
    primary = np.flatnonzero(scope == NAME)
    late = np.repeat(data.obsolete, data.n_names)[primary]
    primary = primary[np.lexsort((late, owner[primary]))]
    second = primary[1:][owner[primary[1:]] == owner[primary[:-1]]]
    scope[second] = EXACT

    retired = np.flatnonzero((owner >= n_live) & (kind != MARKED))
    place, heir = expand(targets, owner[retired] - n_live)
    inherited = retired[place]
    source = np.concatenate([np.arange(len(owner)), inherited])
    owner = np.concatenate([owner, heir]).astype(np.int32)
    scope = np.concatenate([scope, np.full(len(heir), RELATED, np.uint8)])
    kind = np.concatenate([kind, np.full(len(heir), OBSOLETE, np.int32)])

    order = np.lexsort((scope != NAME, owner))
    times = np.zeros(len(source), np.int32)  # ontologies know of no annotated mentions: see annotated.py
    ordered = Names(source, owner, scope, kind, data.keys[source], times, data.texts, data.type_labels).keep(order)
    return ordered.keep(_closest_of_each(ordered.owner, ordered.key, ordered.scope))


def _closest_of_each(owner: np.ndarray, key: Hashes, scope: np.ndarray) -> np.ndarray:
    """Return the row of the closest scope of each (owner, key), in the order of the first row of each.

    So it makes no difference in which order a file, or its format, lists the synonyms.
    """
    order = np.lexsort((scope, key, owner))
    fresh = np.ones(len(order), np.bool_)
    fresh[1:] = (np.diff(owner[order]) != 0) | (key[order][1:] != key[order][:-1])
    starts = np.flatnonzero(fresh)
    place = np.minimum.reduceat(order, starts)
    return order[starts][np.argsort(place)]


def drop_stop_synonyms(names: Names, n_live: int, stop: bool | Sequence[str]) -> tuple[Names, dict[str, int]]:
    """Drop synonyms that many entities share, or those that are listed; never a primary name.

    Returns:
        The other names, and the dropped texts with the number of entities that had each, most frequent first.
    """
    synonym = (names.owner < n_live) & (names.scope != NAME)
    if stop is True:
        keys, counts = np.unique(names.key[synonym & (names.scope != EXACT)], return_counts=True)
        shared = np.setdiff1d(keys[counts >= SHARED_BY], names.key[(names.owner < n_live) & (names.scope == NAME)])
        drop = synonym & (names.scope != EXACT) & np.isin(names.key, shared)
    else:
        drop = synonym & np.isin(names.key, hash_texts([normalise(text) for text in stop or ()]))
    if not drop.any():
        return names, {}
    _, first, counts = np.unique(names.key[drop], return_index=True, return_counts=True)
    by_count = np.lexsort((first, -counts))
    texts = strings(names.texts, names.source[drop][first[by_count]])
    return names.keep(~drop), dict(zip(texts, counts[by_count].tolist(), strict=True))
