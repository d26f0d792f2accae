"""What the annotation properties of OWL and OBO Graphs say about an entity."""

from __future__ import annotations

from ...types import Entity, Scope, Synonym
from .iris import compact_reference, short_name

OBO = "http://purl.obolibrary.org/obo/"
OBO_IN_OWL = "http://www.geneontology.org/formats/oboInOwl#"
OWL = "http://www.w3.org/2002/07/owl#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
DCTERMS = "http://purl.org/dc/terms/"
SKOS = "http://www.w3.org/2004/02/skos/core#"

SYNONYMS: dict[str, Scope] = {
    f"{OBO_IN_OWL}hasExactSynonym": "EXACT",
    f"{OBO_IN_OWL}hasNarrowSynonym": "NARROW",
    f"{OBO_IN_OWL}hasBroadSynonym": "BROAD",
    f"{OBO_IN_OWL}hasRelatedSynonym": "RELATED",
    f"{OBO_IN_OWL}hasSynonym": "RELATED",
    f"{OBO}IAO_0000118": "RELATED",  # alternative term
    f"{SKOS}altLabel": "EXACT",
    f"{SKOS}hiddenLabel": "RELATED",
}
LABEL, PREFERRED = f"{RDFS}label", f"{SKOS}prefLabel"
DEFINITION = f"{OBO}IAO_0000115"
_IDS = {
    f"{OBO}IAO_0100001": "replaced_by",
    f"{OBO_IN_OWL}consider": "consider",
    f"{OBO_IN_OWL}hasAlternativeId": "alt_ids",
}
_TRUE = ("true", "1")


class Draft:
    """An entity in the making: takes what a file says about it, in the order it says it."""

    def __init__(self, id: str) -> None:
        self.id = id
        self.definition = self.namespace = ""
        self.obsolete = False
        self.synonyms: list[Synonym] = []
        self.lists: dict[str, list[str]] = {}
        self._labels: list[tuple[int, str, str]] = []  # preference, text, language
        self._definition_rank = 9

    def add(self, property: str, value: str, language: str = "", type: str = "") -> None:
        """Take the value of an annotation property (an IRI); properties that say nothing to linking are ignored.

        A synonym in another language than English has the language as its type, unless ``type`` names one.
        """
        value = " ".join(value.split())
        foreign = _language_rank(language)
        if property in SYNONYMS:
            self.synonyms.append(Synonym(value, SYNONYMS[property], type or (language if foreign > 1 else "")))
        elif property == LABEL:
            self._labels.append((foreign if foreign < 2 else 4, value, language))
        elif property == PREFERRED:
            self._labels.append((2 if foreign < 2 else 5, value, language))
        elif property in (DEFINITION, f"{SKOS}definition"):
            rank = foreign + (property != DEFINITION)
            if rank < self._definition_rank:
                self.definition, self._definition_rank = value, rank
        elif property in _IDS:
            self.append(_IDS[property], compact_reference(value))
        elif property == f"{OBO_IN_OWL}hasDbXref":
            self.append("xrefs", value)
        elif property == f"{OBO_IN_OWL}inSubset":
            self.append("types", short_name(value))
        elif property == f"{OBO_IN_OWL}hasOBONamespace":
            self.namespace = self.namespace or value
        elif property == f"{OWL}deprecated":
            self.obsolete |= value.lower() in _TRUE

    def append(self, column: str, value: str) -> None:
        """Add a value to a list column of the entity, such as its parents."""
        self.lists.setdefault(column, []).append(value)

    def entity(self) -> Entity:
        """Return the entity: named by its best label (English before others); the other labels are EXACT synonyms."""
        labels = sorted(self._labels, key=lambda label: label[0])  # stable: file order within a preference
        others = [Synonym(text, "EXACT", language if rank > 3 else "") for rank, text, language in labels[1:]]
        return Entity(
            id=self.id,
            name=labels[0][1] if labels else "",
            synonyms=(*(other for other in others if other.text != labels[0][1]), *self.synonyms),
            definition=self.definition,
            obsolete=self.obsolete,
            namespace=self.namespace,
            **{column: tuple(dict.fromkeys(values)) for column, values in self.lists.items()},
        )


def _language_rank(language: str) -> int:
    """Rank a language tag: none, then English, then any other."""
    if not language:
        return 0
    return 1 if language.lower().partition("-")[0] == "en" else 2
