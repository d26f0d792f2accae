"""Transformer models as files and on devices: what encoders, LLMs and rerankers share. Imports no torch by itself."""
