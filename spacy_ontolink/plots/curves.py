"""Curves that both tuning and evaluation show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .svg import Axis, Plot, percent_axis


def reliability_plot(bins: Sequence[Mapping[str, Any]], title: str) -> Plot:
    """Draw how often answers are right against how probable they were said to be; see ``metrics.reliability``."""
    plot = Plot(title, percent_axis("probability, %"), percent_axis("right, %", 0, 1.04))
    plot.line([(0, 0), (1, 1)], "diagonal")
    points = [(row["probability"], row["accuracy"]) for row in bins]
    titles = [
        f"{100 * row['from']:.0f} to {100 * row['to']:.0f} %: {row['n']:,} mentions, "
        f"{100 * row['accuracy']:.1f} % right"
        for row in bins
    ]
    plot.line(points, "thin")
    plot.dots(points, titles, [row["n"] / max(row["n"] for row in bins) for row in bins])
    return plot


def alpha_plot(points: Sequence[tuple[float, float]], mark: tuple[float, str], title: str, label: str) -> Plot:
    """Draw Recall@1 against the weight of the last view in the fusion, and mark one weight with a word."""
    points = sorted(points)
    values = [value for _, value in points]
    low, high = min(values), max(values)
    margin = max(0.01, 0.15 * (high - low))
    plot = Plot(
        title,
        Axis(label, 0, 1, [(n / 5, f"{n / 5:g}") for n in range(6)]),
        percent_axis("R@1, %", max(0.0, low - margin), min(1.0, high + margin)),
    )
    plot.rule(mark[0], f"{mark[1]} {mark[0]:.2f}")
    plot.line(points)
    plot.dots(points, [f"alpha {alpha:.2f}: {100 * value:.1f} %" for alpha, value in points])
    return plot
