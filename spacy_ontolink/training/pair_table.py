"""The report of pseudo-labelling for people: a line for each part of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from ..text import percent as share

SKIPPED = {
    "blank_mentions": "blank mentions",
    "entities_without_definition": "entities not asked about for want of a definition",
    "entities_without_answer": "entities that the language model failed on (another run asks again)",
    "entities_not_asked": "entities not asked about, since the language model gave up (another run asks)",
    "answers_without_alias": "answers without a usable alias",
    "outdated_answers": "answers left out, as the name or definition that they rest on has changed",
    "aliases_of_unknown_entities": "aliases of entities that the ontology does not have",
    "mentions_that_fit_nothing": "mentions that fit nothing that this setting pairs with",
    "ambiguous_mentions": "mentions that fit several entities",
}
"""What may be skipped, in the words of the table."""


def table(report: Mapping[str, Any]) -> str:
    """Lay a report out; nothing that is missing from it is shown as a zero."""
    return "\n".join(f"{title:<10}{text}" for title, text in _rows(report))


def skipped(report: Mapping[str, Any]) -> list[str]:
    """Say what was skipped and why."""
    return [f"{SKIPPED[reason]}: {number:,}" for reason, number in report["skipped"].items() if number]


percent = partial(share, unit=" %")


def _rows(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    found = report["mentions"]
    gold = f"; {found['with_gold']:,} with gold ids" if found["with_gold"] else ""
    yield (
        "Mentions",
        (
            f"{found['total']:,} ({found['found_by']}) in {found['documents']:,} document(s), {found['distinct']:,} "
            f"distinct{gold}"
        ),
    )
    if selection := report.get("selection"):
        yield "Selected", _selected(selection)
    if llm := report.get("llm"):
        yield from _costs(llm)
    if aliases := report.get("aliases"):
        yield "Aliases", _aliases(aliases)
    made = report["pairs"]
    sources = ", ".join(f"{name} {number:,}" for name, number in made["by_source"].items())
    yield (
        "Pairs",
        (
            f"{made['total']:,} ({sources}) of {made['mentions']:,} mention(s), {percent(made['share_of_mentions'])}, "
            f"with {made['entities']:,} entities; a mention that fits several: {report['ambiguous']}"
        ),
    )
    if accuracy := report.get("accuracy"):
        parts = ", ".join(f"{name} {percent(part['accuracy'])}" for name, part in accuracy["by_source"].items())
        yield "Accuracy", f"{percent(accuracy['accuracy'])} of {accuracy['judged']:,} pairs with gold ids ({parts})"
    if effect := report.get("filter_effect"):
        parts = ", ".join(
            f"{when} {side['pairs']:,} pairs"
            + (f", {percent(side['accuracy']['accuracy'])} right" if side["accuracy"] else "")
            for when, side in effect.items()
        )
        yield "Filter", f"name or alias: {parts}"
    for line in skipped(report):
        yield "Skipped", line


def _selected(selection: Mapping[str, Any]) -> str:
    return (
        f"{selection['by_name']:,} entities by name ({percent(selection['by_name_share'])}), "
        f"{selection['by_retrieval']:,} by the retriever ({percent(selection['by_retrieval_share'])}), together "
        f"{selection['selected']:,} of {selection['entities']:,} ({percent(selection['selected_share'])})"
    )


def _costs(llm: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    each = llm["one_call_per_mention"]
    tokens = "–" if each["input_tokens"] is None else f"about {each['input_tokens']:,}"
    read = "–" if llm["input_tokens"] is None else f"{llm['input_tokens']:,}"
    yield (
        "Calls",
        (
            f"{llm['calls']:,} answered, {llm['failed']:,} failed, {read} input tokens; with one call "
            f"per mention {each['calls']:,} and {tokens} ({each['how']})"
        ),
    )


def _aliases(aliases: Mapping[str, Any]) -> str:
    kinds, against = aliases["equal_to"]["all"], aliases["failed_condition"]
    return (
        f"{kinds['n']:,} of {aliases['entities']:,} entities: {percent(kinds['name']['share'])} equal the name, "
        f"{percent(kinds['synonym']['share'])} a curated synonym, {percent(kinds['new']['share'])} are new; the filter "
        f"kept {percent(aliases['retained_share'])} of {aliases['total']:,} ({against['anchor']:,} too far from the "
        f"name, {against['drift']:,} nearer to a neighbour, {against['both']:,} are both)"
    )
