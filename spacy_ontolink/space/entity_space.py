"""A knowledge base, the rows an encoder made of it, and an index over them; built, searched, saved as one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..errors import Errors, StateError
from ..files import open_tensors, pack, replacing, unpack, write_tensors
from ..kb import KnowledgeBase
from ..row_files import RowFiles
from ..types import Bools1d, Encoder, EntityRows, Hits, Index, Ints1d
from ..vectors import Vectors
from .manifest import read_manifest, write_manifest
from .pooling import Pooling, pool, pool_some

_ENTITIES = 200_000  # encoded at a time


class EntitySpace:
    """What retrieval and reranking share; read-only once made.

    Attributes:
        kb: The knowledge base.
        encoder: Encodes mentions into the space of the rows.
        plain: The encoder's rows, their owners and names; a reranker may pool them in its own way.
        rows: The same with ``pooling``; what the index searches.
        index: Finds entities by their rows.
        pooling: What was pooled into ``rows``.
    """

    def __init__(self, kb: KnowledgeBase, encoder: Encoder, plain: EntityRows, index: Index, pooling: Pooling) -> None:
        self.kb, self.encoder, self.plain, self.index, self.pooling = kb, encoder, plain, index, pooling
        self.rows = plain

    @classmethod
    def build(cls, kb: KnowledgeBase, encoder: Encoder, index: Index, pooling: Pooling = Pooling()) -> EntitySpace:  # noqa: B008
        """Fit the encoder, encode every entity, pool and index.

        Dense rows are kept in half precision from the start, so that a saved and reopened space gives the same links.
        """
        encoder.fit(kb)
        return cls(kb, encoder, encode_all(encoder, kb), index, pooling).indexed()

    def repooled(self, pooling: Pooling, index: Index) -> EntitySpace:
        """Return a space of the same KB, encoder and plain rows, pooled otherwise; nothing is encoded.

        Args:
            pooling: The new weights.
            index: An unbuilt index.
        """
        return EntitySpace(self.kb, self.encoder, self.plain, index, pooling).indexed()

    def indexed(self) -> EntitySpace:
        """Pool the plain rows and build the index over them, as is left to do after the constructor; returns self."""
        self.rows = pool(self.plain, self.kb, self.pooling)
        self._introduced(self.index).build(self.rows, len(self.kb))
        return self

    def _introduced(self, index: Index) -> Index:
        """Tell an index whose rows it gets, if it wants to know."""
        if introduce := getattr(index, "introduce", None):
            introduce(self.kb, self.encoder.id)
        return index

    def rows_of(self, entities: Ints1d, pooling: Pooling | None = None) -> EntityRows:
        """Return the rows of some entities (numbers, ascending), pooled in another way than the index has them."""
        if pooling is None or pooling == self.pooling:
            return pool_some(self.rows, self.kb, Pooling(), entities)
        return pool_some(self.plain, self.kb, pooling, entities)

    def search(self, queries: Vectors, k: int, allowed: Bools1d | None = None) -> Hits:
        """Find the ``k`` nearest entities of each query; see ``types.Index``.

        Raises:
            StateError: The queries come from another space.
        """
        if queries.dims != self.rows.vectors.dims:
            raise StateError(Errors.DIMENSIONS.format(queries=queries.dims, rows=self.rows.vectors.dims))
        return self.index.search(queries, k, allowed)

    def to_disk(self, path: Path) -> None:
        """Write a self-contained folder, whole or not at all."""
        with replacing(Path(path)) as folder:
            folder.mkdir()
            self.kb.to_disk(folder / "kb")
            self.encoder.to_disk(folder / "encoder")
            (folder / "index").mkdir()
            self.index.to_disk(folder / "index")
            self.plain.vectors.to_disk(folder / "rows.safetensors")
            if self.rows is not self.plain:
                self.rows.vectors.to_disk(folder / "pooled_rows.safetensors")
            write_tensors(folder / "row_table.safetensors", {"owner": self.rows.owner, "name": self.rows.name})
            write_manifest(folder, self._facts())

    def _facts(self) -> dict[str, Any]:
        return {
            "kb": {"name": self.kb.name, "hash": self.kb.hash, "entities": len(self.kb), "names": self.kb.n_names},
            "encoder": {"type": type(self.encoder).__name__, "id": self.encoder.id},
            "rows": {"count": len(self.rows.owner), "dims": list(self.rows.vectors.dims)},
            "pooling": self.pooling._asdict(),
            "index": {"type": type(self.index).__name__, **self.index.describe()},
        }

    @classmethod
    def from_disk(cls, path: Path, encoder: Encoder, index: Index, pooling: Pooling | None = None) -> EntitySpace:
        """Open a saved space as memory maps.

        Args:
            path: The folder.
            encoder: Made from the config, not loaded yet; it takes over the saved state.
            index: The same.
            pooling: What the config asks for; None takes what was saved.

        Raises:
            StateError: A file is missing or damaged, or the config asks for another encoder, index or pooling than
                the space was built with; the message has both.
        """
        path = Path(path)
        manifest = read_manifest(path)
        _check("encoder", path, manifest["encoder"]["type"], type(encoder).__name__)
        _check("index", path, manifest["index"]["type"], type(index).__name__)
        saved_pooling = Pooling(manifest["pooling"]["names"], manifest["pooling"]["hierarchy"])
        _check("pooling", path, tuple(saved_pooling), tuple(pooling or saved_pooling))
        encoder = encoder.from_disk(path / "encoder")
        _check("encoder", path, manifest["encoder"]["id"], encoder.id)
        kb = KnowledgeBase.from_disk(path / "kb", checked=True)
        _check("knowledge base", path, manifest["kb"]["hash"], kb.hash)
        table = open_tensors(path / "row_table.safetensors")
        plain = EntityRows(Vectors.from_disk(path / "rows.safetensors"), table["owner"], table["name"])
        space = cls(kb, encoder, plain, index, saved_pooling)
        if any(saved_pooling):
            space.rows = plain._replace(vectors=Vectors.from_disk(path / "pooled_rows.safetensors"))
        saved_shape = (manifest["rows"]["count"], tuple(manifest["rows"]["dims"] or ()))
        for rows in (space.plain, space.rows):
            _check("rows", path, saved_shape, (len(rows.vectors), rows.vectors.dims))
        space.index = space._introduced(index).from_disk(path / "index", space.rows, len(kb))
        return space

    def to_bytes(self) -> bytes:
        """Pack the files of ``to_disk`` into bytes."""
        return pack(self.to_disk)

    @classmethod
    def from_bytes(cls, data: bytes, encoder: Encoder, index: Index, pooling: Pooling | None = None) -> EntitySpace:
        """Unpack into a temporary folder that lives as long as the space; raises as ``from_disk`` does."""
        return unpack(data, lambda folder: cls.from_disk(folder, encoder, index, pooling))


def encode_all(encoder: Encoder, kb: KnowledgeBase) -> EntityRows:
    """Encode every entity, a block at a time where there are many; dense rows in half precision."""
    if len(kb) <= _ENTITIES:
        rows = encoder.encode_entities(kb)
        return rows._replace(vectors=rows.vectors.half())
    vectors, owner, name = RowFiles(), [], []
    for start in range(0, len(kb), _ENTITIES):
        rows = encoder.encode_entities(kb, np.arange(start, min(start + _ENTITIES, len(kb)), dtype=np.int32))
        vectors.append(rows.vectors.half())
        owner.append(rows.owner)
        name.append(rows.name)
    return EntityRows(vectors.finish() or rows.vectors, np.concatenate(owner), np.concatenate(name))


def _check(what: str, path: Path, saved: object, given: object) -> None:
    if saved != given:
        raise StateError(Errors.MISMATCH.format(path=path, what=what, saved=saved, given=given))
