"""``ontolink update``: a pipeline goes over to the next release of its ontology."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import Pipeline
from .reading import COLUMNS_HELP, OPTION_HELP, READING, OntologyFormat, reading_settings

if TYPE_CHECKING:
    from ..kb import KnowledgeBase
    from ..space import Updated


def update(
    pipeline: Pipeline,
    ontologies: Annotated[
        list[Path], typer.Argument(metavar="ONTOLOGY", help="The new release; read as the last one was.")
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Folder to write the new pipeline to.")],
    component: Annotated[
        str | None, typer.Option(help="The retriever to update, if the pipeline has several [default: all]")
    ] = None,
    keep_idf: Annotated[
        bool,
        typer.Option(
            "--keep-idf", help="Copy unchanged rows of a lexical encoder, too: it keeps the weights of the old names."
        ),
    ] = False,
    links: Annotated[
        list[Path] | None, typer.Option(help="JSONL or .spacy with links or gold ids to lead on; may be repeated.")
    ] = None,
    pairs: Annotated[
        list[Path] | None, typer.Option(help="The same for training pairs; pairs without an id go.")
    ] = None,
    aliases: Annotated[Path | None, typer.Option(help="The same for aliases (JSONL); those to ask again go.")] = None,
    report: Annotated[Path | None, typer.Option(help="Write all that changed as JSON.")] = None,
    format: Annotated[OntologyFormat | None, typer.Option(help="[default: by content and name]")] = None,
    columns: Annotated[str | None, typer.Option(help=COLUMNS_HELP)] = None,
    option: Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help=OPTION_HELP)] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first clause that is wrong.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Even if the new ontology has none of the old ids.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace OUT.")] = False,
    context: typer.Context = None,  # type: ignore[assignment]  # none when called from Python
) -> None:
    """Move a pipeline to a new release of its ontology.

    All settings stay, and rows that stay are not encoded again.
    """
    from ..errors import DataError, Errors
    from ..files import replacing
    from ..text import printable
    from .build import _refuse
    from .console import bar, say, seconds, step
    from .link_files import jobs_of, lead_on, summary
    from .pipelines import check_free, choose_retrievers, load_pipeline, retrievers
    from .updating import as_built, check_same_ontology, layout, loader_block, note_files, read_release, tell_kept

    start = time.perf_counter()
    jobs = jobs_of(out, {"links": links or [], "pairs": pairs or [], "aliases": [aliases] if aliases else []})
    for path in [*ontologies, *(job.path for job in jobs)]:
        if not path.exists():
            raise DataError(Errors.FILE_MISSING.format(path=path))
    check_free(out, overwrite)
    nlp = load_pipeline(pipeline)
    names = choose_retrievers(nlp, component, pipeline)
    if all(loader_block(nlp, name) for name in names):
        _refuse(context, READING, "the kb_loader of the pipeline")
    given = reading_settings(format, columns, option, strict)
    reading = {
        name: as_built(nlp.get_pipe(name).kb, given, ontologies) for name in names if not loader_block(nlp, name)
    }
    for kept in dict.fromkeys(filter(None, (tell_kept(settings, given) for settings in reading.values()))):
        say(f"As at the build: {kept}")
    with step(f"Reading {', '.join(path.name for path in ontologies)}"):
        kbs = read_release(nlp, names, ontologies, reading)
    parts: dict[str, Any] = {name: nlp.get_pipe(name) for name in retrievers(nlp)}
    before = {name: part.kb for name, part in parts.items()}
    changed = [name for name in names if before[name].hash != kbs[name].hash]
    for name in changed if not force else ():
        check_same_ontology(name, before[name], kbs[name], ontologies[0])
    updates: dict[str, Updated] = {}
    for name in changed:
        updates[name] = _updated(parts[name], kbs[name], ontologies, not keep_idf, bar)
        note_files(nlp, name, ontologies)
    with ExitStack() as stack:  # what is written appears when all of it is
        told = {str(job.path): lead_on(stack, job, before, updates, nlp) for job in jobs}
        if report:
            _report(stack, report, pipeline, ontologies, updates, told)
        if updates:
            with step(f"Saving {out}"):
                nlp.to_disk(stack.enter_context(replacing(out)))
    for name in names:
        if name in updates:
            typer.echo(printable(layout(name, updates[name]), keep="\n"))
        else:
            say(f"{name}: nothing to do, this is the ontology that it has")
    for job in jobs:
        say(f"{job.path} -> {job.target}: {summary(told[str(job.path)])}")
    say(f"{seconds(time.perf_counter() - start)} -> {out}" if updates else f"{out} was not written")


def _updated(part: Any, kb: KnowledgeBase, files: Sequence[Path], refit: bool, bar: Any) -> Updated:
    with bar(f"Updating {part.name}") as progress:
        part.report_progress(progress)
        try:
            updated: Updated = part.update(kb, [str(path) for path in files], refit=refit)
        finally:
            part.report_progress(None)
    return updated


def _report(
    stack: ExitStack, path: Path, pipeline: str, ontologies: Sequence[Path], updates: Mapping[str, Updated], told: Any
) -> None:
    from ..files import replacing, write_json
    from .updating import facts

    components = {name: facts(done) for name, done in updates.items()}
    names = {"pipeline": Path(pipeline).name, "ontology": [file.name for file in ontologies]}
    write_json(stack.enter_context(replacing(path)), {**names, "components": components, "files": told})
