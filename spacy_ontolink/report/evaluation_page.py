"""A run as a page: measures with their intervals, plots, a comparison, and a table of all mentions to look through."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

from .. import __version__
from ..evaluation import Outcome, recall_by_depth
from ..text import percent
from .charts import alpha, numbers, overlap_bars, recall_curve, reliability
from .evaluation_rows import MOST_ROWS, rows_of
from .evaluation_words import (
    COMPARED,
    Measures,
    about_comparison,
    about_intervals,
    between,
    compared,
    has_nil,
    measure_keys,
    notes,
    short,
)
from .shell import resource, write_shell

RELATIONS = {
    "parent": "a parent of the right one",
    "child": "a child of it",
    "sibling": "a sibling: another child of one of its parents",
    "ancestor": "two or more steps above it",
    "descendant": "two or more steps below it",
    "far": "farther away, or not connected",
}


def write_evaluation(
    path: Path,
    measures: Measures,
    outcomes: Sequence[Outcome],
    link: Callable[[str], str],
    ranks_before: Sequence[int] | None = None,
    lang: str = "en",
) -> None:
    """Write the page.

    Args:
        path: Where to.
        measures: What ``evaluation.measures_of`` gives, with ``pipeline``, ``data``, ``alpha_curve``, and for two runs
            ``comparison``.
        outcomes: The mentions.
        link: Gives the web address of an id.
        ranks_before: The rank of the first right candidate in the other run, by mention.
        lang: The language of the texts.
    """
    title = f"How well {measures['pipeline']} links {measures['data']}"
    sections = [_summary(measures), _comparison(measures), _plots(measures, outcomes, ranks_before), _parts(measures),
                _nil(measures), _relations(measures), _notes(measures)]  # fmt: skip
    data = rows_of(outcomes, link, ranks_before)
    table = resource("evaluation.html").format(data=data, left_out=_left_out(len(outcomes)), lang=escape(lang or "en"))
    body = "".join(sections) + table
    write_shell(path, body, title=title, style="evaluation.css", script="evaluation.js", footer=_made(measures))


def _summary(measures: Measures) -> str:
    tiles = [(key, measures[key], measures["intervals"][key]) for key in measure_keys(measures)]
    if has_nil(measures):
        tiles.append(("accuracy", measures["nil"]["accuracy"], measures["nil"]["intervals"]["accuracy"]))
    shown = "".join(
        f'<div class="tile"><dt>{short(key)}</dt><dd><b>{percent(value)}</b> {between(bounds)}</dd></div>\n'
        for key, value, bounds in tiles
    )
    n, documents = f"{measures['n']:,}", f"{measures['documents']:,}"
    return (
        f'<p class="soft">{n} mentions with a gold id in {documents} documents. All figures are percentages.</p>\n'
        f'<dl class="tiles">\n{shown}</dl>\n'
        f'<p class="soft">Small figures: {escape(about_intervals(measures["resampling"]))}.</p>\n'
    )


def _comparison(measures: Measures) -> str:
    found = measures.get("comparison")
    if not found:
        return ""
    title = f"Beside {found['with']} ({found['file']})"
    words = escape(" ".join(about_comparison(found)))
    table = numbers(COMPARED, compared(found), title)
    return f'<section>\n<h2>{escape(title)}</h2>\n{table}<p class="soft">{words}</p>\n</section>\n'


def _plots(measures: Measures, outcomes: Sequence[Outcome], ranks_before: Sequence[int] | None) -> str:
    other, name = None, ""
    if ranks_before is not None:
        ranks = [rank for one, rank in zip(outcomes, ranks_before, strict=True) if one.gold]
        other, name = recall_by_depth(ranks), measures["comparison"]["with"]
    plots = [recall_curve(measures, other, name), overlap_bars(measures), reliability(measures)]
    plots.append(alpha(measures))
    found = "".join(plots)
    return f'<section>\n<h2>Plots</h2>\n<div class="plots">\n{found}</div>\n</section>\n' if found else ""


def _parts(measures: Measures) -> str:
    first, *others = measure_keys(measures)
    groups = [("by overlap", "by_overlap"), ("by label", "by_label"), ("by ontology or namespace", "by_namespace")]
    tables = []
    for title, key in groups:
        own = {name: row for name, row in measures[key].items() if row["n"]}
        if len(own) < 2 and key != "by_overlap":
            continue
        rows = [
            [name or "(none)", f"{row['n']:,}", percent(row[first]), between(row["intervals"][first]),
             *(percent(row[other]) for other in others)]
            for name, row in own.items()
        ]  # fmt: skip
        header = [title, "n", short(first), "interval", *map(short, others)]
        tables.append(numbers(header, rows, f"Measures {title}"))
    return f'<section class="parts">\n<h2>Parts</h2>\n{"".join(tables)}</section>\n' if tables else ""


def _nil(measures: Measures) -> str:
    if not has_nil(measures):
        return ""
    nil = measures["nil"]
    names = {"nil_precision": "precision", "nil_recall": "recall", "accuracy": "accuracy of all answers"}
    rows = [[words, percent(nil[key]), between(nil["intervals"][key])] for key, words in names.items()]
    rows.insert(2, ["F1", percent(nil["nil_f1"]), ""])
    words = (
        f"Of {nil['n']:,} mentions {nil['n_nil']:,} have no entity in the knowledge base, and {nil['n_said_nil']:,} "
        "were not linked. A mention without gold id counts as one without an entity."
    )
    return (
        f"<section>\n<h2>Mentions without an entity (NIL)</h2>\n<p>{words}</p>\n"
        f"{numbers(['NIL', '%', 'interval'], rows, 'NIL')}</section>\n"
    )


def _relations(measures: Measures) -> str:
    counts = {kind: count for kind, count in measures["relations"].items() if count}
    if not counts:
        return ""
    total, most = sum(counts.values()), max(counts.values())
    rows = "".join(
        f'<tr><th scope="row">{kind}</th><td>{count:,}</td><td>{percent(count / total)}</td>'
        f'<td class="meter"><span class="bar" aria-hidden="true"><i style="--width:{100 * count / most:.0f}%"></i>'
        f"</span></td><td>{RELATIONS[kind]}</td></tr>\n"
        for kind, count in counts.items()
    )
    title = "How far wrong answers are from right ones"
    return (
        f"<section>\n<h2>{title}</h2>\n<p>{total:,} mentions were linked to a wrong entity. What it is to the nearest "
        f'right one in the hierarchy:</p>\n<div class="wide" tabindex="0" role="region" aria-label="{title}">'
        '<table class="numbers relations">\n<thead><tr><th scope="col">relation</th><th scope="col">n</th>'
        f'<th scope="col">%</th><th colspan="2"></th></tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n</section>\n'
    )


def _notes(measures: Measures) -> str:
    items = "".join(f"<li>{escape(note)}</li>\n" for note in notes(measures))
    return f"<section>\n<h2>About the data</h2>\n<ul>\n{items}</ul>\n</section>\n" if items else ""


def _left_out(total: int) -> str:
    if total <= MOST_ROWS:
        return ""
    return f"<p>Of {total:,} mentions the table has {MOST_ROWS:,}: those that went wrong first.</p>\n"


def _made(measures: Measures) -> str:
    speed = measures["mentions_per_second"]
    return f"spacy-ontolink {__version__}" + (f"; {speed:,} mentions per second" if speed else "")
