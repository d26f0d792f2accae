"""``ontolink bulk``: corpora of any size, by many workers, so that a run that was killed goes on."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from .mentions import Mentions
from .options import MentionsFrom, Pipeline

if TYPE_CHECKING:
    from spacy.language import Language

    from ..bulk import Job, Opened, Totals
    from ..bulk.shards import Chunk, Shard
    from ..types import LLM, Usage

Engine = Literal["local", "ray"]


def bulk(
    pipeline: Pipeline,
    input: Annotated[
        list[str],
        typer.Argument(metavar="INPUT...", help="Shards (.parquet, .jsonl, .jsonl.gz, .spacy), folders or patterns."),
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Folder to write, or to go on in.")],
    engine: Annotated[
        Engine | None, typer.Option(help="Processes on this machine, or Ray [default: ray if installed, else local]")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="[default: one per core; with Ray, as many as there is room for]")
    ] = None,
    batch_size: Annotated[int, typer.Option(min=1, help="Documents that go through the pipeline together.")] = 64,
    chunk_size: Annotated[int, typer.Option(min=1, help="Rows of a shard for each part of the output.")] = 2000,
    cpus_per_worker: Annotated[float, typer.Option(min=0, help="Cores of a worker (Ray).")] = 1.0,
    gpus_per_worker: Annotated[
        float, typer.Option(min=0, help="GPUs of a worker (Ray); 0.5 lets two share one.")
    ] = 0.0,
    mentions: MentionsFrom = None,
    k: Annotated[int, typer.Option("-k", min=1, help="Candidates to write for each mention.")] = 5,
    spans_key: Annotated[
        str | None, typer.Option(help="Span group with the mentions of .spacy shards [default: entities, else sc]")
    ] = None,
    text_column: Annotated[str, typer.Option(help="Column of Parquet shards with the text.")] = "text",
    id_column: Annotated[str, typer.Option(help="Column of Parquet shards with the id, if there is one.")] = "id",
    retries: Annotated[
        int, typer.Option(min=0, help="More chances for documents that killed their worker before they are set aside.")
    ] = 2,
    timeout: Annotated[
        float, typer.Option(min=0, help="Seconds after which a batch counts as hanging; 0 for never.")
    ] = 0.0,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Begin anew in OUT.")] = False,
) -> None:
    """Link corpora of any size.

    Run it again after a crash, and it goes on where it was.
    """
    from ..bulk import Job, run_bulk
    from ..bulk.fingerprint import fingerprint
    from ..bulk.shards import find_shards
    from ..errors import ConfigError, DataError, Errors, require
    from .console import meter
    from .pipelines import load_pipeline

    start = time.perf_counter()
    engine = engine or _default_engine()
    if engine == "ray":
        require("ray", "ray", "--engine ray")
    elif gpus_per_worker:
        raise ConfigError(Errors.BULK_LOCAL_GPUS)
    shards = find_shards(input, out)
    nlp = load_pipeline(pipeline)
    job = Job(
        out=out.resolve(),
        pipeline=fingerprint(pipeline),
        mentions=mentions or "given",
        spans_key=spans_key,
        k=k,
        text=text_column,
        id=id_column,
        chunk_size=chunk_size,
        batch_size=batch_size,
        retries=retries,
        timeout=timeout,
    )
    job = _settled(job, nlp, pipeline, mentions, shards, overwrite)
    del nlp  # workers have their own
    opening = partial(open_pipeline, _everywhere(pipeline), job.mentions, k, batch_size)
    workers_of = partial(_run, engine, opening, job, workers, cpus_per_worker, gpus_per_worker)
    with meter("Linking", "documents") as report:
        totals = run_bulk(
            shards, job, workers_of, overwrite=overwrite, report=lambda at: report(at.done, at.rows, at.before)
        )
    _summarise(totals, job, time.perf_counter() - start, out)
    if totals.counts["documents"] == totals.counts["failed"] > 0:
        raise DataError(
            Errors.BULK_ALL_FAILED.format(n=totals.counts["documents"], first=_first_failed(out), path=out / "failed")
        )


def open_pipeline(pipeline: str, mentions: Mentions, k: int, batch_size: int) -> Opened:
    """Open a pipeline in a worker, so that it links as 'ontolink link' does."""
    from ..bulk import Opened
    from .mentions import finder, run
    from .pipelines import adjust, language_models, load_pipeline

    nlp = load_pipeline(pipeline)
    key, find = finder(nlp, mentions, pipeline)
    adjust(nlp, spans_key=key, k=k)
    return Opened(nlp, lambda docs: run(nlp, docs, find, batch_size), key, partial(usage_of, language_models(nlp)))


def usage_of(models: Sequence[LLM]) -> Usage:
    """Add up what language models have done."""
    from ..types import Usage

    return Usage(*map(sum, zip(*(model.usage for model in models), strict=True)))


def _everywhere(pipeline: str) -> str:
    """Name a pipeline so that processes in other folders find it."""
    return str(Path(pipeline).resolve()) if Path(pipeline).is_dir() else pipeline


def _default_engine() -> Engine:
    from importlib.util import find_spec

    return "ray" if find_spec("ray") else "local"


def _settled(
    job: Job, nlp: Language, pipeline: str, mentions: Mentions | None, shards: Sequence[Shard], overwrite: bool
) -> Job:
    """Decide where mentions come from, once for all workers and all later runs, and see that the pipeline can do it.

    Raises:
        ConfigError: The pipeline lacks what finds such mentions; or a group is named for shards without any.
    """
    from dataclasses import replace

    from ..bulk.layout import Layout, read_run
    from ..bulk.reading import look
    from ..errors import ConfigError, Errors
    from .mentions import choose, finder

    packed = [shard for shard in shards if shard.format == "spacy"]
    if job.spans_key is not None and not packed:
        raise ConfigError(Errors.NO_GROUPS_IN.format(path=shards[0].path))
    before = None if overwrite else read_run(Layout(job.out))
    if before is not None:
        chosen, key = mentions or before["mentions"], job.spans_key or before["spans_key"]
    else:
        chosen = mentions or choose(nlp, look(shards, job, nlp)[0])
        key = look(packed, job, nlp)[1]
    if chosen != "dictionary":  # which takes a while to make, and can always be made
        finder(nlp, chosen, pipeline)
    return replace(job, mentions=chosen, spans_key=key)


def _run(
    engine: Engine, opening: Any, job: Job, workers: int | None, cpus: float, gpus: float, chunks: Sequence[Chunk]
) -> Generator[dict[str, Any], None, None]:
    if engine == "ray":
        from ..bulk.ray_data import run_ray

        return run_ray(opening, job, chunks, workers, cpus, gpus)
    from ..bulk.local import n_cores, run_local

    return run_local(opening, job, chunks, workers or n_cores())


def _first_failed(out: Path) -> str:
    """Tell the error of the first document that was set aside."""
    import json

    for path in sorted((out / "failed").glob("[!.]*.jsonl")):
        with path.open(encoding="utf-8") as file:
            row = json.loads(file.readline())
        return f"{row['kind']}: {row['error']}"
    return "an error that is not there any more"


def _summarise(totals: Totals, job: Job, duration: float, out: Path) -> None:
    from .console import count, say, seconds

    counts = totals.counts
    found = counts["linked"] + counts["nil"] + counts["skipped"]
    parts = [
        f"{count(counts['documents'], 'document')}, {count(found, 'mention')} ({job.mentions}): "
        f"{counts['linked']:,} linked, {counts['nil']:,} NIL"
        + (f", {counts['skipped']:,} not looked up" if counts["skipped"] else ""),
        f"{count(counts['failed'], 'document')} failed" + (f" (see {out / 'failed'})" if counts["failed"] else ""),
    ]
    if counts["unanswered"]:
        parts.append(f"{count(counts['unanswered'], 'prompt')} without an answer")
    if totals.before:
        parts.append(f"{totals.before:,} were done before")
    say(f"{', '.join(parts)}; {seconds(duration)} -> {out / 'mentions'}")
