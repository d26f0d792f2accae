"""Engines that turn mentions and entities into vectors; named in configs as ``@ontolink_encoders``."""
