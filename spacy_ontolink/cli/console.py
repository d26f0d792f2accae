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


def seconds(duration: float) -> str:
    """Write a duration for people."""
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
