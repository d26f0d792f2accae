"""IRIs of classes, subsets and synonym types, shortened the way OBO files write them."""

from __future__ import annotations

import re

# The last underscore parts prefix and local id: APOLLO_SV_00000001 is APOLLO_SV:00000001.
_OBO_PURL = re.compile(r"https?://purl\.obolibrary\.org/obo/([A-Za-z]\w*)_([^\W_][\w.-]*)")
_OLD_PURL = re.compile(r"https?://purl\.org/obo/owl/\w+#([A-Za-z]\w*)_([^\W_][\w.-]*)")
_LITERAL = re.compile(r"([A-Za-z]\w*)_(\d+)")


def compact(iri: str) -> str:
    """Shorten an OBO IRI to its CURIE (``…/obo/HP_0001250`` to ``HP:0001250``); every other id stays as it is."""
    if iri.startswith("http") and (match := _OBO_PURL.fullmatch(iri) or _OLD_PURL.fullmatch(iri)):
        return f"{match[1]}:{match[2]}"
    return iri


def compact_reference(value: str) -> str:
    """Shorten an id that annotations give as an IRI, a CURIE or, now and then, as ``HP_0001250``."""
    if match := _LITERAL.fullmatch(value):
        return f"{match[1]}:{match[2]}"
    return compact(value)


def short_name(iri: str) -> str:
    """Shorten the IRI of a subset or synonym type to its CURIE or else its last part (``…/lpt#slim`` to ``slim``)."""
    curie = compact(iri)
    if curie == iri and iri.startswith("http"):
        return iri.rstrip("/#").rpartition("#" if "#" in iri.rstrip("/#") else "/")[2]
    return curie
