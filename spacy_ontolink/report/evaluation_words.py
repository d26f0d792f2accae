"""What is said of a run, in a terminal and on a page alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..text import percent

Measures = Mapping[str, Any]

NOTES = {
    "n_without_gold": "mention(s) without gold id, which count in the figures for NIL only",
    "n_unknown_gold": "mention(s) with unknown gold ids only, counted as wrong, and for NIL as without an entity",
    "gold_ids_resolved": "gold id(s) brought up to date (alt ids and replacements){resolved}",
    "gold_ids_unknown": "gold id(s) unknown to the knowledge base{unknown}",
    "n_not_looked_up": "mention(s) not looked up, by their label or because they are blank, counted as not linked",
    "mentions_without_token": "mention(s) that cover no token, counted as not linked",
    "mentions_widened": "mention(s) widened to whole tokens",
}
NONE_KNOWN = "No mention has a gold id that the knowledge base knows: only the figures for NIL say anything"
COMPARED = ("", "there", "here", "difference", "interval", "p")
"""The columns of ``compared``."""


def measure_keys(measures: Measures) -> list[str]:
    """Return the names of the measures of a ranking, in order."""
    return [key for key in measures if key.startswith("recall_at_")] + ["mrr"]


def short(key: str) -> str:
    """Return a measure's usual short name."""
    return {"mrr": "MRR", "accuracy": "accuracy with NIL"}.get(key, key.replace("recall_at_", "R@"))


def between(bounds: Sequence[float] | None) -> str:
    """Write an interval in percent; "" for none."""
    return f"{percent(bounds[0])}–{percent(bounds[1])}" if bounds else ""


def notes(measures: Measures) -> list[str]:
    """Say what was odd about the data, with a few ids."""
    examples = {kind: _examples(found) for kind, found in measures["examples"].items()}
    found = [f"{measures[key]:,} {text.format(**examples)}" for key, text in NOTES.items() if measures[key]]
    return found if measures["n"] > measures["n_unknown_gold"] else [NONE_KNOWN, *found]


def has_nil(measures: Measures) -> bool:
    """Whether any mention has no entity, or was not linked."""
    return bool(measures["nil"]["n_nil"] or measures["nil"]["n_said_nil"])


def about_intervals(facts: Mapping[str, Any]) -> str:
    """Say how intervals were made."""
    return (
        f"{facts['level']:.0%} intervals by the bootstrap: {facts['resamples']:,} draws of {facts['units']:,} "
        f"{facts['unit']}s, seed {facts['seed']}"
    )


def compared(found: Mapping[str, Any]) -> list[list[str]]:
    """Lay a comparison out by measure, see ``COMPARED``."""
    rows = []
    for key in [*measure_keys(found), "accuracy"]:
        own = found[key]
        if own["difference"] is not None:
            bounds = own["interval"]
            interval = f"{100 * bounds[0]:+.1f} to {100 * bounds[1]:+.1f}" if bounds else "–"
            gain = f"{100 * own['difference']:+.1f}"
            rows.append([short(key), percent(own["there"]), percent(own["here"]), gain, interval, p(own["p_value"])])
    return rows


def about_comparison(found: Mapping[str, Any]) -> list[str]:
    """Say which tests were made, in sentences."""
    test, unit = found["mcnemar"], found["resampling"]["unit"]
    value = p(test["p_value"])
    return [
        f"The first candidate is right only here for {test['only_here']:,} mentions, only there for "
        f"{test['only_there']:,} (McNemar's exact test, by mention: p {value if value[0] == '<' else f'= {value}'}).",
        f"Intervals of the difference: paired bootstrap; p: paired permutation test, two-sided; both by {unit}.",
    ]


def p(value: float) -> str:
    """Write a p-value."""
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def _examples(found: Sequence[Any]) -> str:
    named = ", ".join(one if isinstance(one, str) else " -> ".join(one) for one in found)
    return f", such as {named}" if named else ""
