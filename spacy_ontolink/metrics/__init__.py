"""How good rankings, probabilities and ``NIL`` are, how sure that is, and whether two runs differ; on plain values."""

from .nil import evaluate_nil
from .paired import compare, mcnemar
from .probabilities import auroc, expected_calibration_error, reliability
from .ranking import OVERLAPS, RECALL_AT, Overlap, overlap, rank_of_gold, summarise
from .resampling import Resampling

__all__ = [
    "OVERLAPS",
    "RECALL_AT",
    "Overlap",
    "Resampling",
    "auroc",
    "compare",
    "evaluate_nil",
    "expected_calibration_error",
    "mcnemar",
    "overlap",
    "rank_of_gold",
    "reliability",
    "summarise",
]
