"""Approximate search with faiss: it proposes entities, whose rows are then scored exactly."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from ..errors import ConfigError, Errors, StateError
from ..files import REBUILD, read_json, replacing, sha256, write_json
from ..types import Bools1d, EntityRows, Hits, Index, Ints2d
from ..vectors import Vectors
from .checking import advise, measure_recall, sample_rows
from .exact import ExactIndex
from .faiss_engine import Engine, Kind, Plan, Quantiser, open_engine, train_engine
from .inverted import InvertedIndex
from .masking import Mask, MaskedSearch
from .ranking import no_hits
from .rescoring import EntityScorer

INDEX, FACTS, BESIDE = "index.faiss", "index.json", "beside"
INVERTED_ROWS = 200_000
_OVERFETCH = {"none": 1.5, "sq8": 2.0, "pq": 4.0}
_MARGIN = 32  # rows fetched beyond that
_GROWTH, _ROUNDS = 4, 3
_QUERIES = 64
_log = logging.getLogger(__name__)


class FaissIndex:
    """Index the widest dense block of the rows; those beside it are searched exactly, or by inverted lists.

    The entities that either block proposes are scored exactly over all their rows and blocks, so scores equal those of
    the exact index, and only an entity that was not proposed can be missed. A query that cannot be answered so (too few
    unique entities, or a tie that reaches beyond what was fetched) fetches more, and in the end is searched exactly.
    With some ten thousand rows the exact index is as fast; this one is for many more.

    Args:
        kind: ``flat`` (all rows), ``hnsw`` (a graph) or ``ivf`` (lists of near rows).
        quantiser: ``none``, ``sq8`` (a byte per dimension) or ``pq`` (about a byte per eight dimensions).
        links: Links per node of the graph.
        ef_construction: Beam width while the graph is built.
        ef_search: Least beam width of a search in the graph.
        nlist: Number of lists; by default about ``4 √N``.
        nprobe: Number of lists that a query visits; by default an eighth, at least 16.
        pq_m: Number of parts that a vector is cut into for ``pq``; it must divide the dimensions.
        flat_below: With fewer rows than this, all are searched, whatever the kind.
        checked: How many rows are used as queries to measure recall against exact search, when the index is built.
        seed: Seed of clustering and of the sample of rows.
    """

    def __init__(
        self,
        kind: Kind = "hnsw",
        quantiser: Quantiser = "none",
        *,
        links: int = 32,
        ef_construction: int = 100,
        ef_search: int = 128,
        nlist: int | None = None,
        nprobe: int | None = None,
        pq_m: int | None = None,
        flat_below: int = 5000,
        checked: int = 256,
        seed: int = 0,
    ) -> None:
        self.plan = Plan(kind, quantiser, links, ef_construction, nlist, pq_m, seed)
        for setting, value in {"ef_search": ef_search, "nprobe": nprobe}.items():
            if value is not None and value < 1:
                raise ConfigError(Errors.SETTING_VALUE.format(setting=setting, given=value, wanted="a positive number"))
        self.ef_search, self.nprobe = ef_search, nprobe
        self.flat_below, self.checked = flat_below, checked
        self._engine: Engine | None = None
        self._facts: dict[str, object] = {}

    def build(self, rows: EntityRows, n_entities: int) -> None:
        """Train and fill the index, and measure its recall on a sample of the rows.

        Raises:
            ConfigError: The rows have no dense block.
        """
        self._take(rows, n_entities)
        if self._beside:
            self._beside.build(self._rows_beside(rows), n_entities)
        dense, plan = self._dense, self.plan
        if (plan.kind, plan.quantiser) != ("flat", "none") and len(dense) < max(self.flat_below, plan.least_rows):
            _log.info("%d rows are too few for %s: all of them are searched (flat).", len(dense), plan.name)
            plan = Plan("flat", "none", seed=plan.seed)
        self._engine = train_engine(dense, plan)
        self._facts = {"kind": plan.kind, "quantiser": plan.quantiser, "asked": self.plan.name, "rows": len(dense),
                       "dimension": dense.shape[1], "nlist": self._engine.lists}  # fmt: skip
        queries = sample_rows(self._vectors, self.checked, plan.seed)
        self._facts["recall"] = recall = measure_recall(self, self._masked.exact, queries)
        advise(_log, plan.name, recall, "raise nprobe or ef_search, or use another quantiser")

    def search(self, queries: Vectors, k: int, allowed: Bools1d | None = None) -> Hits:
        """Find the best ``k`` entities per query; see ``types.Index``.

        Raises:
            StateError: Nothing is indexed yet, or the queries have other dimensions than the rows.
        """
        if self._engine is None:
            raise StateError(Errors.NOT_BUILT)
        if queries.dims != self._vectors.dims:
            raise StateError(Errors.DIMENSIONS.format(queries=queries.dims, rows=self._vectors.dims))
        engine = self._engine
        return self._masked.search(
            lambda some, mask: self._search(some, k, mask, engine), queries, k, allowed, _QUERIES
        )

    def to_disk(self, path: Path) -> None:
        """Write the faiss index and its facts into the folder ``path``; the rows are kept elsewhere."""
        if self._engine is None:
            raise StateError(Errors.NOT_BUILT)
        with replacing(Path(path)) as folder:
            folder.mkdir()
            self._engine.write(folder / INDEX)
            if self._beside:
                (folder / BESIDE).mkdir()
                self._beside.to_disk(folder / BESIDE)
            write_json(folder / FACTS, {**self._facts, "sha256": sha256(folder / INDEX)})

    def from_disk(self, path: Path, rows: EntityRows, n_entities: int) -> FaissIndex:
        """Open a saved index over the same rows.

        Raises:
            StateError: A file is damaged, or the index is of another kind or over other rows.
        """
        path = Path(path)
        facts = read_json(path / FACTS)
        if not isinstance(facts, dict) or not {"asked", "kind", "nlist", "sha256"} <= facts.keys():
            raise StateError(Errors.FILE_DAMAGED.format(path=path / FACTS, reason="facts are missing", rebuild=REBUILD))
        file, digest = path / INDEX, facts.pop("sha256")
        # faiss follows whatever numbers it reads, out of its own memory if need be, so look before it does.
        if not file.is_file() or sha256(file) != digest:
            reason = "not as it was saved" if file.is_file() else "missing"
            raise StateError(Errors.FILE_DAMAGED.format(path=file, reason=reason, rebuild=REBUILD))
        if facts["asked"] != self.plan.name:
            raise StateError(Errors.INDEX_SETTING.format(path=path, saved=facts["asked"], given=self.plan.name))
        self._take(rows, n_entities)
        if self._beside:
            self._beside.from_disk(path / BESIDE, self._rows_beside(rows), n_entities)
        self._engine = open_engine(file, facts["kind"], self._dense.shape)
        self._facts = facts
        return self

    def describe(self) -> dict[str, object]:
        """Kind, size, parameters, and recall at 64 against exact search as measured when built."""
        return {
            **self._facts,
            "ef_search": self.ef_search,
            "nprobe": self._nprobe(1.0) if self._engine else self.nprobe,
        }

    def _take(self, rows: EntityRows, n_entities: int) -> None:
        blocks = rows.vectors.blocks
        dense = [number for number, block in enumerate(blocks) if not sp.issparse(block)]
        if not dense:
            raise ConfigError(Errors.NO_DENSE_BLOCK.format(dims=rows.vectors.dims))
        place = max(dense, key=rows.vectors.dims.__getitem__)
        self._place, self._dense, self._vectors = place, blocks[place], rows.vectors
        self._owner = np.asarray(rows.owner)
        self._scorer = EntityScorer(rows.vectors, self._owner, n_entities)
        self._masked = MaskedSearch(rows, n_entities)
        self._beside = self._index_beside(self._others(rows.vectors))

    def _index_beside(self, others: Vectors | None) -> Index | None:
        """An unbuilt index for the other blocks, inverted for so many rows that looking up is faster."""
        if others is None:
            return None
        inverted = len(others) > INVERTED_ROWS and any(map(sp.issparse, others.blocks))
        return InvertedIndex() if inverted else ExactIndex()

    def _rows_beside(self, rows: EntityRows) -> EntityRows:
        return rows._replace(vectors=self._others(rows.vectors) or rows.vectors)

    def _others(self, vectors: Vectors) -> Vectors | None:
        """All blocks but the indexed one."""
        others = vectors.blocks[: self._place] + vectors.blocks[self._place + 1 :]
        return Vectors(others) if others else None

    def _nprobe(self, share: float) -> int:
        """Lists to visit; more when only a share of the rows is allowed, since each then yields less."""
        lists = self._engine.lists if self._engine else 0
        return min(lists, int((self.nprobe or max(16, lists // 8)) / max(share, 0.125)))

    def _search(self, queries: Vectors, k: int, mask: Mask | None, engine: Engine) -> Hits:
        hits = no_hits(len(queries), k)
        n_rows = mask.n_rows if mask else len(self._owner)
        rows_per_entity = len(self._owner) / self._scorer.n_entities
        fetch = int(k * max(1.0, rows_per_entity) * _OVERFETCH[self.plan.quantiser]) + _MARGIN
        if self._beside:  # the best of a sum is often not among the very best of either part
            fetch *= 2
        nprobe = self._nprobe(n_rows / max(1, len(self._owner)))
        pending = np.flatnonzero(np.isfinite(queries.norms()))
        for _ in range(_ROUNDS):
            if not len(pending) or fetch * _GROWTH > n_rows:
                break
            some = queries.take(pending)
            dense = np.ascontiguousarray(some.blocks[self._place], np.float32)
            rows = engine.search(dense, fetch, max(fetch, self.ef_search), nprobe, mask.rows if mask else None)
            found, enough = self._rank(some, rows, k, max(k, int(fetch / rows_per_entity)), mask)
            _write(hits, pending, found)
            pending, fetch, nprobe = pending[~enough], fetch * _GROWTH, min(nprobe * _GROWTH, engine.lists)
        if len(pending):
            allowed = mask.allowed if mask else None
            _write(hits, pending, self._masked.exact.search(queries.take(pending), k, allowed))
        return hits

    def _rank(self, queries: Vectors, rows: Ints2d, k: int, k_beside: int, mask: Mask | None) -> tuple[Hits, Bools1d]:
        """Rank the entities of the fetched rows, and the best of the other blocks; tell which queries have enough.

        That is: ``k`` entities, and the last row that was fetched scores below the last of them.
        """
        proposed, last = np.where(rows < 0, -1, self._owner[rows]), [rows[:, -1]]
        if self._beside and (others := self._others(queries)):
            beside = self._beside.search(others, k_beside, mask.allowed if mask else None)
            proposed, last = np.hstack([proposed, beside.entities]), [*last, beside.rows[:, -1]]
        hits = self._scorer.rank(queries, proposed, k)
        worst = np.maximum.reduce([self._scorer.scores_of(queries, row) for row in last])
        return hits, (hits.entities[:, -1] >= 0) & (worst < hits.scores[:, -1])


def _write(hits: Hits, queries: np.ndarray, found: Hits) -> None:
    for mine, new in zip(hits, found, strict=True):
        mine[queries] = new


def make_faiss_index(
    kind: Kind = "hnsw",
    quantiser: Quantiser = "none",
    links: int = 32,
    ef_construction: int = 100,
    ef_search: int = 128,
    nlist: int | None = None,
    nprobe: int | None = None,
    pq_m: int | None = None,
    flat_below: int = 5000,
    checked: int = 256,
    seed: int = 0,
) -> FaissIndex:
    """Make a ``FaissIndex``: faiss proposes entities by their dense vectors, which are then scored exactly.

    Args:
        kind: "flat" (all rows), "hnsw" (a graph) or "ivf" (lists of near rows).
        quantiser: "none", "sq8" (a byte per dimension) or "pq" (about a byte per eight dimensions).
        links: Links per node of the graph.
        ef_construction: Beam width while the graph is built.
        ef_search: Least beam width of a search in the graph.
        nlist: Number of lists; null for about four times the root of the number of rows.
        nprobe: Number of lists that a query visits; null for an eighth of them, at least 16.
        pq_m: Number of parts that a vector is cut into for "pq"; it must divide the dimensions.
        flat_below: With fewer rows than this, all are searched, whatever the kind.
        checked: How many rows are used as queries to measure recall against exact search, when the index is built.
        seed: Seed of that sample and of the lists.
    """
    return FaissIndex(
        kind, quantiser, links=links, ef_construction=ef_construction, ef_search=ef_search, nlist=nlist,
        nprobe=nprobe, pq_m=pq_m, flat_below=flat_below, checked=checked, seed=seed,
    )  # fmt: skip
