"""What is special to faiss: which index to make, training it, searching its rows, and its files."""

from __future__ import annotations

import functools
import shutil
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, get_args

import numpy as np

from ..errors import ConfigError, Errors, StateError
from ..files import REBUILD, leave_pages
from ..forking import guard_forks
from ..types import Bools1d, Floats2d

Kind = Literal["flat", "hnsw", "ivf"]
Quantiser = Literal["none", "sq8", "pq", "pq4"]

_ADDED = 1 << 16  # rows turned into float32 at a time
_PER_CENTROID = 39  # the fewest training rows per centroid that faiss is content with
_MOST_PER_CENTROID = 64
_MOST_LISTS = 4096  # with more, most of the time of a build goes into finding each row its list
_MOST_FAST_LISTS = 1024  # of pq4, which reads lists so fast that longer ones cost little
_ITERATIONS, _MANY = 10, 200_000  # so many are enough to cut many rows into lists
_MAPPED = 32 << 20  # bytes; the lists of larger files stay on disk and are shared by processes


@dataclass(frozen=True, slots=True)
class Plan:
    """What to build; see ``FaissIndex``."""

    kind: Kind
    quantiser: Quantiser
    links: int = 32
    ef_construction: int = 100
    nlist: int | None = None
    pq_m: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        for setting, kinds in {"kind": get_args(Kind), "quantiser": get_args(Quantiser)}.items():
            if (given := getattr(self, setting)) not in kinds:
                wanted = " or ".join(map(repr, kinds))
                raise ConfigError(Errors.SETTING_VALUE.format(setting=setting, given=given, wanted=wanted))
        if self.kind == "hnsw" and self.quantiser == "pq4":
            wanted = "'flat' or 'ivf' with quantiser 'pq4'"
            raise ConfigError(Errors.SETTING_VALUE.format(setting="kind", given=self.kind, wanted=wanted))
        for setting in ("links", "ef_construction", "nlist", "pq_m"):
            if (given := getattr(self, setting)) is not None and given < 1:
                wanted = "a positive number"
                raise ConfigError(Errors.SETTING_VALUE.format(setting=setting, given=given, wanted=wanted))

    @property
    def name(self) -> str:
        """Kind and quantiser, such as ``ivf,pq``."""
        return self.kind if self.quantiser == "none" else f"{self.kind},{self.quantiser}"

    @property
    def least_rows(self) -> int:
        """Fewer rows than this cannot train the quantiser or the lists."""
        return _PER_CENTROID * (16 if self.quantiser == "pq" else 4)

    def lists(self, n_rows: int) -> int:
        """How many lists ``n_rows`` rows are put into."""
        if self.kind == "ivf":
            most = _MOST_FAST_LISTS if self.quantiser == "pq4" else _MOST_LISTS
            return max(1, min(self.nlist or min(most, int(4 * n_rows**0.5)), n_rows // _PER_CENTROID))
        return 1

    def parts(self, dimension: int) -> int:
        """How many parts ``pq`` cuts a vector into: by default the most of at least eight dimensions each, or four.

        ``pq4`` takes parts of two dimensions.

        Raises:
            ConfigError: ``pq_m`` does not divide the dimensions.
        """
        if self.pq_m is None:
            least, most = (2, dimension // 2) if self.quantiser == "pq4" else (8, dimension // 4)
            return next((m for m in range(most, 0, -1) if dimension % m == 0 and dimension // m >= least), 1)
        if dimension % self.pq_m:
            wanted = f"a divisor of the {dimension} dimensions"
            raise ConfigError(Errors.SETTING_VALUE.format(setting="pq_m", given=self.pq_m, wanted=wanted))
        return self.pq_m


class Engine:
    """A filled faiss index.

    Args:
        index: What faiss made.
        kind: Its kind.
        file: Where its lists are mapped from, if they are: faiss would write and pickle no more than that name.
    """

    def __init__(self, index: Any, kind: Kind, file: Path | None = None) -> None:
        self.index, self.kind, self._file = index, kind, file

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        if self._file is None:
            return Engine, (self.index, self.kind)
        return open_engine, (self._file, self.kind, (self.index.ntotal, self.index.d))

    def search(self, queries: Floats2d, fetch: int, ef: int, nprobe: int, rows: Bools1d | None) -> np.ndarray:
        """Return the numbers of the best ``fetch`` rows of each query, best first, padded with -1, (B, fetch).

        Args:
            queries: Finite vectors, (B, D).
            fetch: How many rows.
            ef: Beam width in a graph.
            nprobe: Lists to visit.
            rows: Which rows may be found (N,); None for all.
        """
        faiss = load_faiss()
        selector = None if rows is None else faiss.IDSelectorBitmap(np.packbits(rows, bitorder="little"))
        if self.kind == "hnsw":
            settings = faiss.SearchParametersHNSW(sel=selector, efSearch=ef)
        elif self.lists:
            settings = faiss.SearchParametersIVF(sel=selector, nprobe=nprobe)
        else:
            settings = faiss.SearchParameters(sel=selector)
        return np.asarray(self.index.search(queries, fetch, params=settings)[1])

    @property
    def lists(self) -> int:
        """The number of lists, 0 where there are none."""
        return int(getattr(self.index, "nlist", 0))

    def write(self, path: Path) -> None:
        """Write the index as one file."""
        if self._file is None:
            load_faiss().write_index(self.index, str(path))
        else:
            shutil.copyfile(self._file, path)


def train_engine(dense: np.ndarray, plan: Plan) -> Engine:
    """Make the index that ``plan`` describes, train it on a seeded sample and add all rows (N, D), block by block.

    Raises:
        ConfigError: ``pq_m`` does not divide the dimensions.
    """
    faiss = load_faiss()
    n_rows, dimension = dense.shape
    index = faiss.index_factory(dimension, _recipe(plan, n_rows, dimension), faiss.METRIC_INNER_PRODUCT)
    if plan.kind == "hnsw":
        index.hnsw.efConstruction = plan.ef_construction
    if hasattr(index, "cp"):
        index.cp.seed = plan.seed
        if n_rows > _MANY:
            index.cp.niter = _ITERATIONS
    quantiser = getattr(faiss.downcast_index(index.storage) if plan.kind == "hnsw" else index, "pq", None)
    if quantiser is not None:
        quantiser.cp.seed = plan.seed
    if not index.is_trained:
        size = min(n_rows, max(_MOST_PER_CENTROID * plan.lists(n_rows), _PER_CENTROID * 256))
        sample = np.sort(np.random.default_rng(plan.seed).choice(n_rows, size, replace=False))
        index.train(_float32(dense[sample]))
    for start in range(0, n_rows, _ADDED):
        index.add(_float32(dense[start : start + _ADDED]))
        leave_pages(dense)
    return Engine(index, plan.kind)


def open_engine(path: Path, kind: Kind, shape: tuple[int, ...]) -> Engine:
    """Read an index and check that it is over rows of ``shape`` (N, D).

    Raises:
        StateError: It cannot be read, or is over other rows.
    """
    faiss = load_faiss()
    mapped = kind == "ivf" and path.stat().st_size > _MAPPED
    try:
        index = faiss.read_index(str(path), faiss.IO_FLAG_MMAP if mapped else 0)
        lists: Any = faiss.downcast_InvertedLists(index.invlists) if mapped else None
        if mapped := hasattr(lists, "prefetch_nthread"):  # those of pq4 are read: they are small, and cannot be mapped
            lists.prefetch_nthread = 0  # reading ahead starts threads for every search
    except RuntimeError as error:
        reason = str(error).strip().rpartition("Error: ")[2]
        raise StateError(Errors.FILE_DAMAGED.format(path=path, reason=reason, rebuild=REBUILD)) from error
    if (index.ntotal, index.d) != tuple(shape):
        reason = (
            f"it holds {index.ntotal} rows of {index.d} dimensions, but the saved rows are {shape[0]} of {shape[1]}"
        )
        raise StateError(Errors.FILE_DAMAGED.format(path=path, reason=reason, rebuild=REBUILD))
    return Engine(index, kind, path if mapped else None)


def _recipe(plan: Plan, n_rows: int, dimension: int) -> str:
    """What to tell faiss's index factory."""
    bits = int(min(8, np.log2(max(2, n_rows / _PER_CENTROID))))
    # "np": no polysemous training, which takes minutes and serves a search that is not used here.
    parts = plan.parts(dimension)
    code = {"none": "Flat", "sq8": "SQ8", "pq": f"PQ{parts}x{bits}np", "pq4": f"PQ{parts}x4fs"}[plan.quantiser]
    if plan.kind == "hnsw":  # faiss builds its graph over pq codes by Euclidean distance, the same for unit vectors
        return f"HNSW{plan.links},{code}"
    if plan.kind == "ivf" or plan.quantiser in (
        "pq",
        "pq4",
    ):  # a plain pq index cannot search among some rows only; one list can
        return f"IVF{plan.lists(n_rows)},{code}"
    return code


def _float32(rows: np.ndarray) -> Floats2d:
    return np.ascontiguousarray(rows, np.float32)


@functools.cache
def load_faiss() -> ModuleType:
    """Import faiss, and see to forked children, as an index may be used without a component."""
    import faiss

    guard_forks()
    module: ModuleType = faiss
    return module
