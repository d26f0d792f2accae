"""The plots of a run: each a figure with what it shows in words, and its numbers as a table beneath."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from ..plots import Axis, Plot, alpha_plot, percent_axis, reliability_plot
from ..text import percent
from .evaluation_words import Measures

OVERLAP_WORDS = {"HO": "contained in the name", "LO": "shares a word", "NO": "shares none"}


def recall_curve(measures: Measures, other: Sequence[float] | None, name: str) -> str:
    """Draw recall against depth, beside that of another run, if there is one."""
    curve: Sequence[float] = measures["recall_curve"]
    if not curve:
        return ""
    lowest = min([curve[0], *(other or [])[:1], *_lows(measures)])
    ticks = [(depth, str(depth)) for depth in (1, 2, 5, 10, 20, 64) if depth <= len(curve)]
    plot = Plot(
        "Recall by depth",
        Axis("candidates looked at", 1, len(curve), ticks, log=True),
        percent_axis("recall, %", max(0.0, math.floor(10 * lowest - 0.1) / 10)),
    )
    if other:
        plot.line(list(enumerate(other, start=1)), "other")
    plot.line(list(enumerate(curve, start=1)))
    marked = [depth for depth in _depths(measures) if depth <= len(curve)]
    for depth in marked:
        if bounds := measures["intervals"][f"recall_at_{depth}"]:
            plot.whisker(depth, *bounds)
    titles = [f"R@{depth}: {percent(curve[depth - 1])} %" for depth in marked]
    plot.dots([(depth, curve[depth - 1]) for depth in marked], titles)
    rows = [[str(depth), percent(curve[depth - 1]), *([percent(other[depth - 1])] if other else [])]
            for depth in (1, 2, 3, 5, 10, 20, 50, 64) if depth <= len(curve)]  # fmt: skip
    words = "How often a right entity is among the first so many candidates."
    words += f" Dashed: {name}." if other else ""
    return _figure("Recall by depth", words, plot, ["depth", "recall, %", *(["other run, %"] if other else [])], rows)


def overlap_bars(measures: Measures) -> str:
    """Draw Recall@1 and the deepest recall by overlap of the wording."""
    parts = {name: row for name, row in measures["by_overlap"].items() if row["n"]}
    if not parts:
        return ""
    deepest = f"recall_at_{_depths(measures)[-1]}"
    short = deepest.replace("recall_at_", "R@")
    ticks = [(place, f"{name} (n = {row['n']:,})") for place, (name, row) in enumerate(parts.items())]
    plot = Plot("Recall by overlap", Axis("overlap with the right name", -0.5, len(parts) - 0.5, ticks),
                percent_axis("recall, %", 0, 1.04))  # fmt: skip
    rows = []
    for place, (name, row) in enumerate(parts.items()):
        plot.bar(place, row[deepest], 0.56, "bar-pale", f"{name}, {short}: {percent(row[deepest])} %")
        plot.bar(place, row["recall_at_1"], 0.56, "bar-strong", f"{name}, R@1: {percent(row['recall_at_1'])} %")
        if bounds := row["intervals"]["recall_at_1"]:
            plot.whisker(place, *bounds)
        rows.append([f"{name}: {OVERLAP_WORDS[name]}", f"{row['n']:,}", percent(row["recall_at_1"]),
                     percent(row[deepest])])  # fmt: skip
    words = f"In front R@1, with its interval; behind it {short}. " + "; ".join(
        f"{name}: {OVERLAP_WORDS[name]}" for name in parts
    )
    return _figure("Recall by overlap of wording", words + ".", plot, ["overlap", "n", "R@1, %", f"{short}, %"], rows)


def reliability(measures: Measures) -> str:
    """Draw how often answers are right against how probable they were said to be."""
    found = measures["calibration"]
    if not found:
        return ""
    bins = found["reliability"]
    plot = reliability_plot(bins, "Reliability of the probabilities")
    error = found["expected_calibration_error"]
    words = (
        f"How often the first candidate is right, against the probability that the fusion gave it ({found['n']:,} "
        f"mentions; larger dots are more of them). Expected calibration error {error:.3f}, "
        f"Brier score {found['brier']:.3f}."
    )
    rows = [[f"{100 * row['from']:.0f}–{100 * row['to']:.0f}", f"{row['n']:,}", percent(row["probability"]),
             percent(row["accuracy"])] for row in bins]  # fmt: skip
    return _figure("Reliability", words, plot, ["probability, %", "n", "mean, %", "right, %"], rows)


def alpha(measures: Measures) -> str:
    """Draw Recall@1 against the weight of the last view in the fusion."""
    found = measures["alpha_curve"]
    if not found:
        return ""
    curve, last = found["curve"], found["views"][-1]
    points = [(point["alpha"], point["recall_at_1"]) for point in curve]
    plot = alpha_plot(points, (found["alpha"], "now"), f"R@1 by the weight of {last}", f"alpha: weight of {last}")
    best = max(curve, key=lambda point: point["recall_at_1"])
    words = (
        f"R@1 with every mix of {' and '.join(found['views'])} on these mentions; best {percent(best['recall_at_1'])} "
        f"at {best['alpha']:.2f}. A weight chosen here is not to be measured here: ontolink tune chooses on other data."
    )
    rows = [[f"{point['alpha']:.2f}", percent(point["recall_at_1"])] for point in curve]
    return _figure("Weight in the fusion", words, plot, ["alpha", "R@1, %"], rows)


def numbers(header: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> str:
    """Lay plain texts out as a table whose first column names the row."""
    heads = "".join(f'<th scope="col">{escape(head)}</th>' for head in header)
    lines = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in row[1:])}</tr>\n'
        for row in rows
    )
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(caption)}"><table class="numbers">'
        f'<caption class="unseen">{escape(caption)}</caption>\n'
        f"<thead><tr>{heads}</tr></thead>\n<tbody>\n{lines}</tbody></table></div>\n"
    )


def _figure(title: str, words: str, plot: Plot, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return (
        f"<figure>\n<figcaption><h3>{escape(title)}</h3><p>{escape(words)}</p></figcaption>\n{plot.markup()}"
        f"<details><summary>Numbers</summary>\n{numbers(header, rows, title)}</details>\n</figure>\n"
    )


def _depths(measures: Measures) -> list[int]:
    return [int(key.removeprefix("recall_at_")) for key in measures if key.startswith("recall_at_")]


def _lows(measures: Measures) -> list[float]:
    return [bounds[0] for key, bounds in measures["intervals"].items() if bounds and key.startswith("recall_at_")]
