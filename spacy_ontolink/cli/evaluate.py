"""``ontolink evaluate``: how well a pipeline links mentions whose ids are known."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from spacy.language import Language


def evaluate(
    pipeline: Annotated[
        str, typer.Argument(metavar="PIPELINE", help="Folder that 'ontolink build' wrote, or an installed pipeline.")
    ],
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="JSONL with mentions and their kb_ids, or .spacy with gold ids.")
    ],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the measures as JSON, too.")] = None,
    spans_key: Annotated[
        str | None, typer.Option(help="Span group with the mentions of a .spacy file [default: entities, else sc]")
    ] = None,
    component: Annotated[
        str | None, typer.Option(help="The retriever to measure, if the pipeline has several [default: the only one]")
    ] = None,
) -> None:
    """Measure recall and mean reciprocal rank on mentions with gold ids."""
    from ..files import replacing, write_json
    from .console import say
    from .pipelines import load_pipeline, only_retriever

    nlp = load_pipeline(pipeline)
    only_retriever(nlp, component, pipeline)
    measures = measure(nlp, data, spans_key)
    measures = {"pipeline": Path(pipeline).name, "data": data.name, **measures}
    if output:
        with replacing(output) as path:
            write_json(path, measures)
    say(table(measures))
    typer.echo(json.dumps(measures, indent=2, ensure_ascii=False))


def measure(nlp: Language, data: Path, spans_key: str | None = None) -> dict[str, Any]:
    """Link the mentions of a file and compare with its gold ids, brought up to date through the knowledge base.

    The pipeline must have one retriever enabled: ids are brought up to date and mentions ranked by the same one.

    Raises:
        DataError: The file cannot be used, or no mention in it has a gold id.
    """
    from ..components.spans import candidate_ids
    from ..documents import GIVEN, SPANS_KEY, Tally, read_documents
    from ..errors import DataError, Errors
    from ..metrics import RECALL_AT, evaluate_ranking
    from .console import track
    from .mentions import finder, run
    from .pipelines import adjust, retriever

    adjust(nlp, spans_key=SPANS_KEY, k=max(RECALL_AT))
    tally, kb = Tally(), retriever(nlp).kb
    docs = list(read_documents(data, nlp, spans_key=spans_key, tally=tally))
    gold = [mention["kb_ids"] for doc in docs for mention in doc.user_data[GIVEN]["mentions"]]
    if not any(gold):
        hint = " Each mention needs 'kb_ids'." if gold else ""
        raise DataError(Errors.NO_MENTIONS.format(path=data, verb="compare with", hint=hint))
    texts: list[str] = []
    ranked: list[list[str]] = []
    start = time.perf_counter()
    for doc in run(nlp, track(docs, "Linking", len(docs)), finder(nlp, "given", "")[1]):
        for span in doc.spans.get(SPANS_KEY, ()):
            texts.append(span.text)
            ranked.append(list(candidate_ids(span)))
    duration = time.perf_counter() - start
    result = evaluate_ranking(texts, gold, ranked, resolve=kb.resolve, name_of=lambda id: kb[id].name)
    return {
        **result,
        "documents": tally.documents,
        "mentions_widened": tally.expanded,
        "seconds": round(duration, 3),
        "mentions_per_second": round(len(texts) / duration, 1) if duration else None,
    }


def table(measures: dict[str, Any]) -> str:
    """Lay the measures out for people: all mentions, then by overlap, then what was counted apart."""
    columns = [key for key in measures if key.startswith("recall_at_")] + ["mrr"]
    lines = [f"{'':4}{'n':>7}" + "".join(f"{key.replace('recall_at_', 'R@'):>8}" for key in columns)]
    for name, row in {"all": measures, **measures["by_overlap"]}.items():
        values = ["      –" if row[key] is None else f"{100 * row[key]:7.1f}" for key in columns]
        lines.append(f"{name:4}{row['n']:>7,}" + "".join(f" {value}" for value in values))
    notes = {
        "n_without_gold": "mention(s) without gold id, not counted above",
        "gold_ids_resolved": "gold id(s) brought up to date (alt ids and replacements)",
        "gold_ids_unknown": "gold id(s) unknown to the knowledge base",
        "n_unknown_gold": "mention(s) with unknown gold ids only, counted as wrong",
        "mentions_widened": "mention(s) widened to whole tokens",
    }
    lines += [f"{measures[key]:,} {text}" for key, text in notes.items() if measures.get(key)]
    lines.append(f"{measures['mentions_per_second']:,} mentions per second")
    return "\n".join(lines)
