"""Prompts as files, and text from ontologies and documents made fit for them."""
