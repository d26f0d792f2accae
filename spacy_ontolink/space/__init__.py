"""Entity spaces: a knowledge base made searchable by an encoder and an index."""

from .cache import open_or_build
from .entity_space import EntitySpace
from .pooling import Pooling
from .retrieval import Query, retrieve

__all__ = ["EntitySpace", "Pooling", "Query", "open_or_build", "retrieve"]
