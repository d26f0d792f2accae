"""An explanation for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..text import printable
from .values import BESIDE, Candidate, Explanation, Neighbour, number

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

CONTEXT = 200
"""Most characters of the text that are shown to either side of the mention."""


def show(explanation: Explanation, console: Console) -> None:
    """Print the mention in its text, what was looked up beside it, its candidates, and why."""
    from rich.text import Text

    left, right = printable(explanation.left), printable(explanation.right)
    left, right = (
        ("…" if len(left) > CONTEXT else "") + left[-CONTEXT:],
        right[:CONTEXT] + ("…" * (len(right) > CONTEXT)),
    )
    console.print(Text.assemble(left, (f"[[{printable(explanation.mention)}]]", "bold"), right))
    for kind, text in explanation.texts.items():
        console.print(Text.assemble((f"{BESIDE[kind]}: ", "dim"), printable(text)))
    if explanation.candidates:
        console.print(_table(explanation))
        if explanation.n_pool > len(explanation.candidates):
            console.print(Text(f"{len(explanation.candidates)} of {explanation.n_pool} candidates", "dim"))
    for sentence in explanation.reasons:
        console.print(Text(printable(sentence)))
    for sentence in explanation.notes:
        console.print(Text(printable(sentence), "dim"))


def _table(explanation: Explanation) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_lines=False, pad_edge=False)
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("candidate", overflow="fold")
    for view in explanation.views:
        share = explanation.shares.get(view)
        table.add_column(view if share is None else f"{view}\n× {share:.2f}", justify="right", no_wrap=True)
    for candidate in explanation.candidates:
        scores = [_score(candidate, view) for view in explanation.views]
        style = "bold" if candidate.id == explanation.id else ""
        table.add_row(str(candidate.rank), _described(candidate, style), *scores)
    return table


def _score(candidate: Candidate, view: str) -> str:
    """A score, below it the z-score, and below the score that decided the probability."""
    lines = [number(candidate.scores[view])]
    if view in candidate.z:
        lines.append(f"z {candidate.z[view]:+.2f}")
    if candidate.probability is not None and view == list(candidate.scores)[-1]:
        lines.append(f"p {candidate.probability:.3f}")
    return "\n".join(lines)


def _described(candidate: Candidate, style: str) -> Text:
    from rich.text import Text

    lines: list[tuple[str, str]] = [(f"{printable(candidate.id)}  {printable(candidate.name)}", style)]
    if candidate.matched != candidate.name:
        lines.append((f"\n{candidate.scope}: {printable(candidate.matched)}", ""))
    for what, near, total in (
        ("parents", candidate.parents, candidate.n_parents),
        ("children", candidate.children, candidate.n_children),
    ):
        if near:
            lines.append((f"\n{what}: {_names(near, total)}", "dim"))
    return Text.assemble(*lines)


def _names(near: Sequence[Neighbour], total: int) -> str:
    more = f"; {total - len(near)} more" if total > len(near) else ""
    return printable("; ".join(neighbour.name for neighbour in near)) + more
