"""RDF as one statement after the other, from RDF/XML, Turtle or N-Triples."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import require
from .annotations import RDF
from .rdfxml import DESCRIPTION, RESOURCE, absolute, check_rdf, iri_of
from .report import ReadReport
from .safe_xml import BASE, LANGUAGE, elements, not_this
from .sources import open_bytes, read_head
from .turtle import PROBLEM, read_turtle

_NODE_ID = f"{{{RDF}}}nodeID"
_TYPE = f"{RDF}type"


class Triple(NamedTuple):
    """A statement: IRIs or labels of blank nodes, and an object that is one or, with a language or "", a text."""

    subject: str
    predicate: str
    object: str
    language: str | None


def read_triples(path: Path, format: str, report: ReadReport) -> Iterator[Triple]:
    """Yield the statements of a file, whichever syntax it is in.

    Raises:
        OntologyError: It is XML that is not well-formed or not RDF, or most statements of Turtle cannot be read.
        MissingExtraError: It is not XML, and pyoxigraph is not installed.
    """
    head = read_head(path, 1000).lstrip()
    if head.startswith((b"<?", b"<!")) or b"RDF" in head.partition(b">")[0]:
        return _from_xml(path, format)
    require("pyoxigraph", "rdf", "A Turtle or N-Triples file")
    return _from_turtle(path, format, report)


def _from_turtle(path: Path, format: str, report: ReadReport) -> Iterator[Triple]:
    import pyoxigraph

    read = 0
    with open_bytes(path) as file:
        for read, found in enumerate(read_turtle(file, report), 1):  # noqa: B007
            text = found.object
            language = (text.language or "") if isinstance(text, pyoxigraph.Literal) else None
            yield Triple(
                _name(found.subject),
                found.predicate.value,
                text.value if language is not None else _name(text),
                language,
            )
    if report.counts[PROBLEM] > read:
        raise not_this(path, format, report.summary())


def _name(node: Any) -> str:
    """Return the IRI of a node, or a label that no IRI can be."""
    return str(node.value) if type(node).__name__ == "NamedNode" else f"_:{node}"


def _from_xml(path: Path, format: str) -> Iterator[Triple]:
    check_rdf(path, format)
    base = language = None
    for node in elements(path, format):
        if base is None:
            root = node.getparent()
            base, language = root.get(BASE) or "", root.get(LANGUAGE) or ""
        yield from _node(node, _subject(node, base), base, language or "")


def _node(node: Any, subject: str, base: str, language: str) -> Iterator[Triple]:
    """Yield what a node element says, and then what the nodes in it say."""
    language = node.get(LANGUAGE, language)
    if node.tag != DESCRIPTION:
        yield Triple(subject, _TYPE, _plain(node.tag), None)
    for name, value in node.attrib.items():
        if not name.startswith((f"{{{RDF}}}", "{http://www.w3.org/XML/")):
            yield Triple(subject, _plain(name), value, language)
    for child in node.iterchildren(tag="*"):
        predicate, inner = _plain(child.tag), child.get(LANGUAGE, language)
        if (resource := child.get(RESOURCE)) is not None:
            yield Triple(subject, predicate, absolute(resource, base), None)
        elif (label := child.get(_NODE_ID)) is not None:
            yield Triple(subject, predicate, f"_:{label}", None)
        elif len(child):
            for nested in child.iterchildren(tag="*"):
                other = _subject(nested, base)
                yield Triple(subject, predicate, other, None)
                yield from _node(nested, other, base, inner)
        else:
            yield Triple(subject, predicate, child.text or "", inner)


def _subject(node: Any, base: str) -> str:
    label = node.get(_NODE_ID)
    return iri_of(node, base) or (f"_:{label}" if label else f"_:line {node.sourceline} {id(node)}")


def _plain(tag: str) -> str:
    """Return a qualified name of lxml's, ``{namespace}name``, as an IRI."""
    return tag.replace("{", "", 1).replace("}", "", 1)
