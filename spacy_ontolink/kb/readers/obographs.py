"""Read OBO Graphs JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...errors import Errors, OntologyError
from ...types import Entity
from .annotations import DEFINITION, LABEL, OBO_IN_OWL, OWL, RDFS, Draft
from .iris import compact, short_name
from .report import ReadReport
from .sources import open_bytes

_IS_A = ("is_a", f"{RDFS}subClassOf")
_FORMAT = "OBO Graphs JSON"


def read_obographs(path: str | Path, report: ReadReport) -> Iterator[Entity]:
    """Yield the classes of all graphs of a file, in file order; a class that several graphs describe is put together.

    Raises:
        OntologyError: The file is missing, or not JSON with ``graphs``; in strict mode, at the first malformed node.
    """
    drafts: dict[str, Draft] = {}
    graphs = _load_graphs(Path(path))
    for graph in graphs:
        for node in _dicts(graph, "nodes", report):
            try:
                _take_node(node, drafts)
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                report.problem("malformed node", f"{error!r} in {node!r}")
    for graph in graphs:
        for edge in _dicts(graph, "edges", report):
            child, parent = edge.get("sub"), edge.get("obj")
            if not (isinstance(child, str) and isinstance(parent, str)):
                report.problem("malformed edge", repr(edge))
            elif edge.get("pred") in _IS_A and (draft := drafts.get(compact(child))):
                draft.append("parents", compact(parent))
    for draft in drafts.values():
        yield draft.entity()


def _load_graphs(path: Path) -> list[Any]:
    try:
        with open_bytes(path) as file:
            document = json.loads(file.read())
    except OntologyError:
        raise
    except (ValueError, RecursionError) as error:
        raise OntologyError(Errors.NOT_THIS_FORMAT.format(path=path, format=_FORMAT, reason=error)) from error
    graphs = document.get("graphs") if isinstance(document, dict) else None
    if not isinstance(graphs, list):
        reason = "no list of 'graphs' at its top"
        raise OntologyError(Errors.NOT_THIS_FORMAT.format(path=path, format=_FORMAT, reason=reason))
    return graphs


def _dicts(graph: Any, key: str, report: ReadReport) -> Iterator[dict[str, Any]]:
    """Yield the objects of a graph's list; whatever else is there is reported."""
    items = (graph.get(key) or []) if isinstance(graph, dict) else graph
    if not isinstance(items, list) or items is graph:
        report.problem("malformed graph", f"no list of {key}: {items!r:.80}")
        return
    for item in items:
        if isinstance(item, dict):
            yield item
        else:
            report.problem(f"malformed {key.removesuffix('s')}", repr(item))


def _take_node(node: dict[str, Any], drafts: dict[str, Draft]) -> None:
    # Some writers leave the type out; a label then tells a class from a dangling reference.
    if node.get("type", "CLASS" if "lbl" in node else "") != "CLASS":
        return
    id, meta = compact(_text(node["id"])), node.get("meta") or {}
    found = [(LABEL, _text(node["lbl"]), "")] if node.get("lbl") is not None else []
    if definition := meta.get("definition"):
        found.append((DEFINITION, _text(definition["val"]), ""))
    for synonym in meta.get("synonyms") or ():
        property = synonym["pred"] if ":" in synonym["pred"] else OBO_IN_OWL + synonym["pred"]
        found.append((property, _text(synonym["val"]), short_name(synonym.get("synonymType") or "")))
    for subset in meta.get("subsets") or ():
        found.append((f"{OBO_IN_OWL}inSubset", _text(subset), ""))
    for xref in meta.get("xrefs") or ():
        found.append((f"{OBO_IN_OWL}hasDbXref", _text(xref["val"]), ""))
    for pair in meta.get("basicPropertyValues") or ():
        found.append((pair["pred"], _text(pair["val"]), ""))
    draft = drafts.setdefault(id, Draft(id))  # only once the whole node is known to make sense
    for property, value, type in found:
        draft.add(property, value, type=type)
    if meta.get("deprecated"):
        draft.add(f"{OWL}deprecated", "true")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a text was expected, not {value!r:.40}")
    return value
