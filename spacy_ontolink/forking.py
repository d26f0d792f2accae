"""Keeps ``nlp.pipe(n_process=…)`` from hanging: one engine thread in a forked child.

A child inherits the parent's OpenMP pool as a data structure without threads; the first parallel region in faiss or
torch would wait for them for ever. With one thread there is no such region.
"""

from __future__ import annotations

import functools
import os
import sys


@functools.cache
def guard_forks() -> None:
    """Call ``use_one_thread`` in every child forked from now on.

    Only a process that makes a component or loads an engine needs that; spaCy imports all factories everywhere.
    """
    if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
        os.register_at_fork(after_in_child=use_one_thread)


def use_one_thread() -> None:
    """Limit faiss and torch to one thread, if they are loaded; loads neither."""
    faiss, torch = sys.modules.get("faiss"), sys.modules.get("torch")
    if faiss is not None and hasattr(faiss, "omp_set_num_threads"):
        faiss.omp_set_num_threads(1)
    if torch is not None and hasattr(torch, "set_num_threads"):
        torch.set_num_threads(1)
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # the tokenizers of its models have threads, too
