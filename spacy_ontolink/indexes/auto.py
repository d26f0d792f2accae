"""The default index: exact where that is fast enough, and one chosen by number and kind of rows where it is not."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import scipy.sparse as sp

from ..errors import ConfigError, Errors, StateError
from ..files import REBUILD, read_json, write_json
from ..types import Bools1d, EntityRows, Hits, Index
from ..vectors import Vectors
from .approximate import INVERTED_ROWS
from .exact import ExactIndex
from .faiss_index import FaissIndex
from .inverted import InvertedIndex

FACTS = "chosen.json"
_KINDS: dict[str, Callable[[], Index]] = {
    "exact": ExactIndex,
    "inverted": InvertedIndex,
    # Half a byte for two dimensions is read several times as fast as a byte for each, and stored rows decide anyway.
    "ivf": lambda: FaissIndex("ivf", "pq4"),
}
_log = logging.getLogger(__name__)


class AutoIndex:
    """Compare all rows as long as there are few; beyond, look rare n-grams up, and lists of near dense vectors.

    Args:
        exact_rows: Up to so many rows, all are compared.
    """

    def __init__(self, exact_rows: int = INVERTED_ROWS) -> None:
        if exact_rows < 0:
            raise ConfigError(
                Errors.SETTING_VALUE.format(setting="exact_rows", given=exact_rows, wanted="a number from 0 up")
            )
        self.exact_rows = exact_rows
        self._kind: str | None = None
        self._index: Index = ExactIndex()

    def build(self, rows: EntityRows, n_entities: int) -> None:
        """Choose an index and build it."""
        self._kind = self._choice(rows.vectors)
        self._index = _KINDS[self._kind]()
        self._index.build(rows, n_entities)
        if self._kind != "exact":
            _log.info("%d rows: the index is %s; set another to override.", len(rows.vectors), self._kind)

    def _choice(self, vectors: Vectors) -> str:
        if len(vectors) <= self.exact_rows:
            return "exact"
        return "inverted" if all(map(sp.issparse, vectors.blocks)) else "ivf"

    def search(self, queries: Vectors, k: int, allowed: Bools1d | None = None) -> Hits:
        """Find the best ``k`` entities per query; see ``types.Index``."""
        if self._kind is None:
            raise StateError(Errors.NOT_BUILT)
        return self._index.search(queries, k, allowed)

    def to_disk(self, path: Path) -> None:
        """Write which index was chosen, and that index beside it."""
        if self._kind is None:
            raise StateError(Errors.NOT_BUILT)
        write_json(path / FACTS, {"kind": self._kind})
        (path / self._kind).mkdir()
        self._index.to_disk(path / self._kind)

    def from_disk(self, path: Path, rows: EntityRows, n_entities: int) -> AutoIndex:
        """Open the index that was chosen.

        Raises:
            StateError: A file is missing or damaged.
        """
        facts = read_json(path / FACTS)
        kind = facts.get("kind") if isinstance(facts, dict) else None
        if kind not in _KINDS:
            reason = f"it names no index but {kind!r}"
            raise StateError(Errors.FILE_DAMAGED.format(path=path / FACTS, reason=reason, rebuild=REBUILD))
        self._kind, self._index = kind, _KINDS[kind]().from_disk(path / kind, rows, n_entities)
        return self

    def describe(self) -> dict[str, object]:
        """The facts of the index that was chosen."""
        return self._index.describe()


def make_auto_index(exact_rows: int = INVERTED_ROWS) -> AutoIndex:
    """Make an ``AutoIndex``, which is exact for few rows and chooses an approximate index for many.

    Args:
        exact_rows: Up to so many rows, all are compared.
    """
    return AutoIndex(exact_rows)
