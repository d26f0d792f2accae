"""What approximate indexes of dense vectors share: an engine proposes rows, and stored rows decide."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from ..errors import ConfigError, Errors, StateError
from ..types import Bools1d, EntityRows, Floats1d, Floats2d, Hits, Index, Ints1d, Ints2d
from ..vectors import Vectors
from .exact import ExactIndex
from .inverted import InvertedIndex
from .masking import Mask, MaskedSearch
from .ranking import no_hits
from .rescoring import EntityScorer, dense_products, owners_of

BESIDE = "beside"
INVERTED_ROWS = 200_000
_MARGIN = 32  # rows fetched beyond the K and its factor
_BESIDE_INVERTED = 8  # times as many where inverted lists beside propose by part of their n-grams alone
_POSTINGS, _PROPOSED = 300_000, 3_000  # that are read of these lists, and how many rows they propose
_RESCORED = 2  # of the rows that either proposes, half as many as were fetched are scored exactly
_GROWTH, _ROUNDS = 4, 3
_QUERIES = 64


class ApproximateIndex(ABC):
    """Index the widest dense block of the rows; those beside it are searched exactly, or by inverted lists.

    The entities that either block proposes are scored exactly over all their rows and blocks, so scores equal those of
    the exact index, and only an entity that was not proposed can be missed. A query that cannot be answered so (too few
    unique entities, or a tie that reaches beyond what was fetched) fetches more, and in the end is searched exactly.

    Args:
        overfetch: How many times K rows are fetched at first.
    """

    def __init__(self, overfetch: float) -> None:
        self._overfetch = overfetch

    @property
    @abstractmethod
    def _ready(self) -> bool:
        """Whether there is something to search."""

    @abstractmethod
    def _propose(self, queries: Floats2d, fetch: int, effort: int, mask: Mask | None) -> Ints2d:
        """Return the numbers of the best ``fetch`` rows of each query, or more, best first, padded with -1.

        Args:
            queries: Finite vectors of the indexed block, (B, D).
            fetch: How many rows.
            effort: 1, and more in later rounds, which have to look further.
            mask: What may be found; a row beyond it is left out later.
        """

    def search(self, queries: Vectors, k: int, allowed: Bools1d | None = None) -> Hits:
        """Find the best ``k`` entities per query; see ``types.Index``.

        Raises:
            StateError: Nothing is indexed yet, or the queries have other dimensions than the rows.
        """
        if not self._ready:
            raise StateError(Errors.NOT_BUILT)
        if queries.dims != self._vectors.dims:
            raise StateError(Errors.DIMENSIONS.format(queries=queries.dims, rows=self._vectors.dims))
        return self._masked.search(lambda some, mask: self._search(some, k, mask), queries, k, allowed, _QUERIES)

    def _take(self, rows: EntityRows, n_entities: int) -> None:
        blocks = rows.vectors.blocks
        dense = [number for number, block in enumerate(blocks) if not sp.issparse(block)]
        if not dense:
            raise ConfigError(Errors.NO_DENSE_BLOCK.format(dims=rows.vectors.dims))
        place = max(dense, key=rows.vectors.dims.__getitem__)
        self._place, self._dense, self._vectors = place, np.asarray(blocks[place]), rows.vectors
        self._owner = np.asarray(rows.owner)
        self._scorer = EntityScorer(rows.vectors, self._owner, n_entities)
        self._masked = MaskedSearch(rows, n_entities)
        self._beside = self._index_beside(self._others(rows.vectors))

    def _index_beside(self, others: Vectors | None) -> Index | None:
        """An unbuilt index for the other blocks, inverted for so many rows that looking up is faster."""
        if others is None:
            return None
        inverted = len(others) > INVERTED_ROWS and any(map(sp.issparse, others.blocks))
        return InvertedIndex(_POSTINGS, _PROPOSED, checked=0) if inverted else ExactIndex()

    def _build_beside(self, rows: EntityRows, n_entities: int) -> None:
        if self._beside:
            self._beside.build(self._rows_beside(rows), n_entities)

    def _write_beside(self, folder: Path) -> None:
        if self._beside:
            (folder / BESIDE).mkdir()
            self._beside.to_disk(folder / BESIDE)

    def _open_beside(self, folder: Path, rows: EntityRows, n_entities: int) -> None:
        if self._beside:
            self._beside.from_disk(folder / BESIDE, self._rows_beside(rows), n_entities)

    def _rows_beside(self, rows: EntityRows) -> EntityRows:
        return rows._replace(vectors=self._others(rows.vectors) or rows.vectors)

    def _others(self, vectors: Vectors) -> Vectors | None:
        """All blocks but the indexed one."""
        others = vectors.blocks[: self._place] + vectors.blocks[self._place + 1 :]
        return Vectors(others) if others else None

    def _search(self, queries: Vectors, k: int, mask: Mask | None) -> Hits:
        hits = no_hits(len(queries), k)
        n_rows = mask.n_rows if mask else len(self._owner)
        rows_per_entity = len(self._owner) / self._scorer.n_entities
        fetch, effort = int(k * max(1.0, rows_per_entity) * self._overfetch) + _MARGIN, 1
        # The best of a sum is often not among the very best of either part.
        fetch *= _BESIDE_INVERTED if isinstance(self._beside, InvertedIndex) else 2 if self._beside else 1
        pending = np.flatnonzero(np.isfinite(queries.norms()))
        for _ in range(_ROUNDS):
            if not len(pending) or fetch * _GROWTH > n_rows:
                break
            some = queries.take(pending)
            dense = np.ascontiguousarray(some.blocks[self._place], np.float32)
            rows = self._propose(dense, fetch, effort, mask)
            found, enough = self._rank(some, rows, k, fetch, mask)
            _write(hits, pending, found)
            pending, fetch, effort = pending[~enough], fetch * _GROWTH, effort * _GROWTH
        if len(pending):
            allowed = mask.allowed if mask else None
            _write(hits, pending, self._masked.exact.search(queries.take(pending), k, allowed))
        return hits

    def _rank(self, queries: Vectors, rows: Ints2d, k: int, fetch: int, mask: Mask | None) -> tuple[Hits, Bools1d]:
        """Rank the entities of the fetched rows, and the best of the other blocks; tell which queries have enough.

        That is: ``k`` entities, and the last row that was fetched scores below the last of them.
        """
        fitting = rows >= 0 if mask is None else (rows >= 0) & mask.rows[rows]
        proposed, last = np.where(fitting, self._owner[rows], -1), [rows[:, -1]]
        if self._beside and (others := self._others(queries)):
            if isinstance(self._beside, InvertedIndex):
                by_engine = [np.sort(row[fits]) for row, fits in zip(rows, fitting, strict=True)]
                by_ngrams = self._beside.propose(others, fetch, mask.rows if mask else None, by_engine)
                proposed = owners_of(list(self._best(queries, by_ngrams, fetch // _RESCORED)), self._owner)
            else:
                k_beside = max(k, fetch * self._scorer.n_entities // len(self._owner))
                beside = self._beside.search(others, k_beside, mask.allowed if mask else None)
                proposed, last = np.hstack([proposed, beside.entities]), [*last, beside.rows[:, -1]]
        hits = self._scorer.rank(queries, proposed, k)
        worst = np.maximum.reduce([self._scorer.scores_of(queries, row) for row in last])
        return hits, (hits.entities[:, -1] >= 0) & (worst < hits.scores[:, -1])

    def _best(self, queries: Vectors, proposed: Iterable[tuple[Ints1d, Floats1d]], n_rows: int) -> Iterator[Ints1d]:
        """Yield the best ``n_rows`` of the rows proposed for each query, by what n-grams say plus the dense part."""
        for query, (rows, scores) in enumerate(proposed):
            if len(rows) > n_rows:
                scores = scores + dense_products(self._dense, rows, queries.blocks[self._place][query])
                rows = rows[np.argpartition(scores, len(rows) - n_rows)[-n_rows:]]
            yield rows


def _write(hits: Hits, queries: np.ndarray, found: Hits) -> None:
    for mine, new in zip(hits, found, strict=True):
        mine[queries] = new
