"""The curves of tuning as PNG files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..errors import require
from .grids import Setting, Step

_SIZE = (5.0, 3.5)


def plot_tuning(folder: Path, steps: Sequence[Step], measures: dict[str, Any] | None) -> list[Path]:
    """Draw each step's curve, and the reliability of the probabilities, into a folder.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    require("matplotlib", "plots", "Drawing the curves")
    draw: dict[str, Callable[[Any, Step], None]] = {
        "retriever": _weights_and_pooling, "surface": _weights_and_pooling, "fusion": _alpha, "cascade": _cascade,
        "threshold": _threshold,
    }  # fmt: skip
    paths = []
    for step in steps:
        if step.name in draw and len(step.curve) > 1:
            figure, axes = _figure(1 + _weighed(step))
            draw[step.name](axes, step)
            figure.suptitle(f"{step.name}, {step.n:,} mentions")
            paths.append(_save(figure, folder / f"{step.name}.png"))
    if measures and measures["reliability"]:
        figure, axes = _figure(1)
        _reliability(axes, measures)
        paths.append(_save(figure, folder / "reliability.png"))
    return paths


def _figure(n: int) -> tuple[Any, Any]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_SIZE[0] * n, _SIZE[1]), layout="constrained")
    FigureCanvasAgg(figure)  # draws into memory: no screen and no global state
    return figure, figure.subplots(1, n)


def _save(figure: Any, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    return path


def _lines(axes: Any, points: Sequence[Setting], x: str, mark: Any, label: str | None = None, dots: str = ".") -> None:
    points = sorted(points, key=lambda point: point[x])
    axes.plot([point[x] for point in points], [point["value"] for point in points], marker=dots, label=label)
    if mark is not None:
        axes.axvline(mark, color="grey", linestyle=":", linewidth=1)


def _weighed(step: Step) -> bool:
    """Whether several mixes of the query were tried."""
    return len({tuple(point.get("weights", ())) for point in step.curve}) > 1


def _weights_and_pooling(axes: Any, step: Step) -> None:
    """Draw lambda at the weights chosen; beside it, the mention's weight at the lambda chosen, by the rest's mix."""
    chosen = step.after
    left, right = axes if _weighed(step) else (axes, None)
    here = [point for point in step.curve if point["weights"] == chosen["weights"]]
    _lines(left, here, "pooling", chosen["pooling"])
    left.set(xlabel="lambda", ylabel=step.measure)
    if right is None:
        return
    kinds: dict[str, Callable[[float, float], bool]] = {
        "standard name": lambda name, hypernym: not hypernym,
        "both": lambda name, hypernym: name == hypernym,
        "hypernym": lambda name, hypernym: not name,
    }
    for label, fits in kinds.items():
        here = [point for point in step.curve if point["pooling"] == chosen["pooling"] and fits(*point["weights"][1:])]
        _lines(right, [{"w": p["weights"][0], "value": p["value"]} for p in here], "w", chosen["weights"][0], label)
    right.set(xlabel="weight of the mention; the rest:")
    right.legend()


def _alpha(axes: Any, step: Step) -> None:
    _lines(axes, step.curve, "alpha", step.after["alpha"])
    axes.set(xlabel="alpha (0: names only, 1: context only)", ylabel=step.measure)


def _cascade(axes: Any, step: Step) -> None:
    _lines(axes, step.curve, "passed_over", None)
    axes.axhline(step.value_before, color="grey", linestyle=":", linewidth=1)
    axes.set(xlabel="share of mentions that the context stage passes over", ylabel=step.measure)


def _threshold(axes: Any, step: Step) -> None:
    _lines(axes, step.curve, "threshold", step.after["threshold"], step.measure, "")
    for key in ("precision", "answered"):
        points = [{"threshold": p["threshold"], "value": p[key]} for p in step.curve if p[key] is not None]
        _lines(axes, points, "threshold", None, key, "")
    axes.set(xlabel="threshold on the probability")
    axes.legend()


def _reliability(axes: Any, measures: dict[str, Any]) -> None:
    bins = measures["reliability"]
    axes.plot([0, 1], [0, 1], color="grey", linestyle=":", linewidth=1)
    axes.plot([row["probability"] for row in bins], [row["accuracy"] for row in bins], marker="o")
    for row in bins:
        axes.annotate(
            f"{row['n']:,}", (row["probability"], row["accuracy"]), textcoords="offset points", xytext=(4, -9)
        )
    title = f"expected calibration error {measures['expected_calibration_error']:.3f}"
    axes.set(xlabel="probability", ylabel="share that is right", title=title, xlim=(0, 1), ylim=(0, 1))
