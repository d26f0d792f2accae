"""Entity spaces: a knowledge base made searchable by an encoder and an index."""

from .cache import open_or_build
from .composite import level, split_composites
from .entity_space import EntitySpace
from .pooling import Pooling
from .retrieval import Encoded, Query, encode, retrieve
from .scoring import CandidateScores
from .update import Updated, update
from .wording import Wording

__all__ = [
    "CandidateScores",
    "Encoded",
    "EntitySpace",
    "Pooling",
    "Query",
    "Updated",
    "Wording",
    "encode",
    "level",
    "open_or_build",
    "retrieve",
    "split_composites",
    "update",
]
