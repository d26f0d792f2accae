"""An explanation as a page that opens without a network and runs nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

from ..components.spans import NIL
from .shell import write_shell
from .values import BESIDE, Candidate, Explanation, Neighbour, number

Link = Callable[[str], str]

SECTION = """<section class="{kind}">
<p class="quote" dir="auto">{left}<mark>{mention}</mark>{right}</p>
{beside}<div class="verdict">
<h2>{verdict}</h2>
{sentences}</div>
{table}</section>
"""


def write_page(
    path: Path, explanations: Sequence[Explanation], link: Link, *, title: str, footer: str = "", lang: str = "en"
) -> None:
    """Write a page of mentions one after another; ``link`` gives the web address of an id."""
    body = "".join(_section(one, link) for one in explanations)
    write_shell(path, body, title=title, style="explain.css", footer=footer, lang=lang)


def _section(one: Explanation, link: Link) -> str:
    beside = "".join(f"<div><dt>{BESIDE[kind]}</dt><dd>{escape(text)}</dd></div>\n" for kind, text in one.texts.items())
    sentences = [f"<p>{escape(sentence)}</p>\n" for sentence in one.reasons]
    sentences += [f'<p class="soft">{escape(sentence)}</p>\n' for sentence in one.notes]
    return SECTION.format(
        kind="linked" if one.linked else "nil",
        left=escape(one.left),
        mention=escape(one.mention),
        right=escape(one.right),
        beside=f'<dl class="beside">\n{beside}</dl>\n' if beside else "",
        verdict=_verdict(one, link),
        sentences="".join(sentences),
        table=_table(one, link) if one.candidates else "",
    )


def _verdict(one: Explanation, link: Link) -> str:
    if one.linked is None:
        return NIL if one.id == NIL else "not looked up"
    sure = one.linked.probability
    chance = "" if sure is None else f' <small class="soft chance">right with a probability of {sure:.3f}</small>'
    return f"{_anchor(one.linked.id, link)} {escape(one.linked.name)}{chance}"


def _table(one: Explanation, link: Link) -> str:
    heads = "".join(f'<th scope="col" class="score">{_view(one, view)}</th>' for view in one.views)
    rows = "".join(_row(one, candidate, link) for candidate in one.candidates)
    shown = f"{len(one.candidates)} of {one.n_pool} candidates; " if one.n_pool > len(one.candidates) else ""
    bars = "bars reach from the lowest to the highest score of all candidates"
    return (
        f'<table>\n<thead><tr><th class="rank" scope="col">#</th><th scope="col">id</th><th scope="col">candidate</th>'
        f'{heads}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n<p class="soft">{shown}{bars}</p>\n'
    )


def _view(one: Explanation, view: str) -> str:
    return escape(view) + (f" × {one.shares[view]:.2f}" if view in one.shares else "")


def _row(one: Explanation, candidate: Candidate, link: Link) -> str:
    scores = "".join(_score(one, candidate, view) for view in one.views)
    best = ' class="best"' if candidate.id == one.id else ""
    near = _near("parents", candidate.parents, candidate.n_parents, link)
    near += _near("children", candidate.children, candidate.n_children, link)
    matched = "" if candidate.matched == candidate.name else (
        f' <small class="soft">{escape(candidate.scope)}: {escape(candidate.matched)}</small>'
    )  # fmt: skip
    return (
        f'<tr{best}><td class="rank">{candidate.rank}</td><td class="id">{_anchor(candidate.id, link)}</td>'
        f'<td class="what"><span class="name">{escape(candidate.name)}</span>{matched}{near}</td>{scores}</tr>\n'
    )


def _score(one: Explanation, candidate: Candidate, view: str) -> str:
    score, (low, high) = candidate.scores[view], one.ranges[view]
    part = 0.0 if score is None else 1.0 if high <= low else (score - low) / (high - low)
    z = f' <small class="soft z">z {candidate.z[view]:+.2f}</small>' if view in candidate.z else ""
    bar = f'<span class="bar" aria-hidden="true"><i style="--width:{100 * part:.0f}%"></i></span>'
    return f'<td class="score" data-view="{_view(one, view)}">{number(score)}{z}{bar}</td>'


def _near(what: str, near: Sequence[Neighbour], total: int, link: Link) -> str:
    if not near:
        return ""
    names = "; ".join(f'<a href="{escape(link(one.id))}" rel="noreferrer">{escape(one.name)}</a>' for one in near)
    more = f"; {total - len(near)} more" if total > len(near) else ""
    return f'<small class="near soft">{what}: {names}{more}</small>'


def _anchor(id: str, link: Link) -> str:
    return f'<a href="{escape(link(id))}" rel="noreferrer">{escape(id)}</a>'
