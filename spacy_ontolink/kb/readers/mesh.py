"""Read MeSH descriptors and supplementary records in XML: one entity a record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ...types import Entity, Scope, Synonym
from .prefixes import with_prefix
from .releases import Release, is_archive
from .report import ReadReport
from .safe_xml import check_start, elements, not_this
from .sources import Place, tidy

_FORMAT = "MeSH (XML)"
_RECORDS = {"DescriptorRecordSet": "Descriptor", "SupplementalRecordSet": "SupplementalRecord"}
_SCOPES: dict[str, Scope] = {"BRD": "BROAD", "NRW": "NARROW", "REL": "RELATED"}
_INVERSE: dict[Scope, Scope] = {"BROAD": "NARROW", "NARROW": "BROAD"}
_ABBREVIATIONS = ("ABB", "ACR")
_CLASSES = {"1": "chemical", "2": "protocol", "3": "disease", "4": "organism", "5": "population", "6": "anatomy"}
_NO_NUMBER = ("", "0")


def read_mesh(path: str | Path, report: ReadReport, *, prefix: str = "") -> Iterator[Entity]:
    """Yield the records in file order.

    Terms of the preferred concept are EXACT synonyms, those of the others have the scope of their concept's relation to
    it. Tree numbers give the parents of descriptors; headings that supplementary records are mapped to, without a
    qualifier, are theirs.

    Args:
        path: ``descYYYY.xml`` or ``suppYYYY.xml``, gzipped, zipped or not.
        report: Counts records, terms and tree numbers that cannot be used.
        prefix: To put before every id, such as ``MESH:``.

    Raises:
        OntologyError: It is not well-formed (with the line), not MeSH, or defines XML entities that refer to others or
            to files; in strict mode, at the first problem.
    """
    path = Path(path)
    return with_prefix(_entities(Release(path).single() if is_archive(path) else path, report), prefix)


def _entities(place: Place, report: ReadReport) -> Iterator[Entity]:
    root = check_start(place, _FORMAT).tag
    if root not in _RECORDS:
        raise not_this(place, _FORMAT, f"its root is <{root}>, not <{'> or <'.join(_RECORDS)}>")
    kind = _RECORDS[root]
    tags = (f"{kind}Record" if kind == "Descriptor" else kind,)
    trees: dict[str, str] = {}
    if kind == "Descriptor":  # a parent may come after its children, so this is a reading of its own
        for record in elements(place, _FORMAT, tags):
            trees.update(dict.fromkeys(_texts(record, "TreeNumberList/TreeNumber"), _text(record, "DescriptorUI")))
    for record in elements(place, _FORMAT, tags):
        id = _text(record, f"{kind}UI")
        if not id:
            report.problem("record without an id", _text(record, f"{kind}Name/String"), record.sourceline)
            continue
        yield _Record(record, kind, id, report).entity(trees)


class _Record:
    """One record, with where to complain about it."""

    def __init__(self, record: Any, kind: str, id: str, report: ReadReport) -> None:
        self.record, self.kind, self.id, self.report = record, kind, id, report

    def entity(self, trees: Mapping[str, str]) -> Entity:
        """Put the entity together."""
        name = _text(self.record, f"{self.kind}Name/String")
        concepts = self.record.findall("ConceptList/Concept")
        preferred = next((c for c in concepts if c.get("PreferredConceptYN") == "Y"), concepts[0] if concepts else None)
        notes = [_text(concept, "ScopeNote") for concept in concepts if concept is preferred]
        notes.append(_text(self.record, "Note"))
        parents, xrefs = self._headings() if self.kind != "Descriptor" else (self._above(trees), [])
        return Entity(
            self.id,
            name,
            tuple(self._synonyms(name, concepts, preferred)),
            definition=next(filter(None, notes), ""),
            parents=tuple(dict.fromkeys(parents)),
            xrefs=tuple(dict.fromkeys([*xrefs, *self._numbers()])),
            types=self._types(),
        )

    def _synonyms(self, name: str, concepts: list[Any], preferred: Any) -> Iterator[Synonym]:
        own = _text(preferred, "ConceptUI") if preferred is not None else ""
        scopes = self._relations(own)
        seen = {name}
        # The same term may stand in two concepts: the closer one is met first.
        for concept in sorted(concepts, key=lambda concept: concept is not preferred):
            scope: Scope = "EXACT" if concept is preferred else scopes.get(_text(concept, "ConceptUI"), "RELATED")
            for term in concept.findall("TermList/Term"):
                text = _text(term, "String")
                if not text:
                    self.report.problem("empty term", self.id, term.sourceline)
                elif text not in seen:
                    seen.add(text)
                    kind = "abbreviation" if term.get("LexicalTag") in _ABBREVIATIONS else ""
                    yield Synonym(text, scope, kind or ("permuted" if term.get("IsPermutedTermYN") == "Y" else ""))

    def _relations(self, preferred: str) -> dict[str, Scope]:
        """Return what other concepts of the record are to the preferred one."""
        scopes: dict[str, Scope] = {}
        for relation in self.record.iterfind("ConceptList/Concept/ConceptRelationList/ConceptRelation"):
            scope = _SCOPES.get(relation.get("RelationName", ""))
            first, second = _text(relation, "Concept1UI"), _text(relation, "Concept2UI")
            if scope is None:
                self.report.problem("unknown concept relation", f"{self.id}: {first} {second}", relation.sourceline)
            elif first == preferred:
                scopes[second] = scope
            elif second == preferred:
                scopes.setdefault(first, _INVERSE.get(scope, scope))
        return scopes

    def _above(self, trees: Mapping[str, str]) -> Iterator[str]:
        """Yield the descriptors one step above the tree numbers."""
        for number in _texts(self.record, "TreeNumberList/TreeNumber"):
            above = number.rpartition(".")[0]
            if above in trees:
                yield trees[above]
            elif above:
                self.report.problem("tree number without one above", f"{self.id}: {number}", self.record.sourceline)

    def _headings(self) -> tuple[list[str], list[str]]:
        """Return the headings that a supplementary record is mapped to: plain ones, and those with a qualifier."""
        plain, qualified = list[str](), list[str]()
        for heading in self.record.iterfind("HeadingMappedToList/HeadingMappedTo"):
            for id in _texts(heading, ".//DescriptorUI"):
                with_qualifier = heading.find(".//QualifierUI") is not None
                (qualified if with_qualifier else plain).append(id.lstrip("*"))  # a star marks main topics
        return plain, [f"MESH:{id}" for id in qualified]

    def _numbers(self) -> list[str]:
        numbers = _texts(self.record, "ConceptList/Concept//RegistryNumber")
        return [number for number in numbers if number not in _NO_NUMBER]

    def _types(self) -> tuple[str, ...]:
        """Return the letters of the trees of a descriptor, the class of a supplementary record."""
        if self.kind == "Descriptor":
            return tuple(dict.fromkeys(number[0] for number in _texts(self.record, "TreeNumberList/TreeNumber")))
        named = _CLASSES.get(self.record.get("SCRClass", ""))
        return (named,) if named else ()


def _text(element: Any, path: str) -> str:
    return tidy(element.findtext(path) or "")


def _texts(element: Any, path: str) -> list[str]:
    return [text for found in element.iterfind(path) if (text := tidy(found.text or ""))]
