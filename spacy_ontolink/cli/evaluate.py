"""``ontolink evaluate``: how well a pipeline links mentions whose ids are known."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from .evaluate_table import table
from .options import CorpusFormat, From, Links, Pipeline

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spacy.language import Language

    from ..evaluation import Outcome, Run
    from ..metrics import Resampling

__all__ = ["evaluate", "measure", "table"]


def evaluate(
    pipeline: Pipeline,
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="Mentions with gold ids: JSONL, PubTator, BioC, BRAT or .spacy.")
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Write the measures as JSON, with what became of each mention; - is standard output, the default, "
            "which has the measures alone.",
        ),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write a page (HTML) with plots and a table of all mentions.")
    ] = None,
    compare: Annotated[
        Path | None, typer.Option(help="Test the difference from another run: the file that its --output wrote.")
    ] = None,
    from_: From = None,
    spans_key: Annotated[
        str | None, typer.Option(help="Span group with the mentions of a .spacy file [default: entities, else sc]")
    ] = None,
    component: Annotated[
        str | None, typer.Option(help="The retriever to measure, if the pipeline has several [default: the only one]")
    ] = None,
    resamples: Annotated[int, typer.Option(min=100, help="Draws of the bootstrap that gives the intervals.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Of these draws.")] = 0,
    links: Links = "bioregistry",
) -> None:
    """Measure how well mentions with gold ids are linked."""
    from ..documents import link_pattern
    from ..evaluation import compare_runs, read_run
    from .console import count, say, seconds
    from .outputs import STDOUT, check_outputs
    from .pipelines import load_pipeline, only_retriever

    start = time.perf_counter()
    output = None if output == STDOUT else output
    outputs = {option: path for option, path in (("--output", output), ("--report", report)) if path}
    check_outputs(outputs, [data, compare] if compare else [data])
    link, other = link_pattern(links), read_run(compare) if compare else None
    nlp = load_pipeline(pipeline)
    only_retriever(nlp, component, pipeline)
    found = measure_all(nlp, data, spans_key, resamples, seed, other, from_)
    measures = {"pipeline": Path(pipeline).name, "data": data.name, **found.measures}
    comparison = compare_runs(found.outcomes, other, found.resampling) if other else None
    if comparison:
        measures["comparison"] = comparison.facts
    if output:
        _write(output, measures, found.outcomes)
    if report:
        from ..report import write_evaluation

        write_evaluation(report, measures, found.outcomes, link, comparison.ranks if comparison else None, nlp.lang)
    say(table(measures))
    if not output:
        typer.echo(json.dumps(measures, indent=2, ensure_ascii=False))
    if outputs:
        written = ", ".join(map(str, outputs.values()))
        say(f"{count(len(found.outcomes), 'mention')}; {seconds(time.perf_counter() - start)} -> {written}")


class Found(NamedTuple):
    """All that is known of a run."""

    measures: dict[str, Any]
    outcomes: Sequence[Outcome]
    resampling: Resampling


def measure(
    nlp: Language, data: str | Path, spans_key: str | None = None, format: CorpusFormat | None = None
) -> dict[str, Any]:
    """Return the measures alone, see ``measure_all``."""
    return measure_all(nlp, data, spans_key, format=format).measures


def measure_all(
    nlp: Language,
    data: str | Path,
    spans_key: str | None = None,
    resamples: int = 1000,
    seed: int = 0,
    other: Run | None = None,
    format: CorpusFormat | None = None,
) -> Found:
    """Link the mentions of a file and compare with its gold ids, brought up to date through the knowledge base.

    The pipeline must have one retriever enabled: ids are brought up to date and mentions ranked by the same one. It is
    left as it was.

    Raises:
        DataError: The file cannot be used, no mention in it has a gold id, or the ``other`` run is not about it.
    """
    from ..documents import GIVEN, SPANS_KEY, Tally, read_documents
    from ..errors import DataError, Errors
    from ..evaluation import alpha_curve, check_run, measures_of, read_outcomes
    from ..metrics import RECALL_AT, Resampling
    from ..report import chain_of
    from .console import track
    from .mentions import finder, run
    from .pipelines import adjusted, retriever

    data, tally, linker = Path(data), Tally(), retriever(nlp)
    docs = list(read_documents(data, nlp, spans_key=spans_key, tally=tally, format=format, gold=True))
    given = [mention for doc in docs for mention in doc.user_data[GIVEN]["mentions"]]
    if not docs:
        raise DataError(Errors.NO_DOCUMENTS.format(path=data))
    if not any(mention["kb_ids"] for mention in given):
        hint = Errors.LINKED_NOT_GOLD if any("kb_id" in mention for mention in given) else Errors.NO_GOLD_HINT
        hint = hint if given else ""
        raise DataError(Errors.NO_MENTIONS.format(path=data, verb="compare with", hint=hint))
    if other:
        check_run(docs, other)
    start = time.perf_counter()
    with adjusted(nlp, spans_key=SPANS_KEY, k=max(RECALL_AT)):
        docs = list(run(nlp, track(docs, "Linking", len(docs)), finder(nlp, "given", "")[1]))
        duration = time.perf_counter() - start
        outcomes = read_outcomes(docs, linker)
        resampling = Resampling([one.number for one in outcomes], resamples, seed)
        measures = measures_of(outcomes, resampling)
        fuser = chain_of(nlp, linker.name).stage("fused")
        curve = alpha_curve(docs, outcomes, linker, fuser) if fuser else None
    facts = {
        "documents": tally.documents,
        "seconds": round(duration, 3),
        "mentions_per_second": round(len(outcomes) / duration, 1) if duration else None,
    }
    return Found({**measures, "alpha_curve": curve, **facts}, outcomes, resampling)


def _write(path: Path, measures: dict[str, Any], outcomes: Sequence[Outcome]) -> None:
    """Write the measures, and after them one line for each mention, so that a text search finds it."""
    from ..files import replacing

    head = json.dumps(measures, indent=2, ensure_ascii=False).removesuffix("\n}")
    rows = ",\n".join("    " + json.dumps(one.to_json(), ensure_ascii=False) for one in outcomes)
    with replacing(path) as file:
        file.write_text(f'{head},\n  "mentions": [\n{rows}\n  ]\n}}\n', encoding="utf-8", errors="replace")
