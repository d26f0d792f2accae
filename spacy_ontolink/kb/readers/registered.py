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
    """Make a reader of UMLS releases.

    Args:
        path: The folder or zip archive of a release, or its ``MRCONSO.RRF``; or several.
        languages: Of the names (LAT), the preferred one first; none given: all, English first.
        sources: Vocabularies (SAB) that names, definitions and relations may come from; none given: all.
        types: Semantic types, by TUI or name, of which a concept must have one; none given: all.
        suppressible: Take rows that are marked as obsolete or suppressible, too.
        relations: Which relations make parents: "PAR", "RB" or both; none given: there are no parents.
        prefix: To put before every id, such as "UMLS:".
        strict: Stop at the first problem instead of counting it.
        stop_synonyms: Leave out synonyms that very many entities share: true, false, or the very texts to leave out.
    """
    options = {"languages": languages, "sources": sources, "types": types, "suppressible": suppressible,
               "relations": relations, "prefix": prefix}  # fmt: skip
    return _reader(path, "umls", options, strict, stop_synonyms)


def make_mesh_reader(
    path: str | list[str], prefix: str = "", strict: bool = False, stop_synonyms: bool | list[str] = True
) -> OntologyReader:
    """Make a reader of MeSH in XML.

    Args:
        path: ``descYYYY.xml``, ``suppYYYY.xml`` or both, gzipped, zipped or not.
        prefix: To put before every id, such as "MESH:".
        strict: Stop at the first problem instead of counting it.
        stop_synonyms: Leave out synonyms that very many entities share: true, false, or the very texts to leave out.
    """
    return _reader(path, "mesh", {"prefix": prefix}, strict, stop_synonyms)


def make_snomed_reader(
    path: str | list[str],
    languages: Sequence[str] = ("en",),
    refsets: Sequence[str] = (),
    prefix: str = "",
    strict: bool = False,
    stop_synonyms: bool | list[str] = True,
) -> OntologyReader:
    """Make a reader of SNOMED CT releases.

    Args:
        path: The folder or zip archive of a release, which has snapshot files; or several.
        languages: Of the descriptions, the preferred one first; none given: all.
        refsets: Ids of the language reference sets to go by, the preferred one first; descriptions in none of them are
            left out. None given: all descriptions, names by US English, British English, then any other.
        prefix: To put before every id, such as "SNOMEDCT:".
        strict: Stop at the first problem instead of counting it.
        stop_synonyms: Leave out synonyms that very many entities share: true, false, or the very texts to leave out.
    """
    options = {"languages": languages, "refsets": refsets, "prefix": prefix}
    return _reader(path, "snomed", options, strict, stop_synonyms)


def make_skos_reader(
    path: str | list[str],
    languages: Sequence[str] = ("en",),
    strict: bool = False,
    stop_synonyms: bool | list[str] = True,
) -> OntologyReader:
    """Make a reader of SKOS thesauri.

    Args:
        path: The file, in RDF/XML, Turtle or N-Triples (the latter two need the extra ``rdf``); or several.
        languages: Of labels and definitions, the preferred one first ("en" takes "en-GB", too); none given: all.
        strict: Stop at the first problem instead of counting it.
        stop_synonyms: Leave out synonyms that very many entities share: true, false, or the very texts to leave out.
    """
    return _reader(path, "skos", {"languages": languages}, strict, stop_synonyms)


def _reader(
    path: str | list[str], format: str, options: dict[str, Any], strict: bool, stop_synonyms: bool | list[str]
) -> OntologyReader:
    return make_ontology_reader(path, format, strict, stop_synonyms=stop_synonyms, options=options)
