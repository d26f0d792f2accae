"""Web addresses of ids."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import quote

from ..errors import ConfigError, Errors

LINK_PATTERNS = {
    "bioregistry": "https://bioregistry.io/{id}",
    "obo": "http://purl.obolibrary.org/obo/{prefix}_{local}",
}
"""Patterns with a name; ``{id}`` is the whole id, ``{prefix}`` and ``{local}`` what stands around its colon."""

_FIELD = re.compile(r"\{(id|prefix|local)\}")
_WEB = re.compile(r"https?://", re.IGNORECASE)


def link_pattern(pattern: str) -> Callable[[str], str]:
    """Make a function from an id to its web address; ids that are web addresses stay what they are.

    Args:
        pattern: A name of ``LINK_PATTERNS``, or an address with ``{id}``, ``{prefix}`` or ``{local}`` in it.

    Raises:
        ConfigError: It is neither. Other schemes than http(s) are refused, since a page would run them.
    """
    address = LINK_PATTERNS.get(pattern, pattern)
    if not _WEB.match(address) or not _FIELD.search(address):
        raise ConfigError(Errors.LINK_PATTERN.format(pattern=pattern, names=", ".join(LINK_PATTERNS)))

    def link(id: str) -> str:
        if _WEB.match(id):
            return id
        prefix, _, local = id.rpartition(":")
        parts = {"id": id, "prefix": prefix, "local": local}
        return _FIELD.sub(lambda field: quote(parts[field[1]], safe=":/"), address)

    return link
