"""Approximate search with faiss: it proposes entities, whose rows are then scored exactly."""

from __future__ import annotations

import logging
from pathlib import Path

from ..checksums import ALWAYS, sampled
from ..errors import ConfigError, Errors, StateError
from ..files import REBUILD, read_json, replacing, sha256, write_json
from ..types import EntityRows, Floats2d, Ints2d
from .approximate import ApproximateIndex
from .checking import ENOUGH, RecallCheck, advise, partly_forgotten
from .faiss_engine import Engine, Kind, Plan, Quantiser, open_engine, train_engine
from .masking import Mask

INDEX, FACTS = "index.faiss", "index.json"
_OVERFETCH = {"none": 1.5, "sq8": 2.0, "pq": 4.0, "pq4": 6.0}
_LEAST_VISITED = 16  # lists
_GAIN = 0.0005  # in recall, that visiting twice as many is worth
_log = logging.getLogger(__name__)


class FaissIndex(ApproximateIndex):
    """Let faiss propose rows by the widest dense block; see ``ApproximateIndex``.

    With some ten thousand rows the exact index is as fast; this one is for many more.

    Args:
        kind: ``flat`` (all rows), ``hnsw`` (a graph) or ``ivf`` (lists of near rows).
        quantiser: ``none``, ``sq8`` (a byte per dimension), ``pq`` (about a byte per eight dimensions) or ``pq4`` (half
            a byte for two dimensions, several times as fast as ``sq8``, but in the memory of each process).
        links: Links per node of the graph.
        ef_construction: Beam width while the graph is built.
        ef_search: Least beam width of a search in the graph.
        nlist: Number of lists; by default ``4 √N``, at most 4096, or 1024 of ``pq4``.
        nprobe: Number of lists that a query visits; by default the fewest, from 16 up, that recall is 0.995 with.
        pq_m: Number of parts that a vector is cut into for ``pq`` and ``pq4``; it must divide the dimensions.
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
        super().__init__(_OVERFETCH[quantiser])
        self._engine: Engine | None = None
        self._visited = _LEAST_VISITED
        self._facts: dict[str, object] = {}

    def build(self, rows: EntityRows, n_entities: int) -> None:
        """Train and fill the index, and measure its recall on a sample of the rows.

        Raises:
            ConfigError: The rows have no dense block.
        """
        self._take(rows, n_entities)
        self._build_beside(rows, n_entities)
        dense, plan = self._dense, self.plan
        if (plan.kind, plan.quantiser) != ("flat", "none") and len(dense) < max(self.flat_below, plan.least_rows):
            _log.info("%d rows are too few for %s: all of them are searched (flat).", len(dense), plan.name)
            plan = Plan("flat", "none", seed=plan.seed)
        self._engine = train_engine(dense, plan)
        self._facts = {"kind": plan.kind, "quantiser": plan.quantiser, "asked": self.plan.name, "rows": len(dense),
                       "dimension": dense.shape[1], "nlist": self._engine.lists}  # fmt: skip
        check = RecallCheck(self._masked.exact, partly_forgotten(rows.vectors, self.checked, plan.seed), rows.vectors)
        self._facts["recall"] = recall = self._tuned(check, self._engine.lists)
        advise(_log, plan.name, recall, "raise nprobe or ef_search, or use another quantiser")

    def _tuned(self, check: RecallCheck, lists: int) -> float | None:
        """Visit as few lists as find enough, or as more do not add to, unless the number is set; return the recall."""
        self._visited = min(lists, _LEAST_VISITED)
        recall = check.recall(self)
        while self.nprobe is None and recall is not None and recall < ENOUGH and self._visited < lists:
            before, recalled = self._visited, recall
            self._visited = min(lists, self._visited * 2)
            recall = check.recall(self)
            if recall is not None and recall - recalled < _GAIN:  # what is missed is missed for another reason
                self._visited, recall = before, recalled
                break
        self._facts["visited"] = self._visited
        return recall

    @property
    def _ready(self) -> bool:
        return self._engine is not None

    def _propose(self, queries: Floats2d, fetch: int, effort: int, mask: Mask | None) -> Ints2d:
        if self._engine is None:
            raise StateError(Errors.NOT_BUILT)
        nprobe = min(self._nprobe(mask.share if mask else 1.0) * effort, self._engine.lists)
        return self._engine.search(queries, fetch, max(fetch, self.ef_search), nprobe, mask.rows if mask else None)

    def to_disk(self, path: Path) -> None:
        """Write the faiss index and its facts into the folder ``path``; the rows are kept elsewhere."""
        if self._engine is None:
            raise StateError(Errors.NOT_BUILT)
        with replacing(Path(path)) as folder:
            folder.mkdir()
            self._engine.write(folder / INDEX)
            self._write_beside(folder)
            write_json(
                folder / FACTS,
                {**self._facts, "checksum": _checksum(folder / INDEX)},
            )

    def from_disk(self, path: Path, rows: EntityRows, n_entities: int) -> FaissIndex:
        """Open a saved index over the same rows.

        Raises:
            StateError: A file is damaged, or the index is of another kind or over other rows.
        """
        path = Path(path)
        facts = read_json(path / FACTS)
        if not isinstance(facts, dict) or not {"asked", "kind", "nlist", "visited", "checksum"} <= facts.keys():
            raise StateError(Errors.FILE_DAMAGED.format(path=path / FACTS, reason="facts are missing", rebuild=REBUILD))
        file, digest = path / INDEX, facts.pop("checksum")
        # faiss follows whatever numbers it reads, out of its own memory if need be, so look before it does.
        if not file.is_file() or _checksum(file) != digest:
            reason = "not as it was saved" if file.is_file() else "missing"
            raise StateError(Errors.FILE_DAMAGED.format(path=file, reason=reason, rebuild=REBUILD))
        if facts["asked"] != self.plan.name:
            raise StateError(Errors.INDEX_SETTING.format(path=path, saved=facts["asked"], given=self.plan.name))
        self._take(rows, n_entities)
        self._open_beside(path, rows, n_entities)
        self._engine = open_engine(file, facts["kind"], self._dense.shape)
        self._facts, self._visited = facts, int(facts["visited"])
        return self

    def describe(self) -> dict[str, object]:
        """Kind, size, parameters, and recall at 64 against exact search as measured when built."""
        return {
            **self._facts,
            "ef_search": self.ef_search,
            "nprobe": self._nprobe(1.0) if self._engine else self.nprobe,
        }

    def _nprobe(self, share: float) -> int:
        """Lists to visit; more when only a share of the rows is allowed, since each then yields less."""
        lists = self._engine.lists if self._engine else 0
        return min(lists, int((self.nprobe or self._visited) / max(share, 0.125)))


def _checksum(file: Path) -> str:
    """Read a small file whole, and samples of a large one, so that opening stays fast."""
    return sha256(file) if file.stat().st_size <= ALWAYS else sampled(file)


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
        quantiser: "none", "sq8" (a byte per dimension), "pq" (about a byte per eight dimensions) or "pq4" (half a byte
            for two dimensions, several times as fast as "sq8", but in the memory of each process).
        links: Links per node of the graph.
        ef_construction: Beam width while the graph is built.
        ef_search: Least beam width of a search in the graph.
        nlist: Number of lists; null for four times the root of the number of rows, at most 4096, or 1024 of "pq4".
        nprobe: Number of lists that a query visits; null for the fewest, from 16 up, that recall is 0.995 with.
        pq_m: Number of parts that a vector is cut into for "pq" and "pq4"; it must divide the dimensions.
        flat_below: With fewer rows than this, all are searched, whatever the kind.
        checked: How many rows are used as queries to measure recall against exact search, when the index is built.
        seed: Seed of that sample and of the lists.
    """
    return FaissIndex(
        kind, quantiser, links=links, ef_construction=ef_construction, ef_search=ef_search, nlist=nlist,
        nprobe=nprobe, pq_m=pq_m, flat_below=flat_below, checked=checked, seed=seed,
    )  # fmt: skip
