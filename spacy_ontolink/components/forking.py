"""Keeps ``nlp.pipe(n_process=…)`` from hanging: one engine thread in a forked child.

A child inherits the parent's OpenMP pool as a data structure without threads; the first parallel region in faiss or
torch would wait for them for ever. With one thread there is no such region.
"""

from __future__ import annotations

import os
import sys


def use_one_thread() -> None:
    """Limit faiss and torch to one thread, if they are loaded; loads neither."""
    faiss, torch = sys.modules.get("faiss"), sys.modules.get("torch")
    if hasattr(faiss, "omp_set_num_threads"):
        faiss.omp_set_num_threads(1)  # type: ignore[union-attr]
    if hasattr(torch, "set_num_threads"):
        torch.set_num_threads(1)  # type: ignore[union-attr]


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=use_one_thread)
