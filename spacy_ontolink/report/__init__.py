"""Why a mention got its id, and how well a run went: as plain values, as a table for a terminal, and as pages."""

from .evaluation_page import write_evaluation
from .explanation import Chain, chain_of, explain
from .page import write_page
from .table import show
from .values import Candidate, Explanation, Neighbour

__all__ = [
    "Candidate",
    "Chain",
    "Explanation",
    "Neighbour",
    "chain_of",
    "explain",
    "show",
    "write_evaluation",
    "write_page",
]
