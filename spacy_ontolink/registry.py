"""The catalogues of swappable parts, filled by entry point so that a part is imported only when it is named.

They live in spaCy's own registry, so a config names a part as ``@ontolink_encoders = "spacy-ontolink.…v1"``.
Other packages add parts with entry points in the groups ``spacy_ontolink_readers``, ``…_encoders`` and ``…_indexes``.
"""

from __future__ import annotations

from typing import Any, TypeVar

import catalogue
from spacy.util import registry

from .errors import ConfigError, Errors

CATALOGUES = ("ontolink_readers", "ontolink_encoders", "ontolink_indexes")

Part = TypeVar("Part")


def register_catalogues() -> None:
    """Add the catalogues to spaCy's registry; repeating it changes nothing."""
    for name in CATALOGUES:
        if not hasattr(registry, name):
            setattr(registry, name, catalogue.create("spacy", name, entry_points=True))


def check_part(part: Any, protocol: type[Part], setting: str) -> Part:
    """Return ``part`` if it fulfils ``protocol``; config blocks are not type-checked by confection.

    Raises:
        ConfigError: It does not.
    """
    if not isinstance(part, protocol):
        raise ConfigError(Errors.NOT_A_PART.format(setting=setting, wanted=protocol.__name__, got=type(part).__name__))
    return part


register_catalogues()
