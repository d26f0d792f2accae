"""Rerankers: score candidates by the mention in its context."""
