"""BioC XML, read document by document; nothing outside the file is opened, and no entity is expanded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from ...errors import DataError, Errors
from ..tally import Place, Tally, name_of
from .bioc import as_string, document_of, row_of
from .ids import IdRules
from .rows import Row
from .source import Source

# What XML 1.0 cannot hold.
_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")


def read_bioc_xml(source: Source, rules: IdRules, tally: Tally) -> Iterator[tuple[Place, Row]]:
    """Yield the documents, holding one at a time.

    Raises:
        DataError: It is not well-formed (with the line), not BioC, declares or uses XML entities, or a document in it
            cannot be used.
    """
    from lxml import etree

    safe = {"load_dtd": False, "no_network": True, "remove_comments": True, "remove_pis": True}
    events = etree.iterparse(source.file, events=("start", "end"), resolve_entities=False, huge_tree=False, **safe)
    checked = False
    header: Row = {}
    try:
        for event, element in events:
            if not checked:
                _check_root(element, source)
                checked = True
            if event != "end" or element.tag not in ("document", "collection"):
                continue
            if element.tag == "document":
                place = Place(source.path, element.sourceline)
                header = header or _header(element.getparent())
                yield place, row_of(_document(element, place), header, place, rules, tally)
            element.clear()
            while element.getprevious() is not None and element.getprevious().tag == "document":
                del element.getparent()[element.getparent().index(element) - 1]
    except etree.XMLSyntaxError as error:
        raise _not_bioc(source, f"line {error.lineno}: {error.msg}" if error.lineno else "it is empty") from error


def _check_root(root: Any, source: Source) -> None:
    declared = root.getroottree().docinfo.internalDTD
    for entity in declared.iterentities() if declared is not None else ():
        raise _not_bioc(source, f"it declares the XML entity '{entity.name}', which BioC has no need of")
    if root.tag not in ("collection", "document"):
        raise _not_bioc(source, f"its root is <{root.tag}>, not <collection>")


def _not_bioc(source: Source, reason: str) -> DataError:
    return DataError(Errors.NOT_BIOC.format(path=name_of(source.path), format="BioC XML", reason=reason))


def _header(collection: Any) -> Row:
    if collection is None:
        return {}
    fields = {key: collection.findtext(key) for key in ("source", "date", "key")}
    header: Row = {key: value for key, value in fields.items() if value}
    return header | ({"infons": infons} if (infons := _infons(collection)) else {})


def _infons(element: Any) -> Row:
    return {infon.get("key", ""): infon.text or "" for infon in element.iterchildren("infon")}


def _document(element: Any, place: Place) -> Row:
    """Bring a document into the shape that BioC JSON has."""
    from lxml import etree

    for entity in element.iter(etree.Entity):
        raise place.problem(f"the document that begins here uses the XML entity '{entity.text}', which is not known")
    passages = [
        {**_block(passage), "sentences": [_block(sentence) for sentence in passage.iterchildren("sentence")]}
        for passage in element.iterchildren("passage")
    ]
    return {"id": element.findtext("id"), "infons": _infons(element), "passages": passages, **_marks(element)}


def _block(element: Any) -> Row:
    block: Row = {"infons": _infons(element), "text": element.findtext("text"), **_marks(element)}
    return block | ({"offset": offset} if (offset := element.findtext("offset")) is not None else {})


def _marks(element: Any) -> Row:
    annotations = [
        {
            "id": annotation.get("id"),
            "infons": _infons(annotation),
            "text": annotation.findtext("text"),
            "locations": [dict(location.attrib) for location in annotation.iterchildren("location")],
        }
        for annotation in element.iterchildren("annotation")
    ]
    relations = [
        {
            "id": relation.get("id"),
            "infons": _infons(relation),
            "nodes": [dict(n.attrib) for n in relation.iterchildren("node")],
        }
        for relation in element.iterchildren("relation")
    ]
    return {"annotations": annotations, "relations": relations}


class BiocXmlWriter:
    """Writes one collection, document by document."""

    def __init__(self, file: BinaryIO, tally: Tally) -> None:
        from lxml import etree

        self._tally, self._id = tally, ""
        self._file = file
        self._context = etree.xmlfile(file, encoding="UTF-8")
        self._xml: Any = None
        self._root: Any = None

    def write(self, row: Row) -> None:
        """Write a document; the collection is that of the first one."""
        self._begin(row.get("collection") or {})
        self._id = row["id"]
        self._xml.write(self._document(document_of(row)))
        self._xml.write("\n")

    def _begin(self, header: Row) -> None:
        if self._xml is not None:
            return
        self._xml = self._context.__enter__()
        self._xml.write_declaration()
        self._xml.write_doctype("<!DOCTYPE collection SYSTEM 'BioC.dtd'>")
        self._root = self._xml.element("collection")
        self._root.__enter__()
        for key in ("source", "date", "key"):
            self._xml.write(self._element(key, header.get(key, "")))
        for infon in self._infons(header):
            self._xml.write(infon)
        self._xml.write("\n")

    def close(self) -> None:
        """Write the end."""
        self._begin({})
        self._root.__exit__(None, None, None)
        self._context.__exit__(None, None, None)
        self._file.write(b"\n")

    def _element(self, tag: str, text: object = None, /, **attributes: object) -> Any:
        from lxml import etree

        element = etree.Element(tag, {key: self._fit(str(value)) for key, value in attributes.items()})
        if text is not None:
            element.text = self._fit(str(text))
        return element

    def _fit(self, text: str) -> str:
        if _UNFIT.search(text):
            self._tally.note("text(s) with characters that XML cannot hold, which become \ufffd", self._id)
        return _UNFIT.sub("\ufffd", text)

    def _infons(self, holder: Row) -> list[Any]:
        infons = holder.get("infons") or {}
        return [self._element("infon", as_string(value), key=key) for key, value in infons.items()]

    def _document(self, document: Row) -> Any:
        element = self._element("document")
        element.append(self._element("id", document["id"]))
        element.extend(self._infons(document))
        for passage in document["passages"]:
            child = self._element("passage")
            child.extend(self._infons(passage))
            child.append(self._element("offset", passage["offset"]))
            child.append(self._element("text", passage["text"]))
            child.extend([self._annotation(annotation) for annotation in passage["annotations"]])
            element.append(child)
        for relation in document["relations"]:
            child = self._element("relation", id=relation["id"])
            child.extend(self._infons(relation))
            child.extend([self._element("node", **node) for node in relation["nodes"]])
            element.append(child)
        return element

    def _annotation(self, annotation: Row) -> Any:
        element = self._element("annotation", id=annotation["id"])
        element.extend(self._infons(annotation))
        element.extend([self._element("location", **location) for location in annotation["locations"]])
        element.append(self._element("text", annotation["text"]))
        return element
