"""The table of what each mechanism for wording gains."""

from __future__ import annotations

from typing import Any

from common import percent

NOTE = (
    "One mechanism switched off at a time, on training and development mentions. Gains are with less without, with 95"
    " % intervals of the paired bootstrap over documents. 'N-grams only' has nothing random in it. 'Lexical', the "
    "default, learns its projection from a random start, so what is done to words is a mean over two starts; R@1 "
    "differs from start to start by more than that gains, and the intervals do not tell of it. 'Ids' are shares of "
    "the gold ids of composite mentions that were given, and of these mentions with all of theirs given. Composite "
    "mentions stay off by default, since R@1 does not rise by them. BC5CDR's diseases are linked to MEDIC, those that"
    " it knows. Tried and left out, since they gained nothing or lost: plural endings cut off, small words left out, "
    "possessive endings left out, names that equal a mention but for spelling, order and plurals put first, a "
    "projection that starts from singular vectors, and one without the n-grams that no pair has."
)


def ablations(result: dict[str, Any]) -> list[str]:
    """Lay the gains out."""
    titles = ["mechanism", "encoder", "mentions", "n", "R@1 without", "with", "gain", "R@64 without", "with", "gain",
              "ids, without", "with"]  # fmt: skip
    lines = [f"| {' | '.join(titles)} |", "|---|---|---|" + "--:|" * 9]
    for row in result["rows"]:
        cells = [row["mechanism"], row["encoder"], row["set"], f"{row['n']:,}"]
        for depth in (1, 64):
            cells += _gain(row[f"recall_at_{depth}"])
        found = row.get("composite")
        cells += [_ids(found["without"]), _ids(found["with"])] if found else ["", ""]
        lines.append(f"| {' | '.join(cells)} |")
    spread = result["spread"]
    if not spread:
        return lines
    said = ", ".join(f"{name} {percent(low)} to {percent(high)}" for name, (low, high) in spread.items())
    return [*lines, "", f"R@1 of the default encoder as it is, from the worst start to the best: {said}."]


def _gain(found: dict[str, Any]) -> list[str]:
    low, high = found["interval"]
    gain = f"{100 * found['difference']:+.1f} ({100 * low:+.1f} to {100 * high:+.1f})"
    return [percent(found["there"]), percent(found["here"]), gain]


def _ids(found: dict[str, Any]) -> str:
    return f"{percent(found['id_recall'])}, all {percent(found['all_found'])}"
