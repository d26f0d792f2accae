"""Tell the format of an ontology file from its first bytes; the name only decides what they leave open."""

from __future__ import annotations

import json
import re
from pathlib import Path

from ...errors import Errors, OntologyError
from .options import FORMATS
from .releases import Release, is_archive
from .sources import read_head

_BINARY = (
    (b"\x89PNG", "it is a PNG image"),
    (b"%PDF", "it is a PDF document"),
    (b"PK\x03\x04", "it is a zip archive or Office document; unpack or export it"),
    (b"BZh", "it is packed with bzip2; unpack it"),
    (b"\xfd7zXZ", "it is packed with xz; unpack it"),
    (b"\x28\xb5\x2f\xfd", "it is packed with zstd; unpack it"),
)
_COMMENTS = rb"(?:#[^\n]*\n\s*)*"
_TURTLE = re.compile(_COMMENTS + rb"(?:@(?:prefix|base)\b|PREFIX\b|<[A-Za-z][\w+.-]*:[^\s<>]*>\s+<[^\s<>]+>\s)")
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_UNREAD = (
    (re.compile(rb"(?:<[?!][^>]*>\s*)*<html|<!doctype html", re.IGNORECASE), "it is an HTML page"),
    (re.compile(rb"(?:<[?!][^>]*>\s*)*<(?:owl:)?Ontology\b"), "it is OWL/XML; convert it to RDF/XML or OBO"),
    (_TURTLE, "it is Turtle or N-Triples, but not SKOS; convert it to RDF/XML or OBO"),
    (re.compile(rb"Prefix(?:\(|:)|Ontology\("), "it is OWL in functional or Manchester syntax; convert it to OBO"),
    (re.compile(rb"version https://git-lfs"), "it is a Git LFS pointer; fetch the file itself"),
)
_OBO = re.compile(
    rb"^(?:format-version|data-version|ontology|default-namespace|synonymtypedef|subsetdef|id|name) ?:"
    rb"|^\[(?:Term|Typedef)\]",
    re.MULTILINE,
)
_RDF = re.compile(rb"<(?:\w+:)?RDF\b|22-rdf-syntax-ns#")
_SKOS = re.compile(rb"www\.w3\.org/2004/02/skos/core#")
_SKOS_XML = re.compile(rb"<(?:\w+:)?Concept(?:Scheme)?\b|skos/core#Concept(?:Scheme)?\"")
_OWL_CLASS = re.compile(rb"<(?:\w+:)?Class\b|owl#Class\"")
_MESH = re.compile(rb"<(?:Descriptor|Supplemental)RecordSet\b")
_UMLS = re.compile(rb"C\d{7}\|[A-Z]{3}\|[A-Za-z]?\|L\d+\|")
_GRAPHS = re.compile(rb'"(?:graphs|nodes)"\s*:')
_SUFFIXES = {".obo": "obo", ".owl": "owl", ".rdf": "owl", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "obographs",
             ".csv": "table", ".tsv": "table", ".tab": "table", ".txt": "table"}  # fmt: skip


def sniff(path: Path, format: str | None = None) -> str:
    """Return the format of a file, or of the release in a folder or zip archive.

    A ``format`` given by the user is trusted if it is that of the release, or the file is text of some ontology kind.

    Raises:
        OntologyError: There is no such file, it is a folder or archive without a release, empty, of a kind that no
            reader reads, or ``format`` is not one of ``FORMATS``.
    """
    if format is not None and format not in FORMATS:
        raise _unknown(path, f"there is no format '{format}'")
    if is_archive(path) and (release := Release(path).format) is not None:
        if format in (None, release):
            return release
        raise _unknown(path, f"it holds a release in the format '{release}'")
    head = read_head(path)
    utf16 = head.startswith(_UTF16)
    text = (head.decode("utf-16", "ignore").encode("utf-8", "ignore") if utf16 else head).lstrip()
    if not text:
        raise _unknown(path, "the file is empty")
    if _TURTLE.match(text) and (format == "skos" or (format is None and _SKOS.search(text))):
        return "skos"
    if (reason := _why_unread(text)) is not None:
        raise _unknown(path, reason)
    found, reason = (format, "") if format is not None else _from_text(text, _suffix(path))
    if utf16 and found != "table":  # spreadsheets write it, and the reader of tables takes it
        raise _unknown(path, "it is UTF-16 text; save it as UTF-8")
    if found is None:
        raise _unknown(path, reason)
    return found


def _unknown(path: Path, reason: str) -> OntologyError:
    return OntologyError(Errors.FORMAT_UNKNOWN.format(path=path, reason=reason, formats=", ".join(FORMATS)))


def _suffix(path: Path) -> str:
    return Path(path.name.lower().removesuffix(".gz")).suffix


def _why_unread(head: bytes) -> str | None:
    """Return why no reader reads this, or None if one may."""
    for magic, reason in _BINARY:
        if head.startswith(magic):
            return reason
    if b"\0" in head:
        return "it is binary data"
    return next((reason for pattern, reason in _UNREAD if pattern.match(head)), None)


def _from_text(head: bytes, suffix: str) -> tuple[str | None, str]:
    """Return the format, or None and the reason."""
    if head.startswith(b"<"):
        return _from_xml(head)
    if head.startswith(b"{"):
        return _from_json(head, suffix)
    if _UMLS.match(head):
        return "umls", ""
    guess = _SUFFIXES.get(suffix)
    if (guess != "table" and _OBO.search(head)) or head.startswith(b"format-version:"):
        return "obo", ""
    if head.startswith(b"["):
        return None, "it is a JSON array or nothing known; write one JSON object per line"
    first = head.partition(b"\n")[0]
    if guess == "table" or (guess is None and re.search(rb"[\t,;|]", first)):
        return "table", ""
    return guess, f"it begins with {first[:40].decode('utf-8', 'replace').strip()!r}"


def _from_xml(head: bytes) -> tuple[str | None, str]:
    if _MESH.search(head):
        return "mesh", ""
    if not _RDF.search(head):
        return None, "it is XML, but neither RDF/XML nor MeSH"
    # Classes of an ontology may have SKOS labels; a thesaurus has concepts and no classes.
    return ("skos" if _SKOS_XML.search(head) and _SKOS.search(head) and not _OWL_CLASS.search(head) else "owl"), ""


def _from_json(head: bytes, suffix: str) -> tuple[str | None, str]:
    try:
        row = json.loads(head.partition(b"\n")[0])
    except (ValueError, RecursionError):  # an object over several lines, or on a line longer than the head
        if suffix not in (".jsonl", ".ndjson") and _GRAPHS.search(head):
            return "obographs", ""
        return _SUFFIXES.get(suffix), "it is JSON, but neither OBO Graphs nor one object per line"
    return ("obographs" if "graphs" in row or "nodes" in row else "jsonl"), ""
