"""Built spaces kept on disk under a hash of what they were made from: the second use of an ontology is instant."""

from __future__ import annotations

import hashlib
import logging
from pathlib import Path

from .. import __version__
from ..errors import StateError
from ..types import Encoder, Index, Reader
from .entity_space import EntitySpace
from .pooling import Pooling

logger = logging.getLogger(__name__)


def open_or_build(reader: Reader, encoder: Encoder, index: Index, pooling: Pooling, cache: Path | None) -> EntitySpace:
    """Open the space from the cache, or build and keep it.

    The key covers the content of the KB, the encoder (its kind and settings, for one that is fitted), the index, the
    pooling and this version. A damaged entry is built anew.

    Args:
        reader: Reads the ontology.
        encoder: An unloaded encoder.
        index: An unloaded index.
        pooling: Weights of pooling.
        cache: Folder of kept spaces; None keeps nothing.
    """
    kb = reader()
    if cache is None:
        return EntitySpace.build(kb, encoder, index, pooling)
    # An encoder's id before fitting names its settings; after loading, EntitySpace compares the fitted one.
    key = repr((__version__, kb.hash, type(encoder).__name__, encoder.id, sorted(_settings(index)), tuple(pooling)))
    folder = cache / hashlib.sha256(key.encode()).hexdigest()[:32]
    if folder.exists():
        try:
            return EntitySpace.from_disk(folder, encoder, index, pooling)
        except StateError as error:
            logger.warning("%s; building it again", error)
    logger.info("Building the space of %s (%d entities, %d names), kept in %s", kb.name, len(kb), kb.n_names, folder)
    space = EntitySpace.build(kb, encoder, index, pooling)
    space.to_disk(folder)
    return space


def _settings(index: Index) -> list[tuple[str, str]]:
    public = {name: value for name, value in vars(index).items() if not name.startswith("_")}
    return [("type", type(index).__name__), *((name, repr(value)) for name, value in public.items())]
