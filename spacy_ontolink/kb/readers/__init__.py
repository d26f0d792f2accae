"""Read ontology files of several formats into a knowledge base."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import Errors, OntologyError
from ...registry import saves
from .report import ReadReport
from .sentences import refile_sentences
from .sniff import FORMATS, sniff

if TYPE_CHECKING:
    from ...types import Entity
    from ..knowledge_base import KnowledgeBase

__all__ = ["FORMATS", "OntologyReader", "ReadReport", "make_ontology_reader", "read_entities", "read_ontology"]

Paths = str | Path | Sequence[str | Path]


def read_entities(
    path: str | Path, report: ReadReport, format: str | None = None, columns: dict[str, str] | None = None
) -> Iterator[Entity]:
    """Open an ontology file, gzipped or not, and return an iterator over its entities as they stand there.

    Args:
        path: The file.
        report: Counts what is passed over, or raises at it.
        format: One of ``FORMATS``; None tells it from the content, then the name.
        columns: For a table, the column of each field of ``Entity``.

    Raises:
        OntologyError: The file is missing, empty, or of no known format; while iterating, if it is not what it seemed,
            or at the first problem of a strict report.
    """
    path = Path(path)
    return refile_sentences(_read(path, report, sniff(path, format), columns), report)


def _read(path: Path, report: ReadReport, format: str, columns: dict[str, str] | None) -> Iterator[Entity]:
    # A reader is imported when a file needs it.
    if format == "obo":
        from .obo import read_obo

        return read_obo(path, report)
    if format == "jsonl":
        from .jsonl import read_jsonl

        return read_jsonl(path, report)
    if format == "obographs":
        from .obographs import read_obographs

        return read_obographs(path, report)
    if format == "owl":
        from .owl import read_owl

        return read_owl(path, report)
    from .table import read_table

    return read_table(path, report, columns)


def read_ontology(
    paths: Paths,
    *,
    format: str | None = None,
    strict: bool = False,
    columns: dict[str, str] | None = None,
    stop_synonyms: bool | list[str] = True,
    name: str | None = None,
    names: Paths = (),
) -> KnowledgeBase:
    """Read one or several ontology files into one knowledge base; what was passed over is logged, once per file.

    Args:
        paths: The files; entities of the first come first.
        format: One of ``FORMATS`` for all files; None tells it file by file.
        strict: Raise at the first problem instead of counting it.
        columns: For tables, the column of each field of ``Entity``.
        stop_synonyms: As for ``KnowledgeBase.from_entities``.
        name: What to call the knowledge base; by default, after its files.
        names: Files of annotated mentions, which become names of their entities (``annotated``).

    Raises:
        OntologyError: A file is missing, empty or of no known format, or none of its entities has a name.
        DataError: A file of mentions cannot be used.
    """
    from ..annotated import add_names, read_names
    from ..knowledge_base import KnowledgeBase

    files = _files(paths)
    reports = [ReadReport(path, strict) for path in files]
    streams = [read_entities(path, report, format, columns) for path, report in zip(files, reports, strict=True)]
    # Problems between entities, such as dangling parents, belong to one file only if there is only one.
    whole = reports[0] if len(reports) == 1 else ReadReport(" + ".join(str(path) for path in files), strict)
    every = dict.fromkeys([*reports, whole])
    try:
        kb = KnowledgeBase.from_entities(
            chain.from_iterable(streams),
            name="+".join(_stem(path) for path in files) if name is None else name,
            stop_synonyms=stop_synonyms,
            report=whole,
        )
    finally:
        for report in every:
            report.log()
    # The builder knows of the problems between entities only; what was passed over in the files belongs to the KB, too.
    kb.facts["problems"] = dict(sum((report.counts for report in every), Counter()))
    given = _paths(names)
    return add_names(kb, chain.from_iterable(map(read_names, given))) if given else kb


class OntologyReader:
    """Reads ontology files when called; a ``Reader`` for configs. (spaCy's schemas turn dataclasses into dicts.)"""

    def __init__(self, paths: tuple[Path, ...], names: tuple[Path, ...] = (), **settings: Any) -> None:
        self.paths, self.names, self.settings = paths, names, settings

    def __call__(self) -> KnowledgeBase:
        return read_ontology(self.paths, names=self.names, **self.settings)


@saves(as_null=("names",))
def make_ontology_reader(
    path: str | list[str],
    format: str | None = None,
    strict: bool = False,
    columns: dict[str, str] | None = None,
    stop_synonyms: bool | list[str] = True,
    names: str | list[str] | None = None,
) -> OntologyReader:
    """Make a reader of one or several ontology files; nothing is opened before it is called.

    The settings are those of ``read_ontology``. A saved config has no ``names``: they are in the saved knowledge base.

    Raises:
        OntologyError: There is no path, or no such format.
    """
    files = _files(path)
    if format is not None and format not in FORMATS:
        reason = f"there is no format '{format}'"
        raise OntologyError(Errors.FORMAT_UNKNOWN.format(path=files[0], reason=reason, formats=", ".join(FORMATS)))
    settings = {"format": format, "strict": strict, "columns": columns, "stop_synonyms": stop_synonyms}
    return OntologyReader(files, _paths(names or ()), **settings)


def _files(paths: Paths) -> tuple[Path, ...]:
    if not (files := _paths(paths)):
        raise OntologyError(Errors.NO_FILES)
    return files


def _paths(paths: Paths) -> tuple[Path, ...]:
    return (Path(paths),) if isinstance(paths, str | Path) else tuple(Path(path) for path in paths)


def _stem(path: Path) -> str:
    return Path(path.name.removesuffix(".gz")).stem
