"""Small plots as SVG, in a page or in files of their own; colours come from a style sheet, and suit light and dark."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from importlib.resources import files

WIDTH, HEIGHT = 420, 270
LEFT, RIGHT, TOP, BOTTOM = 46, 12, 12, 44
_ROW = 20
"""The height of a title, and of a legend."""
_RADIUS, _REACH = 3.2, 8.0
"""Of the smallest dot, and of what the pointer may meet of it at least."""

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis: its label, its ends, and where it is marked with what.

    Attributes:
        log: Whether equal ratios are equally far apart.
    """

    label: str
    low: float
    high: float
    ticks: Sequence[tuple[float, str]]
    log: bool = False

    def share(self, value: float) -> float:
        """Return where a value lies between the ends, from 0 to 1."""
        value = min(max(value, self.low), self.high)
        low, high = (math.log(self.low), math.log(self.high)) if self.log else (self.low, self.high)
        return ((math.log(value) if self.log else value) - low) / (high - low)


def marks(low: float, high: float) -> list[float]:
    """Return about five round numbers between two."""
    step = next((s for s in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5) if (high - low) / s <= 6), 1.0)
    return [n * step for n in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def percent_axis(label: str, low: float = 0.0, high: float = 1.0) -> Axis:
    """Return an axis of shares, marked in percent."""
    return Axis(label, low, high, [(mark, f"{100 * mark:.0f}") for mark in marks(low, high)])


@dataclass
class Plot:
    """A plot under construction, on two axes.

    Attributes:
        title: What it shows, for those who cannot see it, and in a file of its own for all.
        legend: What lines of a kind are, if there are several: ``series``, ``second``, ``third``.
    """

    title: str
    x: Axis
    y: Axis
    legend: Mapping[str, str] = field(default_factory=dict)
    _parts: list[str] = field(default_factory=list)

    def line(self, points: Sequence[Point], kind: str = "series") -> None:
        """Join points by a line."""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (self._place(*point) for point in points))
        self._parts.append(f'<polyline class="{kind}" points="{path}"/>')

    def dots(self, points: Sequence[Point], titles: Sequence[str], sizes: Sequence[float] = ()) -> None:
        """Draw dots that tell their numbers; ``sizes``, from 0 to 1, are their areas."""
        for (x, y), title, size in zip(points, titles, sizes or [0.0] * len(points), strict=True):
            left, top = self._place(x, y)
            radius, where = _RADIUS + _REACH * math.sqrt(size), f'cx="{left:.1f}" cy="{top:.1f}"'
            self._parts.append(
                f'<g class="dot"><title>{escape(title)}</title><circle class="reach" {where} '
                f'r="{max(_REACH, radius):.1f}"/><circle {where} r="{radius:.1f}"/></g>'
            )

    def bar(self, x: float, value: float, width: float, kind: str, title: str) -> None:
        """Stand a bar on the axis, ``width`` wide in the units of x."""
        left, top = self._place(x - width / 2, value)
        right, base = self._place(x + width / 2, self.y.low)
        self._parts.append(
            f'<rect class="{kind}" x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" '
            f'height="{max(base - top, 0):.1f}"><title>{escape(title)}</title></rect>'
        )

    def whisker(self, x: float, low: float, high: float) -> None:
        """Draw an interval."""
        (left, bottom), (_, top) = self._place(x, low), self._place(x, high)
        self._parts.append(
            f'<path class="whisker" d="M{left:.1f} {bottom:.1f}V{top:.1f}M{left - 4:.1f} {bottom:.1f}h8'
            f'M{left - 4:.1f} {top:.1f}h8"/>'
        )

    def rule(self, x: float, label: str) -> None:
        """Mark a place on the x axis with an upright line."""
        left, _ = self._place(x, self.y.low)
        anchor = "end" if self.x.share(x) > 0.6 else "start"
        shift = -5 if anchor == "end" else 5
        self._parts.append(
            f'<path class="rule" d="M{left:.1f} {self._top}V{HEIGHT - BOTTOM}"/>'
            f'<text x="{left + shift:.1f}" y="{HEIGHT - BOTTOM - 8}" text-anchor="{anchor}">{escape(label)}</text>'
        )

    def level(self, y: float) -> None:
        """Mark a place on the y axis with a line across."""
        _, top = self._place(self.x.low, y)
        self._parts.append(f'<path class="rule" d="M{LEFT} {top:.1f}H{WIDTH - RIGHT}"/>')

    def markup(self) -> str:
        """Return the plot for a page that has the style sheet."""
        head = f'<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(self.title)}">'
        return f"{head}\n{self._grid()}{''.join(self._parts)}{self._key()}</svg>\n"

    def file(self) -> str:
        """Return the plot as a file of its own, with its title and the style sheet."""
        size = f'viewBox="0 {-_ROW} {WIDTH} {HEIGHT + _ROW}" width="{2 * WIDTH}"'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="plot" {size}>\n<style>\n{stylesheet()}</style>\n'
            f'<rect class="paper" y="{-_ROW}" width="{WIDTH}" height="{HEIGHT + _ROW}"/>\n'
            f'<text class="title" x="{LEFT}" y="0">{escape(self.title)}</text>\n'
            f"{self._grid()}{''.join(self._parts)}{self._key()}</svg>\n"
        )

    @property
    def _top(self) -> int:
        return TOP + (_ROW if self.legend else 0)

    def _key(self) -> str:
        """Return the legend, in a row above the plot."""
        parts, left = [], LEFT
        for kind, words in self.legend.items():
            parts.append(f'<polyline class="{kind}" points="{left},{TOP} {left + 18},{TOP}"/>')
            parts.append(f'<text x="{left + 23}" y="{TOP + 4}">{escape(words)}</text>')
            left += 40 + 7 * len(words)
        return "".join(parts)

    def _grid(self) -> str:
        right, base = WIDTH - RIGHT, HEIGHT - BOTTOM
        parts = [f'<path class="axis" d="M{LEFT} {base}H{right}"/>']
        for value, words in self.y.ticks:
            _, top = self._place(self.x.low, value)
            parts.append(f'<path class="grid" d="M{LEFT} {top:.1f}H{right}"/>')
            parts.append(f'<text x="{LEFT - 7}" y="{top + 4:.1f}" text-anchor="end">{escape(words)}</text>')
        for value, words in self.x.ticks:
            left, _ = self._place(value, self.y.low)
            parts.append(f'<text x="{left:.1f}" y="{base + 16}" text-anchor="middle">{escape(words)}</text>')
        middle, centre = (LEFT + right) / 2, (self._top + base) / 2
        parts.append(f'<text class="label" x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">{escape(self.x.label)}'
                     f'</text><text class="label" transform="translate(12 {centre}) rotate(-90)" text-anchor="middle">'
                     f"{escape(self.y.label)}</text>")  # fmt: skip
        return "".join(parts) + "\n"

    def _place(self, x: float, y: float) -> Point:
        """Return the place of a point in the drawing."""
        across, up = self.x.share(x), self.y.share(y)
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - self._top - BOTTOM)


@cache
def stylesheet() -> str:
    """Return the colours of light and dark, and the rules for plots."""
    folder = files(__package__)
    return "".join((folder / name).read_text("utf-8") for name in ("colours.css", "plot.css"))
