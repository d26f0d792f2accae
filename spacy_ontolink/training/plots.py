"""The curves of tuning as SVG files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ..plots import Axis, Plot, alpha_plot, marks, percent_axis, reliability_plot
from .grids import Setting, Step

Points = list[tuple[float, float]]


def plot_tuning(folder: Path, steps: Sequence[Step], measures: dict[str, Any] | None) -> list[Path]:
    """Draw each step's curve, and the reliability of the probabilities, into a folder."""
    draw: dict[str, Callable[[Step], Iterator[tuple[str, Plot]]]] = {
        "retriever": _weights_and_pooling, "surface": _weights_and_pooling, "fusion": _alpha, "cascade": _cascade,
        "threshold": _threshold,
    }  # fmt: skip
    drawn = [step for step in steps if step.name in draw and len(step.curve) > 1]
    plots = [found for step in drawn for found in draw[step.name](step)]
    if measures and measures["reliability"]:
        title = f"expected calibration error {measures['expected_calibration_error']:.3f}"
        plots.append(("reliability", reliability_plot(measures["reliability"], title)))
    for name, plot in plots:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.svg").write_text(plot.file(), encoding="utf-8")
    return [folder / f"{name}.svg" for name, _ in plots]


def _title(step: Step) -> str:
    return f"{step.name}, {step.n:,} mentions"


def _plot(step: Step, lines: dict[str, Points], x: str, legend: dict[str, str] | None = None) -> Plot:
    """Draw lines of shares, each a kind, on axes that hold them all."""
    points = [point for line in lines.values() for point in line]
    low, high = min(value for _, value in points), max(value for _, value in points)
    margin = max(0.01, 0.1 * (high - low))
    left, right = min(at for at, _ in points), max(at for at, _ in points)
    right = right if right > left else left + 1
    axis = Axis(x, left, right, [(mark, f"{mark:.2g}") for mark in marks(left, right)])
    measure = step.measure.replace("recall_at_", "R@")
    y = percent_axis(f"{measure}, %" if legend is None else "%", max(0, low - margin), min(1, high + margin))
    plot = Plot(_title(step), axis, y, legend or {})
    for kind, line in lines.items():
        plot.line(sorted(line), kind)
    return plot


def _points(curve: Sequence[Setting], x: str, y: str = "value") -> Points:
    return [(float(point[x]), float(point[y])) for point in curve if point[y] is not None]


def _weights_and_pooling(step: Step) -> Iterator[tuple[str, Plot]]:
    """Draw lambda at the weights chosen; then the mention's weight at the lambda chosen, by the mix of the rest."""
    chosen = step.after
    here = [point for point in step.curve if point["weights"] == chosen["weights"]]
    plot = _plot(step, {"series": _points(here, "pooling")}, "lambda")
    plot.rule(chosen["pooling"], "chosen")
    yield step.name, plot
    if len({tuple(point["weights"]) for point in step.curve}) == 1:
        return
    kinds: dict[str, tuple[str, Callable[[float, float], bool]]] = {
        "series": ("standard name", lambda name, hypernym: not hypernym),
        "second": ("both", lambda name, hypernym: name == hypernym),
        "third": ("hypernym", lambda name, hypernym: not name),
    }
    lines = {
        kind: [(point["weights"][0], point["value"]) for point in step.curve
               if point["pooling"] == chosen["pooling"] and fits(*point["weights"][1:])]
        for kind, (_, fits) in kinds.items()
    }  # fmt: skip
    legend = {kind: words for kind, (words, _) in kinds.items()}
    plot = _plot(step, {kind: line for kind, line in lines.items() if line}, "weight of the mention; the rest:", legend)
    plot.rule(chosen["weights"][0], "chosen")
    yield f"{step.name}-weights", plot


def _alpha(step: Step) -> Iterator[tuple[str, Plot]]:
    label = "alpha (0: names only, 1: context only)"
    yield step.name, alpha_plot(_points(step.curve, "alpha"), (step.after["alpha"], "chosen"), _title(step), label)


def _cascade(step: Step) -> Iterator[tuple[str, Plot]]:
    plot = _plot(step, {"series": _points(step.curve, "passed_over")}, "share that the context stage passes over")
    if step.value_before is not None:
        plot.level(step.value_before)
    yield step.name, plot


def _threshold(step: Step) -> Iterator[tuple[str, Plot]]:
    keys = {"series": ("value", step.measure), "second": ("precision", "precision"), "third": ("answered", "answered")}
    lines = {kind: _points(step.curve, "threshold", key) for kind, (key, _) in keys.items()}
    legend = {kind: words for kind, (_, words) in keys.items()}
    plot = _plot(step, {kind: line for kind, line in lines.items() if line}, "threshold on the probability", legend)
    if step.after["threshold"] is not None:
        plot.rule(step.after["threshold"], "chosen")
    yield step.name, plot
