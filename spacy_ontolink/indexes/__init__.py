"""Engines that find the nearest rows; named in configs as ``@ontolink_indexes``."""
