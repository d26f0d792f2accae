"""What the short forms of a text stand for, those that follow from others included."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from .definitions import align, find_abbreviations, find_joint_abbreviations, is_short_form

_OPEN, _CLOSE = r"\s*[(\[（]\s*", r"\s*[)\]）]"


def long_forms(text: str) -> dict[str, str]:
    """Map each short form that the text defines to its long form; the first definition wins.

    From ``X-linked adrenoleukodystrophy (X-ALD)`` follows what ``ALD`` is, from ``tumors (MRTs)`` what ``MRT`` is, and
    in ``childhood cerebral ALD (CCALD)`` the short form is written out. What the text itself defines goes first.
    """
    forms: dict[str, str] = {}
    for found in find_abbreviations(text):
        forms.setdefault(found.short, found.long)
    for short, long in find_joint_abbreviations(text):
        forms.setdefault(short, long)
    for short, long in list(forms.items()):
        for derived, meaning in _derived(short, long):
            forms.setdefault(derived, meaning)
    return {short: _written_out(short, long, forms) for short, long in forms.items()}


def expand(mention: str, forms: Mapping[str, str]) -> str | None:
    """Write out each short form that is a word (or its plural) of ``mention``; None if there is none.

    Beside its long form it is left out, with its brackets: ``growth hormone (GH) deficiency``.
    """
    if mention in forms:
        return forms[mention]
    expanded = mention
    for short, long in forms.items():
        if short not in mention:
            continue
        if long in mention:
            expanded = re.sub(rf"{_OPEN}{re.escape(short)}{_CLOSE}", "", expanded)
        else:
            expanded = re.sub(rf"(?<!\w){re.escape(short)}s?(?!\w)", lambda _, long=long: long, expanded)  # type: ignore[misc]
    return None if expanded == mention or not expanded.strip() else expanded


def _written_out(short: str, long: str, forms: Mapping[str, str]) -> str:
    """Write out the short forms in a long form, but for its own."""
    return (
        expand(long, {other: meaning for other, meaning in forms.items() if other != short and other in long}) or long
    )


def _derived(short: str, long: str) -> Iterator[tuple[str, str]]:
    """Yield short forms that a definition implies: the singular, and what the pieces around a hyphen stand for."""
    if short[-1] == "s" and short[:-1].isupper():
        yield short[:-1], long
    first, _, second = short.partition("-")
    at = align(second, long) if is_short_form(second) else None
    if at:
        yield second, long[at:]
        head = long[:at].rstrip(" -")
        if is_short_form(first) and align(first, head) == 0:
            yield first, head
