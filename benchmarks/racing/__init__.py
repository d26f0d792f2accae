"""The parts of ``race.py``: sets, environments, runs, scores, and one small file for each peer."""

SURFACE, IN_DOCUMENTS = " + surface", ", in documents"
"""How the names of methods end that have the surface stage, or read the text around mentions."""
