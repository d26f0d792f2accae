"""The catalogues of swappable parts, filled by entry point so that a part is imported only when it is named.

They live in spaCy's own registry, so a config names a part as ``@ontolink_encoders = "spacy-ontolink.…v1"``.
Other packages add parts with entry points in the groups named ``spacy_ontolink_readers`` and so on, one a catalogue.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

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
Factory = TypeVar("Factory", bound=Callable[..., Any])


class Saving(NamedTuple):
    """The settings of a part that are not saved as all others are, whose absolute paths are cut to names."""

    as_given: frozenset[str] = frozenset()
    as_null: frozenset[str] = frozenset()


_SAVINGS: dict[Callable[..., Any], Saving] = {}


def register_catalogues() -> None:
    """Add the catalogues to spaCy's registry; repeating it changes nothing."""
    for name in CATALOGUES:
        if not hasattr(registry, name):
            setattr(registry, name, catalogue.create("spacy", name, entry_points=True))


def saves(*, as_given: tuple[str, ...] = (), as_null: tuple[str, ...] = ()) -> Callable[[Factory], Factory]:
    """Mark the function that makes a part with how saved configs hold some of its settings.

    Args:
        as_given: Those that are no paths, whatever they look like, such as a model's name on a server.
        as_null: Those that name something of this machine which is not saved; elsewhere, their default holds.
    """

    def mark(factory: Factory) -> Factory:
        _SAVINGS[factory] = Saving(frozenset(as_given), frozenset(as_null))
        return factory

    return mark


def saving_of(block: Mapping[str, Any]) -> Saving:
    """Return how the settings in a block of a config are saved, as the part that it names says."""
    names = [(key[1:], name) for key, name in block.items() if key[1:] in CATALOGUES]
    factories = [registry.get(*name) for name in names if registry.has(*name)]
    return _SAVINGS.get(factories[0], Saving()) if factories else Saving()


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
