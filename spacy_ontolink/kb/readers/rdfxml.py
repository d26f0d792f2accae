"""The nodes of RDF/XML: their IRIs, and what their property elements hold."""

from __future__ import annotations

from typing import Any
from urllib.parse import urljoin

from .annotations import RDF
from .safe_xml import check_start, not_this
from .sources import Place

DESCRIPTION, ABOUT, ID, RESOURCE = (f"{{{RDF}}}{name}" for name in ("Description", "about", "ID", "resource"))


def check_rdf(path: Place, format: str) -> None:
    """Make sure that a file is RDF/XML that is safe to read.

    Raises:
        OntologyError: It is not.
    """
    root = check_start(path, format)
    if root.tag != f"{{{RDF}}}RDF":
        name = root.tag.rpartition("}")[2]
        raise not_this(path, format, f"its root is <{name}>, not <rdf:RDF>; convert it, with ROBOT for example")


def iri_of(element: Any, base: str) -> str | None:
    """Return the IRI of a node, or None if it has none."""
    if about := element.get(ABOUT):
        return absolute(about, base)
    local = element.get(ID)
    return absolute(f"#{local}", base) if local else None


def absolute(reference: str, base: str) -> str:
    """Resolve a reference against the base of the file."""
    return reference if ":" in reference or not base else urljoin(base, reference)
