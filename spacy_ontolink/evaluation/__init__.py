"""How well a pipeline links: what became of each mention, measures of it, and the comparison of two runs."""

from .alpha import alpha_curve
from .comparison import Comparison, Run, check_run, compare_runs, read_run
from .measures import measures_of, recall_by_depth
from .outcomes import Outcome, read_outcomes

__all__ = [
    "Comparison",
    "Outcome",
    "Run",
    "alpha_curve",
    "check_run",
    "compare_runs",
    "measures_of",
    "read_outcomes",
    "read_run",
    "recall_by_depth",
]
