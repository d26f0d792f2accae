"""Read OWL in RDF/XML, element by element; nothing outside the file is ever opened."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...types import Entity
from .annotations import OBO_IN_OWL, OWL, RDF, RDFS, SYNONYMS, Draft
from .iris import compact, short_name
from .rdfxml import DESCRIPTION, RESOURCE, absolute, check_rdf, iri_of
from .report import ReadReport
from .safe_xml import BASE, LANGUAGE, elements

_FORMAT = "OWL (RDF/XML)"
_CLASS, _AXIOM = f"{{{OWL}}}Class", f"{{{OWL}}}Axiom"


def read_owl(path: str | Path, report: ReadReport) -> Iterator[Entity]:
    """Yield the named classes of a file, in file order; one that is described in several places comes last.

    The file is read twice: what is said elsewhere about a class (the types of its synonyms, say) must be known first.
    Imports are not followed, and restrictions are not parents.

    Raises:
        OntologyError: The file is missing, not well-formed (with the line), not RDF/XML, or defines XML entities that
            refer to others or to files; in strict mode, at the first empty label or synonym.
    """
    path = Path(path)
    check_rdf(path, _FORMAT)
    outline = _Outline()
    for element, base in _nodes(path):
        outline.take(element, base)
    scattered: dict[str, Draft] = {}
    for element, base in _nodes(path):
        iri = iri_of(element, base)
        if element.tag == _AXIOM or iri is None or not outline.classes.get(iri):
            continue
        if len(element) == 0 and iri in outline.scattered:
            continue
        if iri in outline.scattered:
            outline.fill(scattered.setdefault(iri, Draft(outline.id_of(iri))), element, iri, base, report)
        elif len(element) or _is_top(element):
            draft = Draft(outline.id_of(iri))
            outline.fill(draft, element, iri, base, report)
            yield draft.entity()
    for draft in scattered.values():
        yield draft.entity()


class _Outline:
    """What must be known before entities can be made: which nodes are classes, their ids, the types of synonyms."""

    def __init__(self) -> None:
        self.classes: dict[str, bool] = {}  # IRI -> known to be a class
        self.described: set[str] = set()
        self.scattered: set[str] = set()  # described by more than one element
        self.ids: dict[str, str] = {}  # ids that files give to IRIs that are no OBO purls
        self.types: dict[tuple[str, str, str], str] = {}  # (class IRI, property IRI, text) -> synonym type

    def take(self, element: Any, base: str) -> None:
        """Take note of a node, in the first reading."""
        iri = iri_of(element, base)
        if iri is None:
            if any(child.tag == f"{{{OBO_IN_OWL}}}hasSynonymType" for child in element):
                self._take_axiom(element, base)
            return
        self.classes[iri] = self.classes.get(iri, False) or _is_class(element, base)
        if len(element):
            (self.scattered if iri in self.described else self.described).add(iri)
            if compact(iri) == iri and (given := element.findtext(f"{{{OBO_IN_OWL}}}id")):
                self.ids.setdefault(iri, given.strip())

    def _take_axiom(self, element: Any, base: str) -> None:
        values = {child.tag: _value(child, base) for child in element}
        parts = (f"{{{OWL}}}annotated{part}" for part in ("Source", "Property", "Target"))
        source, property, text = (values.get(part, "") for part in parts)
        if property in SYNONYMS:
            self.types[source, property, text] = short_name(values[f"{{{OBO_IN_OWL}}}hasSynonymType"])

    def id_of(self, iri: str) -> str:
        return self.ids.get(iri) or compact(iri)

    def fill(self, draft: Draft, element: Any, iri: str, base: str, report: ReadReport) -> None:
        """Read the properties of a class element into its draft, in the second reading."""
        for child in element.iterchildren(tag="*"):
            property, value = child.tag.replace("{", "", 1).replace("}", "", 1), _value(child, base)
            if property == f"{RDFS}subClassOf":
                if value == f"{OBO_IN_OWL}ObsoleteClass":
                    draft.obsolete = True
                elif value and value != f"{OWL}Thing":
                    draft.append("parents", self.id_of(value))
            elif value:
                draft.add(property, value, child.get(LANGUAGE) or "", self.types.get((iri, property, value), ""))
            elif property in SYNONYMS or property == f"{RDFS}label":
                report.problem(f"empty {property.rpartition('#')[2]}", iri, child.sourceline)


def _nodes(path: Path) -> Iterator[tuple[Any, str]]:
    """Yield (element, base IRI) of every class, description and axiom, inner ones first."""
    base = None
    # Whatever OWL has below the root is asked for, properties and individuals too, so that it is emptied in passing.
    for element in elements(path, _FORMAT, (f"{{{OWL}}}*", DESCRIPTION)):
        if base is None:
            base = element.getroottree().getroot().get(BASE) or ""
        if element.tag in (_CLASS, _AXIOM, DESCRIPTION):
            yield element, base


def _is_class(element: Any, base: str) -> bool:
    kinds = element.iterchildren(tag=f"{{{RDF}}}type")
    return element.tag == _CLASS or any(kind.get(RESOURCE) == f"{OWL}Class" for kind in kinds)


def _is_top(element: Any) -> bool:
    return element.getparent() is not None and element.getparent().getparent() is None


def _value(child: Any, base: str) -> str:
    """Return the IRI or the text that a property element holds; "" for class expressions."""
    if resource := child.get(RESOURCE):
        return absolute(resource, base)
    if len(child):
        return (iri_of(child[0], base) or "") if child[0].tag in (_CLASS, DESCRIPTION) else ""
    return " ".join((child.text or "").split())
