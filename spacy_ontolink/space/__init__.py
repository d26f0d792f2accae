"""Entity spaces: a knowledge base made searchable by an encoder and an index."""

from .cache import open_or_build
from .entity_space import EntitySpace
from .pooling import Pooling
from .retrieval import Encoded, Query, encode, retrieve
from .scoring import CandidateScores

__all__ = [
    "CandidateScores",
    "Encoded",
    "EntitySpace",
    "Pooling",
    "Query",
    "encode",
    "open_or_build",
    "retrieve",
]
