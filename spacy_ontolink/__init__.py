"""Entity linking for spaCy: mentions in, ids of an ontology out."""

__version__ = "0.1.0"
