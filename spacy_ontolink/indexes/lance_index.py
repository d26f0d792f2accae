"""Search in a LanceDB table that several pipelines share and ``ontolink update`` changes row by row."""

from __future__ import annotations

import functools
import logging
from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np

from ..errors import Errors, StateError, check_setting, require
from ..files import REBUILD, open_tensors, read_json, replacing, write_json, write_tensors
from ..kb.filters import kinds
from ..kb.hashing import hash_texts
from ..registry import saves
from ..types import Bools1d, EntityRows, Floats2d, Ints1d, Ints2d
from .approximate import ApproximateIndex
from .checking import advise, measure_recall, sample_rows
from .lance_store import Keys, Store, StoredRows, Table, Written, write
from .masking import Mask
from .recent import RecentMasks

if TYPE_CHECKING:
    from ..kb import KnowledgeBase

FACTS, PLACES = "lance.json", "places.safetensors"
Quantiser = Literal["none", "sq8"]
_OVERFETCH = {"none": 1.5, "sq8": 2.0}
_MOST_EXTRA = 8  # times the rows that are fetched where a filter can be passed on in part only
_log = logging.getLogger(__name__)


class _Condition(NamedTuple):
    """What of a filter the store applies itself, and how many rows that leaves."""

    text: str
    n_rows: int


class LanceIndex(ApproximateIndex):
    """Let a LanceDB table propose rows by the widest dense block; see ``ApproximateIndex``.

    Building it writes to the table only what differs from what is there, and notes the version that came of it. A
    saved pipeline reads that version for ever, whatever others write meanwhile.

    Args:
        uri: A folder, or the address of a bucket (``s3://…``); credentials come from the environment.
        table: The name of the table in it.
        quantiser: What the table's index keeps of a vector: all of it, or with ``sq8`` a byte per dimension.
        indexed_from: With fewer rows than this the store compares all.
        nprobe: Number of lists that a query visits; by default an eighth, at least 16.
        checked: How many rows are used as queries to measure recall against exact search, when the index is built.
        seed: Seed of the sample of rows.
    """

    def __init__(
        self,
        uri: str,
        table: str = "ontolink",
        quantiser: Quantiser = "none",
        *,
        indexed_from: int = 20_000,
        nprobe: int | None = None,
        checked: int = 256,
        seed: int = 0,
    ) -> None:
        require("lancedb", "lance", "LanceIndex")
        check_setting("uri", uri, bool(uri), "a folder or the address of a bucket")
        check_setting("table", table, bool(table), "a name")
        check_setting("quantiser", quantiser, quantiser in get_args(Quantiser), "'none' or 'sq8'")
        check_setting("indexed_from", indexed_from, indexed_from >= 0, "0 or more")
        check_setting("nprobe", nprobe, nprobe is None or nprobe > 0, "a positive number")
        check_setting("checked", checked, checked >= 0, "0 or more")
        super().__init__(_OVERFETCH[quantiser])
        self.table, self.quantiser, self.indexed_from = Table(uri, table), quantiser, indexed_from
        self.nprobe, self.checked, self.seed = nprobe, checked, seed
        self._kb: KnowledgeBase | None = None
        self._encoder = ""
        self._store: Store | None = None
        self._facts: dict[str, object] = {}
        self._conditions: RecentMasks[_Condition] = RecentMasks()

    def introduce(self, kb: KnowledgeBase, encoder: str) -> None:
        """Take the entities that rows belong to, and the encoder's id; see ``types.Index``."""
        self._kb, self._encoder = kb, encoder
        self.__dict__.pop("_kinds", None)

    def build(self, rows: EntityRows, n_entities: int) -> None:
        """Bring the table up to date, and measure recall on a sample of the rows.

        Raises:
            ConfigError: The rows have no dense block.
            StateError: The table belongs to another KB or encoder, or is written to by somebody else.
        """
        self._take(rows, n_entities)
        self._build_beside(rows, n_entities)
        stored = self._stored(rows)
        facts = {"kb": self._known().name, "encoder": self._encoder}
        written = write(self.table, stored, facts, self._lists, self.quantiser)
        self._open(written.version, _places(stored.key))
        self._facts = {"kind": "lance", "table": self.table.name, "quantiser": self.quantiser, **written._asdict()}
        _tell(self.table, written)
        queries = sample_rows(self._vectors, self.checked, self.seed)
        self._facts["recall"] = recall = measure_recall(self, self._masked.exact, queries)
        advise(_log, "lance", recall, "raise nprobe, or use quantiser = 'none'")

    def to_disk(self, path: Path) -> None:
        """Write where the rows are in the table, at which version, into the folder ``path``; and keep that version."""
        if self._store is None:
            raise StateError(Errors.NOT_BUILT)
        self._store.keep()
        with replacing(Path(path)) as folder:
            folder.mkdir()
            self._write_beside(folder)
            write_tensors(folder / PLACES, {"key": self._key, "row": self._row})
            write_json(folder / FACTS, self._facts)

    def from_disk(self, path: Path, rows: EntityRows, n_entities: int) -> LanceIndex:
        """Open the version of the table that was built, over the same rows.

        Raises:
            StateError: A file is damaged, or the table or the version is gone or another's.
        """
        path = Path(path)
        facts, arrays = read_json(path / FACTS), open_tensors(path / PLACES)
        if not isinstance(facts, dict) or not {"version", "mark", "quantiser"} <= facts.keys():
            raise StateError(Errors.FILE_DAMAGED.format(path=path / FACTS, reason="facts are missing", rebuild=REBUILD))
        if facts["quantiser"] != self.quantiser:
            saved, given = f"{facts['quantiser']} lance", f"{self.quantiser} lance"
            raise StateError(Errors.INDEX_SETTING.format(path=path, saved=saved, given=given))
        places = arrays.get("key"), arrays.get("row")
        if any(array is None or len(array) != len(rows.owner) for array in places):
            reason = "it does not tell where each row is"
            raise StateError(Errors.FILE_DAMAGED.format(path=path / PLACES, reason=reason, rebuild=REBUILD))
        self._take(rows, n_entities)
        self._open_beside(path, rows, n_entities)
        self._facts = facts
        self._open(int(facts["version"]), (arrays["key"], arrays["row"]), str(facts["mark"]))
        return self

    def describe(self) -> dict[str, object]:
        """Kind, table, version, what was written to it, and recall at 64 against exact search as measured then."""
        return {**self._facts, "nprobe": self._nprobe(1.0) if self._store else self.nprobe}

    def _open(self, version: int, places: tuple[Keys, Ints1d], mark: str | None = None) -> None:
        store = Store(self.table, version)
        if mark is not None:
            store.check(mark, *self._dense.shape)
        self._key, self._row = places
        self._conditions.clear()
        self._store = store

    @functools.cached_property
    def _kinds(self) -> tuple[Ints1d, list[str]]:
        return kinds(self._known())

    @property
    def _lists(self) -> int:
        """How many lists of near rows the store should have for so many rows, 0 where it compares all."""
        return int(2 * len(self._owner) ** 0.5) if len(self._owner) >= self.indexed_from else 0

    def _known(self) -> KnowledgeBase:
        if self._kb is None:
            raise StateError(Errors.NOT_INTRODUCED.format(index="LanceIndex"))
        return self._kb

    def _stored(self, rows: EntityRows) -> StoredRows:
        """The rows as the table is to hold them."""
        import pyarrow as pa

        kb, owner = self._known(), self._owner
        ids, names = kb.ids_of(owner), kb.texts_of(rows.name)
        seen: Counter[str] = Counter()
        texts = []
        for pair in map("\0".join, zip(ids, names, strict=True)):
            texts.append(f"{pair}\0{seen[pair]}")
            seen[pair] += 1
        kind, labels = self._kinds
        of_row = np.array(labels, object)[kind[owner]]
        content = _contents(self._dense, of_row)
        text = pa.large_string()
        return StoredRows(
            hash_texts(texts).view(np.int64), content, pa.array(ids, text), pa.array(names, text),
            pa.array(of_row, text), self._dense,
        )  # fmt: skip

    @property
    def _ready(self) -> bool:
        return self._store is not None

    def _propose(self, queries: Floats2d, fetch: int, effort: int, mask: Mask | None) -> Ints2d:
        if self._store is None:
            raise StateError(Errors.NOT_BUILT)
        where, share = None, 1.0
        if mask is not None:
            condition = self._conditions.get(mask.allowed, self._condition)
            where, share = condition.text, condition.n_rows / len(self._owner)
            fetch = int(fetch * min(_MOST_EXTRA, condition.n_rows / max(1, mask.n_rows)))
        keys, known = self._store.search(queries, fetch, min(self._nprobe(share) * effort, self._lists), where)
        place = np.minimum(np.searchsorted(self._key, keys), len(self._key) - 1)
        return np.where(known & (self._key[place] == keys), self._row[place], -1)

    def _condition(self, allowed: Bools1d) -> _Condition:
        """Pass on which kinds of entities a filter lets through; what it tells apart within a kind is left to us."""
        kind, labels = self._kinds
        some = np.unique(kind[allowed])
        listed = ", ".join("'" + labels[number].replace("'", "''") + "'" for number in some)
        return _Condition(f"kind IN ({listed})", int(np.isin(kind, some)[self._owner].sum()))

    def _nprobe(self, share: float) -> int:
        """Lists to visit; more when only a share of the rows is allowed, since each then yields less."""
        return min(self._lists, int((self.nprobe or max(16, self._lists // 8)) / max(share, 0.125)))


def _contents(dense: np.ndarray, kinds: Sequence[str] | np.ndarray) -> Keys:
    """Hash what each row says, (N,)."""
    rows = np.ascontiguousarray(dense)
    digests = [
        blake2b(row.tobytes() + kind.encode(), digest_size=8).digest() for row, kind in zip(rows, kinds, strict=True)
    ]
    return np.frombuffer(b"".join(digests), "<i8")


def _places(key: Keys) -> tuple[Keys, Ints1d]:
    """The keys in order, and the row of each."""
    order = np.argsort(key)
    return key[order], order.astype(np.int32)


def _tell(table: Table, done: Written) -> None:
    _log.info(
        "Rows of %s: %d added, %d changed, %d deleted, %d left as they were (version %d).",
        table, done.added, done.changed, done.deleted, done.left, done.version,
    )  # fmt: skip


@saves(as_given=("uri",))
def make_lance_index(
    uri: str,
    table: str = "ontolink",
    quantiser: Quantiser = "none",
    indexed_from: int = 20_000,
    nprobe: int | None = None,
    checked: int = 256,
    seed: int = 0,
) -> LanceIndex:
    """Make a ``LanceIndex``: a LanceDB table that pipelines share proposes entities, which are then scored exactly.

    Args:
        uri: A folder, or the address of a bucket (``s3://…``); credentials come from the environment.
        table: The name of the table in it.
        quantiser: What the table's index keeps of a vector: "none" for all of it, "sq8" for a byte per dimension.
        indexed_from: With fewer rows than this, the store compares all.
        nprobe: Number of lists that a query visits; null for an eighth of them, at least 16.
        checked: Number of rows used as queries to measure recall when the index is built.
        seed: Seed of the sample of rows.
    """
    return LanceIndex(uri, table, quantiser, indexed_from=indexed_from, nprobe=nprobe, checked=checked, seed=seed)
