"""A knowledge base, the rows an encoder made of it, and an index over them; built, searched, saved as one."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any

from ..errors import Errors, StateError
from ..files import open_tensors, replacing, safe_join, write_tensors
from ..kb import KnowledgeBase
from ..types import Bools1d, Encoder, EntityRows, Hits, Index
from ..vectors import Vectors
from .manifest import read_manifest, write_manifest
from .pooling import Pooling, pool


class EntitySpace:
    """What retrieval and reranking share; read-only once made.

    Attributes:
        kb: The knowledge base.
        encoder: Encodes mentions into the space of the rows.
        rows: Pooled rows, their owners and names; what the index searches.
        index: Finds entities by their rows.
        pooling: What was pooled into ``rows``.
    """

    def __init__(self, kb: KnowledgeBase, encoder: Encoder, rows: EntityRows, index: Index, pooling: Pooling) -> None:
        self.kb, self.encoder, self.rows, self.index, self.pooling = kb, encoder, rows, index, pooling

    @classmethod
    def build(cls, kb: KnowledgeBase, encoder: Encoder, index: Index, pooling: Pooling = Pooling()) -> EntitySpace:  # noqa: B008
        """Fit the encoder, encode every entity, pool and index.

        Dense rows are kept in half precision from the start, so that a saved and reopened space gives the same links.
        """
        encoder.fit(kb)
        rows = encoder.encode_entities(kb)
        rows = rows._replace(vectors=rows.vectors.half())
        if any(pooling):
            rows = rows._replace(vectors=pool(rows, kb, pooling))
        index.build(rows, len(kb))
        return cls(kb, encoder, rows, index, pooling)

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
            self.rows.vectors.to_disk(folder / "rows.safetensors")
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
        kb = KnowledgeBase.from_disk(path / "kb")
        _check("knowledge base", path, manifest["kb"]["hash"], kb.hash)
        table = open_tensors(path / "row_table.safetensors")
        rows = EntityRows(Vectors.from_disk(path / "rows.safetensors"), table["owner"], table["name"])
        _check(
            "rows",
            path,
            (manifest["rows"]["count"], tuple(manifest["rows"]["dims"] or ())),
            (len(rows.vectors), rows.vectors.dims),
        )
        return cls(kb, encoder, rows, index.from_disk(path / "index", rows, len(kb)), saved_pooling)

    def to_bytes(self) -> bytes:
        """Pack the files of ``to_disk`` into bytes."""
        import srsly

        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch) / "space"
            self.to_disk(folder)
            files = {f.relative_to(folder).as_posix(): f.read_bytes() for f in folder.rglob("*") if f.is_file()}
        packed: bytes = srsly.msgpack_dumps(files)
        return packed

    @classmethod
    def from_bytes(cls, data: bytes, encoder: Encoder, index: Index, pooling: Pooling | None = None) -> EntitySpace:
        """Unpack into a temporary folder that lives as long as the space; raises as ``from_disk`` does."""
        import srsly

        folder = Path(tempfile.mkdtemp(prefix="ontolink-"))
        try:
            for name, content in srsly.msgpack_loads(data).items():
                file = safe_join(folder, name)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
            space = cls.from_disk(folder, encoder, index, pooling)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        weakref.finalize(space, _remove, folder, os.getpid())
        return space


def _remove(folder: Path, owner: int) -> None:
    """Remove the folder, unless this is a fork of the process that made it and still uses it."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


def _check(what: str, path: Path, saved: object, given: object) -> None:
    if saved != given:
        raise StateError(Errors.MISMATCH.format(path=path, what=what, saved=saved, given=given))
