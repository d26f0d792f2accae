"""Tuning and training: the loop, its tasks, and the pairs that they learn from."""
