"""What people see on standard error while they wait; standard output is for results only."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import typer

from ..text import printable

if TYPE_CHECKING:
    from rich.console import Console

Item = TypeVar("Item")
LOG_EVERY = 30.0
"""Seconds between lines of progress where there is no terminal."""


def say(text: str) -> None:
    """Print lines to standard error."""
    typer.echo(printable(text, keep="\n"), err=True)


@contextmanager
def step(doing: str) -> Iterator[None]:
    """Show a spinner and the time while the block runs, and how long it took when it is done."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    start = time.perf_counter()
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=_console(), transient=True, disable=not sys.stderr.isatty()) as progress:
        progress.add_task(doing)
        yield
    say(f"{doing}: {seconds(time.perf_counter() - start)}")


@contextmanager
def bar(doing: str) -> Iterator[Callable[[int, int], None]]:
    """Show a bar while the block runs, and yield what moves it: a function of the number done and the number in all."""
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    start = time.perf_counter()
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeElapsedColumn(),
               TimeRemainingColumn())  # fmt: skip
    with Progress(*columns, console=_console(), transient=True, disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task(doing, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
    say(f"{doing}: {seconds(time.perf_counter() - start)}")


def track(items: Iterable[Item], doing: str, total: int | None = None) -> Iterator[Item]:
    """Show a bar (a counter where the total is unknown) while items pass."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
               TimeRemainingColumn())  # fmt: skip
    with Progress(*columns, console=_console(), transient=True, disable=not sys.stderr.isatty()) as progress:
        yield from progress.track(items, total=total, description=doing)


@contextmanager
def meter(doing: str, unit: str) -> Iterator[Callable[[int, int, int], None]]:
    """Show rate and time left while the block runs: a bar on a terminal, else a line now and then, for logs.

    Yields what is to be called with the number done, the number in all, and the number done before the block began.
    """
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    start = shown = time.monotonic()
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=_console(), transient=True, disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task(doing, total=None)

        def report(done: int, total: int, before: int) -> None:
            nonlocal shown
            now = time.monotonic()
            rate = (done - before) / max(now - start, 1e-9)
            text = f"{doing}: {done:,} of {total:,} {unit}"
            if rate:
                text += f", {rate:,.1f} per second, {seconds((total - done) / rate)} left"
            progress.update(task, completed=done, total=total, description=text)
            if progress.disable and now - shown >= LOG_EVERY:
                shown = now
                say(text)

        yield report


def seconds(duration: float) -> str:
    """Write a duration for people."""
    if duration >= 2 * 3600:
        return f"{int(duration // 3600)} h {duration % 3600 / 60:.0f} min"
    return f"{duration:.1f} s" if duration < 90 else f"{int(duration // 60)} min {duration % 60:.0f} s"


def size_of(path: Path) -> str:
    """Write the size of a folder for people."""
    size = float(sum(file.stat().st_size for file in path.rglob("*") if file.is_file()))
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def count(number: int, noun: str, plural: str = "") -> str:
    """Write a number with its noun: ``1 mention``, ``1,200 entities``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def _console() -> Console:
    from rich.console import Console

    return Console(stderr=True)
