"""Corpora of any size through a pipeline: shards in, Parquet out, by processes of our own or on Ray."""

from .driver import Totals, run_bulk
from .job import Job, Opened

__all__ = ["Job", "Opened", "Totals", "run_bulk"]
