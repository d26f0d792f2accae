"""The measures of a run, laid out for a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..text import percent

_MOST_GROUPS = 12
"""Labels or namespaces that are shown; the JSON and the page have all."""


def table(measures: Mapping[str, Any]) -> str:
    """Lay the measures out: all mentions, parts of them, NIL, a comparison, then what was odd."""
    from ..report.evaluation_words import has_nil, measure_keys, notes

    lines = _recall(measures, measure_keys(measures))
    if has_nil(measures):
        lines += _nil(measures["nil"])
    if found := measures["calibration"]:
        lines.append(
            f"expected calibration error {found['expected_calibration_error']:.3f}, Brier score {found['brier']:.3f}"
        )
    if found := measures["composite"]:
        shares = [percent(found[key]) for key in ("id_precision", "id_recall", "all_found")]
        lines.append(
            "composite mentions: {:,}; ids given {} % right, {} % of theirs found, all of them of {} %".format(
                found["n"], *shares
            )
        )
    if "comparison" in measures:
        lines += _comparison(measures["comparison"])
    return "\n".join([*lines, *notes(measures), f"{measures['mentions_per_second']:,} mentions per second"])


def _recall(measures: Mapping[str, Any], columns: list[str]) -> list[str]:
    from ..report.evaluation_words import about_intervals, short

    groups = {f"  {name}": row for name, row in measures["by_overlap"].items()}
    for title, key in (("label", "by_label"), ("of", "by_namespace")):
        shown = [(name, row) for name, row in measures[key].items() if row["n"]][:_MOST_GROUPS]
        if len(shown) > 1:
            groups |= {f"  {title} {name or '(none)'}"[:28]: row for name, row in shown}
    width = max(map(len, ["all", *groups])) + 1
    lines = [f"{'':{width}}{'n':>7}" + "".join(f"{short(key):>8}" for key in columns)]
    for name, row in {"all": measures, **groups}.items():
        values = ["      –" if row[key] is None else f"{100 * row[key]:7.1f}" for key in columns]
        lines.append(f"{name:{width}}{row['n']:>7,}" + "".join(f" {value}" for value in values))
    if None not in (bounds := [measures["intervals"][key] for key in columns]):
        lines[2:2] = [
            f"{what:{width}}{'':7}" + "".join(f" {100 * own[side]:7.1f}" for own in bounds)
            for side, what in enumerate(("  from", "  to"))
        ]
        lines.append(f"from, to: {about_intervals(measures['resampling'])}")
    return lines


def _nil(nil: Mapping[str, Any]) -> list[str]:
    keys = ("nil_precision", "nil_recall", "accuracy")
    show = {key: "–" if nil[key] is None else f"{100 * nil[key]:.1f}" for key in keys}
    return [
        f"NIL: {nil['n_nil']:,} of {nil['n']:,} mentions have no known entity, {nil['n_said_nil']:,} were not linked; "
        f"precision {show['nil_precision']}, recall {show['nil_recall']}, accuracy with NIL {show['accuracy']}"
    ]


def _comparison(found: Mapping[str, Any]) -> list[str]:
    from ..report.evaluation_words import COMPARED, about_comparison, compared

    cells = [COMPARED, *compared(found)]
    first, *widths = [max(map(len, column)) + 2 for column in zip(*cells, strict=True)]
    rows = [
        f"{row[0]:{first}}" + "".join(f"{cell:>{width}}" for cell, width in zip(row[1:], widths, strict=True))
        for row in cells
    ]
    return [f"beside {found['with']} ({found['file']}), {found['n']:,} mentions:", *rows, *about_comparison(found)]
