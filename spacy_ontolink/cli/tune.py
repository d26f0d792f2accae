"""``ontolink tune``: settings, calibration and threshold of a pipeline, fitted to mentions."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import From, Pipeline

if TYPE_CHECKING:
    from ..training.grids import Step
    from .tuned import Tuned
    from .tuning_data import Dev

FILE, FOLDER = "tuning.json", "tuning"
"""What is written beside the pipeline: all figures, and a folder of curves."""


def tune(
    pipeline: Pipeline,
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="[DEV] OUT",
            help="A corpus of any format with gold ids (without one, synonyms of the ontology are held out), and the "
            "folder to write the tuned pipeline to.",
        ),
    ],
    hide: Annotated[
        float, typer.Option(min=0, max=0.9, help="Share of the entities to hide, whose mentions then are NIL.")
    ] = 0.1,
    limit: Annotated[int, typer.Option(min=1, help="The most mentions to tune on, chosen at random.")] = 1000,
    precision: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Set the threshold for this precision [default: for the highest accuracy]"),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the choice of mentions, synonyms and hidden entities.")] = 0,
    component: Annotated[
        str | None, typer.Option(help="The retriever to tune, if the pipeline has several [default: the only one]")
    ] = None,
    from_: From = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace OUT.")] = False,
) -> None:
    """Tune a pipeline to annotated mentions, or to its synonyms.

    Without annotated mentions, synonyms are held out of its ontology.
    """
    from .. import __version__
    from ..errors import DataError, Errors
    from ..files import replacing, write_json
    from ..training.holdout import hide as choose_hidden
    from ..training.plots import plot_tuning
    from .applying import Before, apply
    from .console import bar, say, seconds, step
    from .pipelines import check_free, load_pipeline, only_retriever
    from .tuning import Tuner
    from .tuning_data import held_out_dev, read_dev

    start = time.perf_counter()
    if len(paths) > 2:
        raise typer.BadParameter(f"one DEV and one OUT, not {len(paths)} paths")
    *given, out = paths
    check_free(out, overwrite)
    if given and not given[0].exists():
        raise DataError(Errors.INPUT_MISSING.format(path=given[0]))
    with step(f"Opening {Path(pipeline).name}"):
        nlp = load_pipeline(pipeline)
        disabled = list(nlp.disabled)
        retriever = only_retriever(nlp, component, pipeline)
        before = Before.of(retriever, disabled)
    with step(f"Reading {given[0].name}" if given else "Holding synonyms out"):
        read = partial(read_dev, path=given[0], format=from_) if given else held_out_dev
        dev = read(nlp, retriever, limit=limit, seed=seed)
    hidden = choose_hidden(dev.gold, hide, seed)
    tuned = Tuner(nlp, retriever, dev, hidden, bar).tune(precision)
    facts = {
        "pipeline": Path(pipeline).name,
        "version": __version__,
        "seed": seed,
        **dev.facts,
        "entities_hidden": len(hidden),
        "steps": [found.to_json() for found in tuned.steps],
        "nil": tuned.rejection.measures if tuned.rejection else None,
        "notes": tuned.notes,
    }
    apply(nlp, retriever, before, tuned.settings)
    with step(f"Saving {out}"), replacing(out) as path:
        nlp.to_disk(path)
        write_json(path / FILE, facts)
        plot_tuning(path / FOLDER, tuned.steps, facts["nil"])
    nil = _nil(tuned, dev, len(hidden), precision)
    typer.echo("\n".join([_source(dev), "", *_table(tuned.steps), "", *nil, *tuned.notes]))
    say(f"{seconds(time.perf_counter() - start)} -> {out}")


def _source(dev: Dev) -> str:
    """Say what was tuned on."""
    from .console import count

    facts = dev.facts
    if facts["data"] is None:
        kind = "EXACT " if facts["held_out_scopes"] == ["EXACT"] else ""
        scopes = "" if kind else " (of any scope, for none is EXACT)"
        return (
            f"No annotated mentions given: tuned on {count(facts['mentions'], kind + 'synonym')}{scopes} held out of "
            "the ontology. They have no text around them, and need not be like the mentions in yours."
        )
    total = facts["mentions_in_file"]
    of = f" of {total:,}" if total > facts["mentions"] else ""
    others = facts["of_other_labels"]
    alone = f"; {count(others, 'other')} of labels that the retriever leaves alone" if others else ""
    return f"Tuned on {count(facts['mentions'], 'mention')}{of} of {facts['data']}{alone}."


def _table(steps: Sequence[Step]) -> list[str]:
    """Lay the steps out for people."""
    lines = [f"{'':12}{'':19}{'n':>7}{'before':>9}{'after':>9}{'new':>9}"]
    for step in steps:
        values = [step.value_before, step.value_after, step.cross_fitted]
        shown = "".join("        –" if value is None else f"{100 * value:9.1f}" for value in values)
        settings = ", ".join(f"{key} = {_short(value)}" for key, value in step.after.items())
        note = f" ({step.note})" if step.note else ""
        lines.append(f"{step.name:12}{step.measure:19}{step.n:>7,}{shown}  {settings}{note}")
    lines.append("new: on mentions that the setting was not chosen on (five folds by text)")
    return lines


def _nil(tuned: Tuned, dev: Dev, n_hidden: int, precision: float | None) -> list[str]:
    """Say how well NIL is told, and of how many mentions."""
    from .console import count

    if tuned.rejection is None:
        return []
    found = tuned.rejection.measures
    kinds = [f"{count(n_hidden, 'entity', 'entities')} hidden"]
    for key, what in (("without_gold", "without gold id"), ("with_unknown_gold_only", "with unknown ids only")):
        if dev.facts.get(key):
            kinds.append(f"{count(dev.facts[key], 'mention')} {what}")
    empty = found["without_candidates"]
    answered = f"; {count(empty, 'mention')} without candidates answered NIL" if empty else ""
    show = {key: "–" if value is None else f"{value:.3f}" for key, value in found.items() if key != "reliability"}
    threshold = f"threshold {show['threshold']}"
    if found["threshold"] is None:
        why = "no threshold helps" if precision is None else "no threshold is needed for this precision"
        threshold = f"{why}; none was set"
    if tuned.rejection.keeps:
        threshold = "thresholds as before"
    return [
        f"NIL: {found['n_nil']:,} of {found['n']:,} mentions ({', '.join(kinds)}){answered}; figures on mentions not "
        "fitted to",
        f"  AUROC of NIL {show['nil_auroc']}, of right answers {show['answer_auroc']}; "
        f"expected calibration error {show['expected_calibration_error']}",
        f"  {threshold}: NIL precision {show['nil_precision']}, recall {show['nil_recall']}; "
        f"{found['answered']:.0%} answered, {show['precision']} of them rightly; accuracy {show['accuracy']}",
    ]


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
