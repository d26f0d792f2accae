"""The parts of ``race.py``: sets, environments, runs, scores, and one small file for each peer."""
