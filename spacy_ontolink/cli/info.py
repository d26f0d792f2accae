"""``ontolink info``: what is in an ontology, a knowledge base or a pipeline."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from ..text import printable
from .reading import COLUMNS_HELP, OPTION_HELP, OntologyFormat, reading_settings


def info(
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="An ontology, a saved knowledge base or a saved pipeline.")
    ],
    format: Annotated[OntologyFormat | None, typer.Option(help="[default: by content and name]")] = None,
    columns: Annotated[str | None, typer.Option(help=COLUMNS_HELP)] = None,
    option: Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help=OPTION_HELP)] = None,
    verify: Annotated[
        bool,
        typer.Option(
            "--verify", help="Compare every file of the knowledge bases and their vectors with its checksum, whole."
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="All of it as JSON.")] = False,
) -> None:
    """Count entities, names, depth and ambiguous names; show warnings."""
    verified = _verify(path) if verify else {}
    facts = {**describe(path, reading_settings(format, columns, option, strict=False)), **verified}
    typer.echo(json.dumps(facts, indent=2, ensure_ascii=False) if as_json else printable(layout(facts), keep="\n"))


def describe(path: Path, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Gather plain facts; an ontology is read with these settings of ``read_ontology``.

    Raises:
        OntolinkError: Nothing is there, or it cannot be opened.
    """
    from ..errors import DataError, Errors
    from ..kb import KnowledgeBase
    from ..kb.readers import is_release, read_ontology

    if not path.exists():
        raise DataError(Errors.FILE_MISSING.format(path=path))
    if path.is_file() or is_release(path):
        return {"kind": "ontology", **read_ontology([path], **settings).statistics()}
    if (path / "config.cfg").is_file():
        from .pipelines import load_pipeline, retrievers

        nlp = load_pipeline(str(path))
        components = {name: _component(nlp.get_pipe(name)) for name in retrievers(nlp)}
        return {"kind": "pipeline", "language": nlp.lang, "components": ", ".join(nlp.pipe_names), **components}
    return {"kind": "knowledge base", **KnowledgeBase.from_disk(path).statistics()}


def _verify(path: Path) -> dict[str, Any]:
    """Read all files of the spaces, models and knowledge bases in a folder; say how many there are.

    Raises:
        DataError: Nothing in it has checksums.
        StateError: A file is damaged; it is named.
    """
    from ..errors import DataError, Errors
    from ..kb import storage
    from ..space import manifest

    spaces = [file.parent for file in sorted(path.rglob(manifest.NAME)) if (file.parent / "kb").is_dir()]
    alone = [path] if (path / storage.FACTS).is_file() else []
    if not spaces and not alone:
        raise DataError(Errors.NO_CHECKSUMS.format(path=path))
    for folder in alone:
        storage.load(folder, whole=True)
    files = [name for folder in spaces for name in manifest.read_manifest(folder, whole=True)["files"]]
    return {"files_verified": len(files) + len(alone) * len(storage.TABLES)}


def _component(component: Any) -> dict[str, Any]:
    space = component.space
    engine = {"encoder": space.encoder.id, "rows": len(space.rows.owner), "index": space.index.describe()}
    return {**engine, **space.kb.statistics()}


def layout(facts: dict[str, Any], indent: str = "") -> str:
    """Lay nested facts out for people, long mappings cut."""
    plain = [key for key, value in facts.items() if not isinstance(value, dict)]
    wide = max((len(_title(key)) for key in plain), default=0) + 2
    lines = []
    for key, value in facts.items():
        if not isinstance(value, dict):
            number = isinstance(value, int) and not isinstance(value, bool)
            lines.append(f"{indent}{_title(key):<{wide}}{f'{value:,}' if number else value}")
        elif value:
            lines += [f"{indent}{_title(key)}", layout(value, indent + "  ")]
    return "\n".join(lines)


def _title(key: str) -> str:
    return key.replace("_", " ") if key.islower() else key
