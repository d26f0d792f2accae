"""Why a mention got its id: as plain values, as a table for a terminal, and as a page."""

from .explanation import Chain, chain_of, explain
from .page import write_page
from .table import show
from .values import Candidate, Explanation, Neighbour

__all__ = ["Candidate", "Chain", "Explanation", "Neighbour", "chain_of", "explain", "show", "write_page"]
