"""Search in millions of rows: inverted lists of rare n-grams propose some, which are then scored exactly."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from ..errors import ConfigError, Errors, StateError
from ..files import REBUILD, read_json, write_json
from ..types import Bools1d, EntityRows, Floats1d, Hits, Ints1d
from ..vectors import Vectors
from .checking import advise, measure_recall, partly_forgotten
from .masking import Mask, MaskedSearch
from .postings import Postings
from .ranking import no_hits
from .rescoring import EntityScorer, owners_of

FACTS = "inverted.json"
_QUERIES = 32
_GROWTH = 4
_LEAST_READ, _MOST_READ = 100_000, 600_000
_log = logging.getLogger(__name__)


class InvertedIndex:
    """Read a query's rarest n-grams, and score the rows that share most of them exactly, over all their blocks.

    Scores equal those of the exact index, and only an entity that was not proposed can be missed. Dense blocks propose
    nothing, so that one which finds other entities than the n-grams do wants a faiss index. A query that finds
    fewer than K entities reads on, in the end all of its n-grams. It is for some hundred thousand rows and more.

    Args:
        postings: How many postings (an n-gram in a row) of a query's rarest n-grams are read; by default a quarter as
            many as there are rows, from 100,000 to 600,000.
        rescored: How many rows are then scored exactly.
        checked: How many rows, a third of their n-grams left out, are used as queries to measure recall against exact
            search when the index is built.
        seed: Seed of that sample.
    """

    def __init__(self, postings: int | None = None, rescored: int = 1_000, checked: int = 128, seed: int = 0) -> None:
        for setting, value in {"postings": postings, "rescored": rescored}.items():
            if value is not None and value < 1:
                raise ConfigError(Errors.SETTING_VALUE.format(setting=setting, given=value, wanted="a positive number"))
        for setting, value in {"checked": checked, "seed": seed}.items():
            if value < 0:
                raise ConfigError(Errors.SETTING_VALUE.format(setting=setting, given=value, wanted="0 or more"))
        self.postings, self.rescored, self.checked, self.seed = postings, rescored, checked, seed
        self._lists: Postings | None = None
        self._recall: float | None = None

    def build(self, rows: EntityRows, n_entities: int) -> None:
        """Invert the rows, and measure recall on a sample of them.

        Raises:
            ConfigError: The rows have no sparse block.
        """
        self._take(rows, n_entities)
        self._lists = Postings.of(rows.vectors.blocks[self._place])
        sample = partly_forgotten(rows.vectors, self.checked, self.seed)
        self._recall = measure_recall(self, self._masked.exact, sample, rows.vectors)
        self._lists.leave_pages()
        advise(_log, "inverted", self._recall, "raise postings or rescored")

    def search(self, queries: Vectors, k: int, allowed: Bools1d | None = None) -> Hits:
        """Find the best ``k`` entities per query; see ``types.Index``."""
        if self._lists is None:
            raise StateError(Errors.NOT_BUILT)
        lists = self._lists
        return self._masked.search(lambda some, mask: self._search(some, k, mask, lists), queries, k, allowed, _QUERIES)

    def propose(
        self, queries: Vectors, n_rows: int, allowed: Bools1d | None, others: Sequence[Ints1d]
    ) -> Iterator[tuple[Ints1d, Floats1d]]:
        """Yield for each query the rows that it would score exactly, then others, and what rare n-grams say of them.

        Args:
            queries: Finite vectors, (B, D).
            n_rows: How many rows to propose, if that is more than are set.
            allowed: Which rows may be proposed, (N,); None for all.
            others: Other rows of each query, ascending.
        """
        if self._lists is None:
            raise StateError(Errors.NOT_BUILT)
        n_best = max(self.rescored, n_rows)
        return self._lists.best_rows(queries.blocks[self._place], self._read, n_best, allowed, others)

    def to_disk(self, path: Path) -> None:
        """Write the inverted lists and their facts into the folder ``path``."""
        if self._lists is None:
            raise StateError(Errors.NOT_BUILT)
        self._lists.to_disk(path)
        write_json(path / FACTS, self.describe())

    def from_disk(self, path: Path, rows: EntityRows, n_entities: int) -> InvertedIndex:
        """Open what ``to_disk`` wrote over the same rows.

        Raises:
            StateError: A file is missing or damaged.
        """
        self._take(rows, n_entities)
        self._lists, facts = Postings.from_disk(path), read_json(path / FACTS)
        if not isinstance(facts, dict) or "recall" not in facts:
            raise StateError(Errors.FILE_DAMAGED.format(path=path / FACTS, reason="facts are missing", rebuild=REBUILD))
        # Recall is that of the settings it was measured with.
        self._recall = facts["recall"] if {**self.describe(), "recall": facts["recall"]} == facts else None
        return self

    def describe(self) -> dict[str, object]:
        """Kind, settings, and recall at 64 against exact search as measured when built."""
        postings = self._read if self._lists else self.postings
        return {"kind": "inverted", "postings": postings, "rescored": self.rescored, "recall": self._recall}

    @property
    def _read(self) -> int:
        return self.postings or min(max(len(self._owner) // 4, _LEAST_READ), _MOST_READ)

    def _take(self, rows: EntityRows, n_entities: int) -> None:
        place = next((number for number, block in enumerate(rows.vectors.blocks) if sp.issparse(block)), None)
        if place is None:
            raise ConfigError(Errors.NO_SPARSE_BLOCK.format(dims=rows.vectors.dims))
        self._place = place
        self._owner = np.asarray(rows.owner)
        self._scorer = EntityScorer(rows.vectors, self._owner, n_entities)
        self._masked = MaskedSearch(rows, n_entities)

    def _search(self, queries: Vectors, k: int, mask: Mask | None, lists: Postings) -> Hits:
        hits = no_hits(len(queries), k)
        pending = np.flatnonzero(np.isfinite(queries.norms()))
        postings, rescored = self._read, max(self.rescored, k)
        while len(pending):
            some = queries.take(pending)
            sparse = some.blocks[self._place]
            rows = [row for row, _ in lists.best_rows(sparse, postings, rescored, mask.rows if mask else None)]
            found = self._scorer.rank(some, owners_of(rows, self._owner), k)
            for mine, new in zip(hits, found, strict=True):
                mine[pending] = new
            whole = (lists.needed(sparse) <= postings) & (np.array([len(one) for one in rows]) < rescored)
            pending = pending[(found.entities[:, -1] < 0) & ~whole]
            postings, rescored = postings * _GROWTH, rescored * _GROWTH
        return hits


def make_inverted_index(
    postings: int | None = None, rescored: int = 1_000, checked: int = 128, seed: int = 0
) -> InvertedIndex:
    """Make an ``InvertedIndex``: rare n-grams propose rows, which are then scored exactly.

    Args:
        postings: How many postings (an n-gram in a row) of a query's rarest n-grams are read; null for a quarter
            as many as there are rows, from 100,000 to 600,000.
        rescored: How many rows are then scored exactly.
        checked: How many rows are used as queries to measure recall against exact search, when the index is built.
        seed: Seed of that sample.
    """
    return InvertedIndex(postings, rescored, checked, seed)
