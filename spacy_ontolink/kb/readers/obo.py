"""OBO flat files, 1.0 to 1.4, read line by line so that one bad clause costs no more than itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from ...errors import Errors, OntologyError
from ...types import SCOPES, Entity, Scope, Synonym
from .clauses import check_date, plain, quoted, reference, unescape
from .report import ReadReport
from .sources import read_lines

_FRAME = re.compile(r"\[\s*(\w+)\s*\]")
# Clauses of a term that say nothing about its names, ids or is-a links.
_TERM_IGNORED = frozenset(
    "builtin comment created_by disjoint_from equivalent_to expand_assertion_to expand_expression_to instance_of "
    "intersection_of is_anonymous is_class_level is_metadata_tag modified_by property_value relationship "
    "union_of".split()
)
_HEADER_IGNORED = frozenset(
    "auto-generated-by data-version default-relationship-id-prefix format-version id-mapping idspace import "
    "logical-definition-view-relation namespace-id-rule ontology owl-axioms property_value "
    "relax-unique-identifier-assumption-for-namespace relax-unique-label-assumption-for-namespace remark saved-by "
    "subsetdef treat-xrefs-as-equivalent treat-xrefs-as-genus-differentia treat-xrefs-as-has-subclass "
    "treat-xrefs-as-is_a treat-xrefs-as-relationship treat-xrefs-as-reverse-genus-differentia version".split()
)


def read_obo(path: Path, report: ReadReport) -> Iterator[Entity]:
    """Yield the [Term] frames of an OBO file; ids stay as written, ``part_of`` and the like are no parents.

    Frames of the same id are yielded one by one. [Typedef], [Instance] and other frames are passed over.

    Raises:
        OntologyError: The file holds no frame at all; in a strict report, the first problem.
    """
    parser = _Parser(report)
    for number, line in read_lines(path, report):
        if line[:1] == "[":
            if (entity := parser.end_frame()) is not None:
                yield entity
            parser.start_frame(line, number)
        elif line:
            parser.clause(line, number)
    if (entity := parser.end_frame()) is not None:
        yield entity
    if not parser.frames:
        raise OntologyError(Errors.NOT_THIS_FORMAT.format(path=path, format="OBO", reason="there is no [Term] in it"))


class _Term:
    """The frame that is being read."""

    __slots__ = ("alt_ids", "consider", "definition", "id", "line", "name", "namespace", "obsolete", "parents",
                 "replaced_by", "synonyms", "types", "xrefs")  # fmt: skip

    def __init__(self, line: int, namespace: str) -> None:
        self.line, self.namespace = line, namespace
        self.id = self.name = self.definition = ""
        self.obsolete = False
        self.synonyms: list[Synonym] = []
        self.parents: list[str] = []
        self.alt_ids: list[str] = []
        self.replaced_by: list[str] = []
        self.consider: list[str] = []
        self.xrefs: list[str] = []
        self.types: list[str] = []

    def entity(self) -> Entity:
        return Entity(self.id, self.name, tuple(self.synonyms), self.definition, _unique(self.parents),
                      _unique(self.alt_ids), self.obsolete, _unique(self.replaced_by), _unique(self.consider),
                      _unique(self.xrefs), self.namespace, _unique(self.types))  # fmt: skip


def _unique(texts: list[str]) -> tuple[str, ...]:
    return tuple(texts) if len(texts) < 2 else tuple(dict.fromkeys(texts))


class _Parser:
    """What the header declared, and the open frame."""

    def __init__(self, report: ReadReport) -> None:
        self.report, self.line, self.frames = report, 0, 0
        self.term: _Term | None = None
        self.namespace = ""
        self.synonym_types: dict[str, Scope | None] = {}
        self.term_clauses: dict[str, Callable[[_Term, str], None]] = {
            "id": self._id, "name": self._name, "def": self._definition, "synonym": self._synonym, "xref": self._xref,
            "is_a": self._ids("parents"), "alt_id": self._ids("alt_ids"), "replaced_by": self._ids("replaced_by"),
            "consider": self._ids("consider"), "use_term": self._ids("consider"), "subset": self._ids("types"),
            "is_obsolete": self._obsolete, "namespace": self._namespace, "creation_date": self._date,
            "modification_date": self._date, "xref_analog": self._xref, "xref_unknown": self._xref,
            "xref_unk": self._xref,
            **{f"{scope.lower()}_synonym": self._old_synonym(scope) for scope in SCOPES[1:]},
        }  # fmt: skip

    def start_frame(self, line: str, number: int) -> None:
        """Open the frame whose header this line is."""
        self.line = number
        self.frames += 1
        match = _FRAME.match(line)
        if match is None:
            self._problem("malformed frame header", line)
        elif match[1].lower() == "term":
            self.term = _Term(number, self.namespace)

    def end_frame(self) -> Entity | None:
        """Close the open frame and return it, if it is a term with an id."""
        term, self.term = self.term, None
        if term is None:
            return None
        if not term.id:
            self.report.problem("[Term] without an id", term.name, term.line)
            return None
        return term.entity()

    def clause(self, line: str, number: int) -> None:
        """Take a line that is no frame header."""
        term = self.term
        if term is None and self.frames:  # inside a frame of no interest
            return
        self.line = number
        tag, colon, value = line.partition(":")
        if term is not None and tag in self.term_clauses:
            self.term_clauses[tag](term, value.strip())
        elif tag not in _TERM_IGNORED or term is None:
            self._other(tag.strip(), colon, value.strip())

    def _other(self, tag: str, colon: str, value: str) -> None:
        """Handle headers, comments, blanks, and indented, unknown or malformed clauses."""
        if tag.startswith("!") or not (tag or colon):
            return
        if not colon or not tag:
            self._problem("line without a tag", tag or value)
        elif self.term is None:
            self._header(tag, value)
        elif clause := self.term_clauses.get(tag):
            clause(self.term, value)
        elif tag not in _TERM_IGNORED:
            self._problem("unknown tag", tag)

    def _header(self, tag: str, value: str) -> None:
        if tag == "default-namespace":
            self.namespace = plain(value)
        elif tag == "synonymtypedef":
            words = value.split()
            if words:
                self.synonym_types[unescape(words[0])] = next((s for s in SCOPES[1:] if words[-1] == s), None)
        elif tag == "date":
            check_date(value, self._problem)
        elif tag not in _HEADER_IGNORED:
            self._problem("unknown tag", tag)

    def _problem(self, kind: str, detail: str) -> None:
        self.report.problem(kind, detail, self.line)

    # Clauses of a term

    def _id(self, term: _Term, value: str) -> None:
        id_ = reference(value, self._problem)
        if term.id:
            self._problem("second id in one frame", value)
        else:
            term.id = id_

    def _name(self, term: _Term, value: str) -> None:
        name = plain(value)
        if not term.name:
            term.name = name
        else:
            self._problem("second name, taken as a synonym", name)
            if name:
                term.synonyms.append(Synonym(name, "EXACT"))

    def _definition(self, term: _Term, value: str) -> None:
        text, _ = quoted(value, "def", self._problem)
        if term.definition:
            self._problem("second def", text)
        else:
            term.definition = text

    def _synonym(self, term: _Term, value: str, default: Scope | None = None) -> None:
        text, words = quoted(value, "synonym", self._problem)
        scope = default
        if words and words[0].upper() in SCOPES[1:]:
            scope = next(s for s in SCOPES[1:] if s == words[0].upper())
            if scope != words[0]:
                self._problem("scope in small letters", words[0])
            words = words[1:]
        type_ = " ".join(words)
        if type_ and type_ not in self.synonym_types:
            self.synonym_types[type_] = None  # told once
            self._problem("undeclared synonym type, kept", type_)
        if text:
            term.synonyms.append(Synonym(text, scope or self.synonym_types.get(type_) or "RELATED", type_))
        else:
            self._problem("empty synonym", value)

    def _old_synonym(self, scope: Scope) -> Callable[[_Term, str], None]:
        return lambda term, value: self._synonym(term, value, scope)

    def _ids(self, field: str) -> Callable[[_Term, str], None]:
        def clause(term: _Term, value: str) -> None:
            if id_ := reference(value, self._problem):
                getattr(term, field).append(id_)

        return clause

    def _xref(self, term: _Term, value: str) -> None:
        if id_ := reference(value.partition(' "')[0], self._problem, "xref with a space, kept"):
            term.xrefs.append(id_)

    def _obsolete(self, term: _Term, value: str) -> None:
        word = plain(value).lower()
        term.obsolete = word in ("true", "1")
        if word not in ("true", "false"):
            self._problem("is_obsolete is neither true nor false", value)

    def _namespace(self, term: _Term, value: str) -> None:
        term.namespace = plain(value)

    def _date(self, _: _Term, value: str) -> None:
        check_date(value, self._problem)
