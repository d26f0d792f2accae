"""The space of the next release of an ontology, made of the last one by copying the rows that stay.

The rule is the encoder's own contract: two encoders of one id give equal vectors. So the encoder is fitted to the new
knowledge base, as it would be in a build from scratch, and then, part by part of it:

- Its id stayed (every pretrained encoder): the rows of entities whose names stayed are copied. The rows equal a build
  from scratch, bit for bit where the encoder rounds alike in every batch. Transformers do not, so theirs equal it up to
  the last digits of numbers in half precision.
- Its id changed (the lexical encoder, whose idf and n-grams are those of all names): all rows are encoded anew and
  equal a build from scratch bit for bit. Copied rows would weigh n-grams by the old idf, beside rows that weigh them by
  the new one. ``refit=False`` keeps the old idf for all: unchanged rows are copied, and all equal, bit for bit, what
  the *old* encoder makes of the new names. N-grams that no old name has stay unknown to it.

Pooling is cheap beside encoding, and the order of entities, hence that of sums, may have changed: it is done anew.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..kb.diff import Diff, compare
from ..types import Bools1d, Encoder, EntityRows, Index
from ..vectors import Vectors, join, stack
from .entity_space import EntitySpace
from .pooling import ranges

if TYPE_CHECKING:
    from ..kb import KnowledgeBase


class Updated(NamedTuple):
    """A new space, what changed, and by type of encoder (both parts of a hybrid) which entities it read again, (E,)."""

    space: EntitySpace
    diff: Diff
    encoded: dict[str, Bools1d]


def update(old: EntitySpace, kb: KnowledgeBase, index: Index, *, refit: bool = True) -> Updated:
    """Build the space of ``kb`` with the encoder and the pooling of ``old``, which stays as it is.

    Args:
        old: The space of the last release.
        kb: The new one.
        index: An unbuilt index.
        refit: Fit the encoder to ``kb``, as a build from scratch does; otherwise it stays as it was fitted.
    """
    diff = compare(old.kb, kb)
    encoder = _fitted(old.encoder, kb) if refit else old.encoder
    blocks = old.plain.vectors.blocks
    encoded: dict[str, Bools1d] = {}
    columns: list[EntityRows] = []
    stop = 0
    for (part, weight), (before, _) in zip(_parts(encoder), _parts(old.encoder), strict=True):
        start, stop = stop, stop + getattr(before, "n_blocks", 1)
        stale = np.ones(len(kb), np.bool_)
        if part.id == before.id:
            stale = diff.reembed() if getattr(part, "by_name", False) else diff.touched
        own = Vectors(blocks if weight is None else blocks[start:stop])
        columns.append(_rows(part, weight, old.plain._replace(vectors=own), diff, stale))
        kind = type(part).__name__
        encoded[kind] = encoded.get(kind, False) | stale
    plain = columns[0]._replace(vectors=Vectors(tuple(block for rows in columns for block in rows.vectors.blocks)))
    return Updated(EntitySpace(kb, encoder, plain, index, old.pooling).indexed(), diff, encoded)


def _fitted(encoder: Encoder, kb: KnowledgeBase) -> Encoder:
    """Return the encoder itself if fitting does not change it, else a fitted copy."""
    fitted = copy.deepcopy(encoder)
    fitted.fit(kb)
    return encoder if fitted.id == encoder.id else fitted


def _parts(encoder: Encoder) -> tuple[tuple[Encoder, float | None], ...]:
    """Return the parts of a hybrid with their weights; another encoder is its only part, without a weight."""
    parts: tuple[tuple[Encoder, float | None], ...] = getattr(encoder, "parts", ((encoder, None),))
    return parts


def _rows(part: Encoder, weight: float | None, old: EntityRows, diff: Diff, stale: Bools1d) -> EntityRows:
    """Encode the entities that are ``stale``, copy the rows of the others, and put them in order."""
    kept = np.flatnonzero(~stale)
    rows = [_copied(old, diff, kept)] if len(kept) else []
    if len(kept) < len(stale):
        numbers = np.flatnonzero(stale).astype(np.int32)
        fresh = part.encode_entities(diff.new, numbers if len(kept) else None)
        vectors = fresh.vectors if weight is None else join((fresh.vectors,), (weight,))
        rows.append(fresh._replace(vectors=vectors.half()))
    if len(rows) == 1:
        return rows[0]
    owner = np.concatenate([some.owner for some in rows])
    order = np.argsort(owner, kind="stable")
    vectors = stack([some.vectors for some in rows]).take(order)
    return EntityRows(vectors, owner[order], np.concatenate([some.name for some in rows])[order])


def _copied(old: EntityRows, diff: Diff, kept: np.ndarray) -> EntityRows:
    """Take the rows of entities over; their names stand elsewhere in the new name table, in the same order."""
    was = diff.before[kept]
    starts, stops = (np.searchsorted(old.owner, was, side) for side in ("left", "right"))
    place = ranges(starts, stops)
    shift = diff.new.primary_names()[kept] - diff.old.primary_names()[was]
    owner = np.repeat(kept, stops - starts).astype(np.int32)
    name = (old.name[place] + np.repeat(shift, stops - starts)).astype(np.int32)
    return EntityRows(old.vectors.take(place), owner, name)
