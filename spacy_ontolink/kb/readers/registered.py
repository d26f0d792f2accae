"""Readers for configs, with the options of one format each as settings of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import OntologyReader, make_ontology_reader


def make_umls_reader(
    path: str | list[str],
    languages: Sequence[str] = ("ENG",),
    sources: Sequence[str] = (),
    types: Sequence[str] = (),
    suppressible: bool = False,
    relations: Sequence[str] = ("PAR",),
    prefix: str = "",
    strict: bool = False,
    stop_synonyms: bool | list[str] = True,
) -> OntologyReader:
    """Make a reader of UMLS releases; the settings are those of ``read_umls`` and ``read_ontology``."""
    options = {"languages": languages, "sources": sources, "types": types, "suppressible": suppressible,
               "relations": relations, "prefix": prefix}  # fmt: skip
    return _reader(path, "umls", options, strict, stop_synonyms)


def make_mesh_reader(
    path: str | list[str], prefix: str = "", strict: bool = False, stop_synonyms: bool | list[str] = True
) -> OntologyReader:
    """Make a reader of MeSH XML; the settings are those of ``read_mesh`` and ``read_ontology``."""
    return _reader(path, "mesh", {"prefix": prefix}, strict, stop_synonyms)


def make_snomed_reader(
    path: str | list[str],
    languages: Sequence[str] = ("en",),
    refsets: Sequence[str] = (),
    prefix: str = "",
    strict: bool = False,
    stop_synonyms: bool | list[str] = True,
) -> OntologyReader:
    """Make a reader of SNOMED CT releases; the settings are those of ``read_snomed`` and ``read_ontology``."""
    options = {"languages": languages, "refsets": refsets, "prefix": prefix}
    return _reader(path, "snomed", options, strict, stop_synonyms)


def make_skos_reader(
    path: str | list[str],
    languages: Sequence[str] = ("en",),
    strict: bool = False,
    stop_synonyms: bool | list[str] = True,
) -> OntologyReader:
    """Make a reader of SKOS thesauri; the settings are those of ``read_skos`` and ``read_ontology``."""
    return _reader(path, "skos", {"languages": languages}, strict, stop_synonyms)


def _reader(
    path: str | list[str], format: str, options: dict[str, Any], strict: bool, stop_synonyms: bool | list[str]
) -> OntologyReader:
    return make_ontology_reader(path, format, strict, stop_synonyms=stop_synonyms, options=options)
