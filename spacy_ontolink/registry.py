"""The catalogues of swappable parts, filled by entry point so that a part is imported only when it is named.

They live in spaCy's own registry, so a config names a part as ``@ontolink_encoders = "spacy-ontolink.…v1"``.
Other packages add parts with entry points in the groups named ``spacy_ontolink_readers`` and so on, one a catalogue.
"""

from __future__ import annotations

import inspect
from typing import TypeVar

import catalogue
from spacy.util import registry

from .errors import ConfigError, Errors

CATALOGUES = (
    "ontolink_readers",
    "ontolink_encoders",
    "ontolink_indexes",
    "ontolink_llms",
    "ontolink_reformulators",
    "ontolink_rerankers",
)

Part = TypeVar("Part")


def register_catalogues() -> None:
    """Add the catalogues to spaCy's registry; repeating it changes nothing."""
    for name in CATALOGUES:
        if not hasattr(registry, name):
            setattr(registry, name, catalogue.create("spacy", name, entry_points=True))


def check_part(part: Part, protocol: type, setting: str) -> Part:
    """Return ``part`` if it fulfils ``protocol``; config blocks are not type-checked by confection.

    Members are looked up without being evaluated, which ``isinstance`` does before Python 3.12: the ``id`` of an
    encoder may need its weights.

    Raises:
        ConfigError: It does not.
    """
    members = [name for name in vars(protocol) if name == "__call__" or not name.startswith("_")]
    if any(inspect.getattr_static(part, name, None) is None for name in members):
        raise ConfigError(Errors.NOT_A_PART.format(setting=setting, wanted=protocol.__name__, got=type(part).__name__))
    return part


register_catalogues()
