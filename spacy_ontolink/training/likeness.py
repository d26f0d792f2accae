"""How alike aliases are to the names of their entities and of the neighbours (Sci-ZSEL, equations 6 and 7)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ..kb import KnowledgeBase
from ..kb.hierarchy import expand, neighbourhood_sizes, neighbourhoods
from ..types import Encoder, Floats1d, Ints1d, Mention
from ..vectors import Vectors, stack

NO_DRIFT = -1.0  # the least that a cosine can be
TOLERANCE = 1e-5  # likenesses that differ by less are equal: what is computed together changes the last digits
_BATCH = 4096  # texts encoded at once
_CELLS = 4_000_000  # pairs of an alias and a neighbour compared at once
_ALIASES = 512  # aliases compared at once


class Likeness(NamedTuple):
    """How alike each alias is to names.

    Attributes:
        anchor: To its entity's name, (A,).
        drift: To the nearest neighbour's name, -1 where there is none, (A,).
        neighbour: The number of that neighbour or -1, (A,).
    """

    anchor: Floats1d
    drift: Floats1d
    neighbour: Ints1d


class Encoded(NamedTuple):
    """Distinct texts as vectors, (N, D), and where to find those of the aliases and of the entities' names.

    Attributes:
        vectors: Unit rows.
        alias: The row of each alias, (A,).
        name: The row of each entity's name, -1 for one that is not needed, (E,).
    """

    vectors: Vectors
    alias: Ints1d
    name: Ints1d


def encode_texts(kb: KnowledgeBase, owner: Ints1d, texts: Sequence[str], encoder: Encoder) -> Encoded:
    """Encode aliases, the names of their entities and of all neighbours, each distinct text once.

    Args:
        kb: The ontology.
        owner: The entity number of each alias, (A,).
        texts: The aliases, (A,).
        encoder: Any.
    """
    needed = np.zeros(len(kb), np.bool_)
    entities = np.unique(owner)
    needed[entities] = True
    for block in _blocks(neighbourhood_sizes(kb.parent_matrix, kb.child_matrix, entities), len(entities)):
        needed[neighbourhoods(kb.parent_matrix, kb.child_matrix, entities[block]).indices] = True
    named = np.flatnonzero(needed)
    rows = {text: row for row, text in enumerate(dict.fromkeys([*texts, *kb.names_of(named)]))}
    name = np.full(len(kb), -1, np.int32)
    name[named] = [rows[text] for text in kb.names_of(named)]
    distinct = list(rows)
    parts = [
        encoder.encode_mentions([Mention(text) for text in distinct[start : start + _BATCH]])
        for start in range(0, len(distinct), _BATCH)
    ]
    return Encoded(stack(parts), np.array([rows[text] for text in texts], np.int32), name)


def compare(kb: KnowledgeBase, owner: Ints1d, encoded: Encoded) -> Likeness:
    """Compare aliases with their entity's name and with its neighbours', block by block.

    Args:
        kb: The ontology.
        owner: The entity number of each alias, (A,).
        encoded: The vectors.
    """
    parents, children, vectors = kb.parent_matrix, kb.child_matrix, encoded.vectors
    n = len(owner)
    alike = Likeness(np.empty(n, np.float32), np.empty(n, np.float32), np.empty(n, np.int32))
    order, column = _families_together(kb, owner), np.zeros(len(kb), np.int32)
    sizes = neighbourhood_sizes(parents, children, owner[order])
    for block in _blocks(sizes, _ALIASES):
        some = order[block]
        aliases = vectors.take(encoded.alias[some])
        alike.anchor[some] = aliases.row_dots(vectors.take(encoded.name[owner[some]]))
        entities, place = np.unique(owner[some], return_inverse=True)
        near = neighbourhoods(parents, children, entities)
        others = _distinct(near.indices, len(kb))
        column[others] = np.arange(len(others))
        scores = aliases.dot(vectors.take(encoded.name[others]))
        alias, neighbour = expand(near, place)
        values = scores[alias, column[neighbour]]
        alike.drift[some], alike.neighbour[some] = _best(len(some), alias, neighbour, values)
    return alike


def _distinct(numbers: Ints1d, most: int) -> np.ndarray:
    """Return distinct numbers below ``most``, ascending; without sorting where there are many."""
    if len(numbers) < most // 8:
        return np.unique(numbers)
    seen = np.zeros(most, np.bool_)
    seen[numbers] = True
    return np.flatnonzero(seen)


def _best(n: int, alias: Ints1d, neighbour: Ints1d, values: Floats1d) -> tuple[Floats1d, Ints1d]:
    """Return the highest value of each alias and the neighbour it belongs to, of equals the lowest number, (n,)."""
    highest, winner = np.full(n, NO_DRIFT, np.float32), np.full(n, -1, np.int32)
    if len(values):
        fresh = np.flatnonzero(np.append(True, alias[1:] != alias[:-1]))
        highest[alias[fresh]] = np.maximum.reduceat(values, fresh)
        best = np.flatnonzero(values >= highest[alias] - TOLERANCE)
        some, first = np.unique(alias[best], return_index=True)
        winner[some] = neighbour[best[first]]
    return highest, winner


def _families_together(kb: KnowledgeBase, owner: Ints1d) -> np.ndarray:
    """Order aliases by a parent of their entity: siblings have most neighbours in common."""
    parents = kb.parent_matrix
    has = np.diff(parents.indptr) > 0
    first = np.full(len(kb), -1, np.int32)
    first[has] = parents.indices[parents.indptr[:-1][has]]
    return np.lexsort((owner, first[owner]))


def _blocks(sizes: np.ndarray, most: int) -> Iterator[slice]:
    """Cut items into stretches of at most ``most``, and of few enough pairs, however many siblings there are."""
    start, total = 0, np.cumsum(sizes)
    while start < len(sizes):
        before = int(total[start - 1]) if start else 0
        stop = int(np.searchsorted(total, before + _CELLS, side="right"))
        stop = max(min(stop, start + most), start + 1)
        yield slice(start, stop)
        start = stop
