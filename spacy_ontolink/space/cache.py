"""Built spaces kept on disk under a hash of what they were made from: the second use of an ontology is instant."""

from __future__ import annotations

import copy
import hashlib
import logging
from pathlib import Path

from .. import __version__
from ..errors import StateError
from ..files import sha256
from ..types import Encoder, Index, Reader
from .entity_space import EntitySpace
from .pooling import Pooling

logger = logging.getLogger(__name__)


def open_or_build(reader: Reader, encoder: Encoder, index: Index, pooling: Pooling, cache: Path | None) -> EntitySpace:
    """Open the space from the cache, or read, build and keep it.

    The key covers the ontology files and how they are read (or the content of the KB, for a reader without files), the
    encoder, the index, the pooling and this version. A damaged entry is built anew, and a folder that cannot be written
    to costs a warning.

    Args:
        reader: Reads the ontology.
        encoder: An unloaded encoder.
        index: An unloaded index.
        pooling: Weights of pooling.
        cache: Folder of kept spaces; None keeps nothing.
    """
    if cache is None:
        return EntitySpace.build(reader(), encoder, index, pooling)
    kb = None if _files(reader) else reader()
    source = (sorted(_settings(reader)), [sha256(path) for path in _files(reader)]) if kb is None else kb.hash
    # Before it is loaded or fitted, an encoder's id names its settings.
    key = repr((__version__, source, type(encoder).__name__, encoder.id, sorted(_settings(index)), tuple(pooling)))
    folder = cache / hashlib.sha256(key.encode()).hexdigest()[:32]
    if folder.exists():
        try:
            return EntitySpace.from_disk(folder, copy.deepcopy(encoder), index, pooling)
        except StateError as error:
            logger.warning("%s; building it again", error)
    kb = kb or reader()
    logger.info("Building the space of %s (%d entities, %d names), kept in %s", kb.name, len(kb), kb.n_names, folder)
    space = EntitySpace.build(kb, encoder, index, pooling)
    try:
        space.to_disk(folder)
    except OSError as error:
        if not folder.exists():  # else another process was faster
            logger.warning("Cannot keep the space in %s (%s); set ONTOLINK_CACHE to another folder", folder, error)
    return space


def _files(reader: Reader) -> list[Path]:
    return [Path(path) for path in getattr(reader, "files", getattr(reader, "paths", ()))]


def _settings(part: object) -> list[tuple[str, str]]:
    """The public attributes that tell one part from another of its kind; files are told by their content."""
    files = ("paths", "names")
    public = {name: value for name, value in vars(part).items() if not name.startswith("_") and name not in files}
    return [("type", type(part).__name__), *((name, repr(value)) for name, value in public.items())]
