"""Read ontology files of several formats into a knowledge base."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import Errors, OntologyError
from ...registry import saves
from ...text import shown
from .options import FORMATS, Option, check_options, fit_options, reader_of
from .releases import files_read, is_release
from .report import ReadReport
from .sentences import refile_sentences
from .sniff import sniff

if TYPE_CHECKING:
    from ...types import Entity
    from ..knowledge_base import KnowledgeBase

__all__ = [
    "FORMATS",
    "OntologyReader",
    "ReadReport",
    "is_release",
    "make_ontology_reader",
    "read_entities",
    "read_ontology",
]

Paths = str | Path | Sequence[str | Path]


def read_entities(
    path: str | Path,
    report: ReadReport,
    format: str | None = None,
    columns: dict[str, str] | None = None,
    options: Mapping[str, Option] | None = None,
) -> Iterator[Entity]:
    """Open an ontology file, gzipped or not, or a release of several, and return an iterator over its entities.

    Args:
        path: The file, or the folder or zip archive of a release.
        report: Counts what is passed over, or raises at it.
        format: One of ``FORMATS``; None tells it from the content, then the name.
        columns: For a table, the column of each field of ``Entity``.
        options: Keyword arguments of the reader; those that other formats have are passed over.

    Raises:
        OntologyError: The file is missing, empty, or of no known format; while iterating, if it is not what it seemed,
            or at the first problem of a strict report.
        ConfigError: An option is of the wrong kind.
    """
    path = Path(path)
    format = sniff(path, format)
    settings = fit_options(options or {}, format)
    if format == "table":
        settings["columns"] = columns
    return refile_sentences(reader_of(format)(path, report, **settings), report)


def read_ontology(
    paths: Paths,
    *,
    format: str | None = None,
    strict: bool = False,
    columns: dict[str, str] | None = None,
    options: Mapping[str, Option] | None = None,
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
        options: Of the readers, such as ``languages``; each takes those that its format has.
        stop_synonyms: As for ``KnowledgeBase.from_entities``.
        name: What to call the knowledge base; by default, after its files.
        names: Files of annotated mentions, which become names of their entities (``annotated``).

    Raises:
        OntologyError: A file is missing, empty or of no known format, or none of its entities has a name.
        DataError: A file of mentions cannot be used.
        ConfigError: No file has a format with one of the options, or its value is of the wrong kind.
    """
    from ..annotated import add_names, read_names
    from ..knowledge_base import KnowledgeBase

    files = _files(paths)
    reports = [ReadReport(path, strict) for path in files]
    formats = [sniff(path, format) for path in files]
    check_options(options or {}, formats)
    streams = [
        read_entities(path, report, found, columns, options)
        for path, report, found in zip(files, reports, formats, strict=True)
    ]
    # Problems between entities, such as dangling parents, belong to one file only if there is only one.
    whole = reports[0] if len(reports) == 1 else ReadReport(" + ".join(str(path) for path in files), strict)
    every = dict.fromkeys([*reports, whole])
    told = ""
    try:
        kb = KnowledgeBase.from_entities(
            chain.from_iterable(streams),
            name="+".join(_stem(path) for path in files) if name is None else name,
            stop_synonyms=stop_synonyms,
            report=whole,
        )
    except OntologyError as error:
        told = str(error)
        raise
    finally:
        for report in every:
            if report.summary() not in told:
                report.log()
    # The builder knows of the problems between entities only; what was passed over in the files belongs to the KB, too.
    kb.facts["problems"] = dict(sum((report.counts for report in every), Counter()))
    # How it was read, so that the next release can be read in the same way.
    kb.facts["reading"] = {"format": format, "columns": dict(columns or {}), "options": dict(options or {})}
    given = _paths(names)
    return add_names(kb, chain.from_iterable(map(read_names, given))) if given else kb


class OntologyReader:
    """Reads ontology files when called; a ``Reader`` for configs. (spaCy's schemas turn dataclasses into dicts.)"""

    def __init__(self, paths: tuple[Path, ...], names: tuple[Path, ...] = (), **settings: Any) -> None:
        self.paths, self.names, self.settings = paths, names, settings

    def __call__(self) -> KnowledgeBase:
        return read_ontology(self.paths, names=self.names, **self.settings)

    @property
    def files(self) -> list[Path]:
        """All files that are read: where a path is the folder of a release, those in it; and those of mentions."""
        return [*(file for path in self.paths for file in files_read(path)), *self.names]


@saves(as_null=("names",))
def make_ontology_reader(
    path: str | list[str],
    format: str | None = None,
    strict: bool = False,
    columns: dict[str, str] | None = None,
    stop_synonyms: bool | list[str] = True,
    names: str | list[str] | None = None,
    options: dict[str, str | bool | list[str]] | None = None,
) -> OntologyReader:
    """Make a reader of one or several ontology files; nothing is opened before it is called.

    A saved config has no ``names``: they are in the saved knowledge base.

    Args:
        path: The file, folder or zip archive, or several; entities of the first come first.
        format: "obo", "obographs", "owl", "table", "jsonl", "umls", "mesh", "snomed" or "skos"; null to tell it file by
            file.
        strict: Stop at the first problem instead of counting it.
        columns: For tables, the column of each field of an entity, as in ``{"id": "Code", "name": "Label"}``.
        stop_synonyms: Leave out synonyms that very many entities share: true, false, or the very texts to leave out.
        names: Files of annotated mentions, which become names of their entities.
        options: Of the formats, such as ``languages``; each takes those that it has.

    Raises:
        OntologyError: There is no path, or no such format.
        ConfigError: The format has no such option.
    """
    files = _files(path)
    if format is not None and format not in FORMATS:
        reason = f"there is no format '{format}'"
        raise OntologyError(Errors.FORMAT_UNKNOWN.format(path=files[0], reason=reason, formats=", ".join(FORMATS)))
    if format is not None:  # else that of the files decides
        check_options(options or {}, [format])
    settings = {"format": format, "strict": strict, "columns": columns, "stop_synonyms": stop_synonyms}
    return OntologyReader(files, _paths(names or ()), **settings, options=options)


def _files(paths: Paths) -> tuple[Path, ...]:
    if not (files := _paths(paths)):
        raise OntologyError(Errors.NO_FILES)
    return files


def _paths(paths: Paths) -> tuple[Path, ...]:
    return (Path(paths),) if isinstance(paths, str | Path) else tuple(Path(path) for path in paths)


def _stem(path: Path) -> str:
    return shown(path.name if path.is_dir() else Path(path.name.removesuffix(".gz")).stem)
