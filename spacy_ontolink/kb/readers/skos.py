"""Read SKOS thesauri, in RDF/XML, Turtle or N-Triples: one entity a concept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...errors import Errors, OntologyError
from ...types import Entity, Scope, Synonym
from .annotations import DCTERMS, OWL, RDF, SKOS
from .iris import compact
from .report import ReadReport
from .safe_xml import not_this
from .sources import tidy
from .triples import Triple, read_triples

_FORMAT = "SKOS (RDF/XML or Turtle)"
_XL = "http://www.w3.org/2008/05/skos-xl#"
_LABELS = ("prefLabel", "altLabel", "hiddenLabel")
_SCOPES: tuple[Scope, ...] = ("EXACT", "EXACT", "RELATED")
_NO_CONCEPTS = {f"{SKOS}{kind}" for kind in ("ConceptScheme", "Collection", "OrderedCollection")}
_TRUE = ("true", "1")


@dataclass
class _Concept:
    """What was said about a subject so far."""

    known: bool | None = None  # None: its type is not given, or not one of SKOS
    labels: list[tuple[int, str, str]] = field(default_factory=list)  # place in _LABELS, text, language
    notes: list[tuple[int, str, str]] = field(default_factory=list)  # 0 for a definition, 1 for a scope note
    lists: dict[str, list[str]] = field(default_factory=dict)
    obsolete: bool = False

    def append(self, column: str, value: str) -> None:
        """Add a value to a list column of the entity."""
        self.lists.setdefault(column, []).append(value)


def read_skos(path: str | Path, report: ReadReport, *, languages: Sequence[str] = ("en",)) -> Iterator[Entity]:
    """Yield the concepts, in the order in which the file first speaks of them.

    A statement about a concept may stand anywhere, so all are in memory at once.

    Args:
        path: The file, gzipped or not.
        report: Counts statements that cannot be read (Turtle) and empty labels.
        languages: Of labels and definitions, the preferred one first: ``en`` takes ``en-GB``, too. Texts without a
            language are taken always, after those of the first language; with no languages given, all texts are.

    Raises:
        OntologyError: The file cannot be read, has no concept, or none with a label in one of these languages.
        MissingExtraError: It is Turtle or N-Triples, and the package that reads these is not installed.
    """
    path = Path(path)
    thesaurus = _Thesaurus(languages, report)
    for triple in read_triples(path, _FORMAT, report):
        thesaurus.take(triple)
    concepts = thesaurus.concepts()
    if not concepts:
        raise not_this(path, _FORMAT, report.summary() or "there is no concept in it")
    if not any(concept.labels for concept in concepts.values()):
        there = ", ".join(sorted(filter(None, thesaurus.met))[:30]) or "no language"
        detail = f"{len(concepts)} concepts, none with a label in {' or '.join(languages)}; labels are in: {there}"
        raise OntologyError(Errors.NO_ENTITIES.format(path=path, detail=detail))
    for iri, concept in concepts.items():
        yield thesaurus.entity(iri, concept)


class _Thesaurus:
    """Takes statements, and makes entities of them when all are in."""

    def __init__(self, languages: Sequence[str], report: ReadReport) -> None:
        self.languages, self.report = languages or ("en",), report
        self.every = not languages
        self.met: set[str] = set()  # languages of labels
        self.subjects: dict[str, _Concept] = {}
        self.children: list[tuple[str, str]] = []
        self.forms: dict[str, tuple[str, str]] = {}  # of labels that are nodes (SKOS-XL)
        self.nodes: list[tuple[str, str, str]] = []

    def take(self, triple: Triple) -> None:
        """Take note of a statement."""
        subject, predicate, value, language = triple
        if predicate.startswith(_XL):
            if predicate == f"{_XL}literalForm" and language is not None:
                self.forms[subject] = value, language
            else:
                self.nodes.append((subject, predicate.removeprefix(_XL), value))
        elif language is None:
            self._take_link(subject, predicate, value)
        elif predicate.startswith((SKOS, OWL)):
            self._take_text(subject, predicate, tidy(value), language)

    def _concept(self, subject: str) -> _Concept:
        return self.subjects.setdefault(subject, _Concept())

    def _take_link(self, subject: str, predicate: str, value: str) -> None:
        if predicate == f"{RDF}type":
            if value == f"{SKOS}Concept":
                self._concept(subject).known = True
            elif value in _NO_CONCEPTS:
                self._concept(subject).known = False
        elif predicate == f"{SKOS}broader":
            self._concept(subject).append("parents", compact(value))
        elif predicate == f"{SKOS}narrower":
            self.children.append((subject, value))
        elif predicate == f"{SKOS}exactMatch":
            self._concept(subject).append("xrefs", compact(value))
        elif predicate == f"{DCTERMS}isReplacedBy":
            self._concept(subject).append("replaced_by", compact(value))

    def _take_text(self, subject: str, predicate: str, text: str, language: str) -> None:
        name = predicate.removeprefix(SKOS)
        if name in _LABELS:
            self.met.add(language)
            if not text:
                self.report.problem(f"empty {name}", subject)
            elif self._rank(language) is not None:
                self._concept(subject).labels.append((_LABELS.index(name), text, language))
        elif name in ("definition", "scopeNote") and text and self._rank(language) is not None:
            self._concept(subject).notes.append((int(name == "scopeNote"), text, language))
        elif name == "notation" and text:
            self._concept(subject).append("alt_ids", text)
        elif predicate == f"{OWL}deprecated":
            self._concept(subject).obsolete |= text.lower() in _TRUE

    def _rank(self, language: str) -> float | None:
        """Rank a language tag; None if it is not wanted."""
        if not language:
            return 0.5
        tag = language.lower()
        for rank, wanted in enumerate(self.languages):
            if tag == wanted.lower() or tag.startswith(f"{wanted.lower()}-"):
                return float(rank)
        return float(len(self.languages)) if self.every else None

    def concepts(self) -> Mapping[str, _Concept]:
        """Return the concepts, by IRI: subjects that are called so, or have a label and are nothing else of SKOS."""
        for subject, kind, node in self.nodes:
            if kind in _LABELS and node in self.forms:
                self._take_text(subject, SKOS + kind, tidy(self.forms[node][0]), self.forms[node][1])
        found = {
            iri: concept
            for iri, concept in self.subjects.items()
            if not iri.startswith("_:") and (concept.known or (concept.known is None and concept.labels))
        }
        for parent, child in self.children:
            if child in found:
                found[child].append("parents", compact(parent))
        return found

    def entity(self, iri: str, concept: _Concept) -> Entity:
        """Make the entity: named by the preferred label of the best language, else by its best other label."""

        def order(text: tuple[int, str, str]) -> tuple[int, float]:
            return text[0], self._rank(text[2]) or 0.0

        labels = sorted(concept.labels, key=order)  # stable: file order within a rank
        name, first = (labels[0][1], labels[0][2]) if labels else ("", "")
        synonyms: dict[str, Synonym] = {}
        for place, text, language in labels:
            if text != name and text not in synonyms:
                synonyms[text] = Synonym(text, _SCOPES[place], language if _main(language) != _main(first) else "")
        notes = sorted(concept.notes, key=order)
        lists: dict[str, Any] = {column: tuple(dict.fromkeys(values)) for column, values in concept.lists.items()}
        return Entity(
            compact(iri),
            name,
            tuple(synonyms.values()),
            definition=notes[0][1] if notes else "",
            obsolete=concept.obsolete,
            **lists,
        )


def _main(language: str) -> str:
    return language.lower().partition("-")[0]
