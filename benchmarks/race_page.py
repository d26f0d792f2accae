"""The section of docs/benchmarks.md on the race against the peers: tables of what race.py measured."""

from __future__ import annotations

import math
from typing import Any

from common import percent
from racing import IN_DOCUMENTS, SURFACE

Rows = list[dict[str, Any]]
AHEAD, LEVEL, BEHIND = "ahead", "level", "behind"
OURS = "ontolink "
VERDICTS = f"{AHEAD} / {LEVEL} / {BEHIND}"
LEAST = 0.001  # CPU-seconds that the clock can tell
DENSE = ("MiniLM, exact",)
NOTE = """Every method gets the same names and the same mentions, in a process and an environment of its own, and gives
64 entities back; a file for each is in `benchmarks/racing/peers/`. Mentions are looked up by their text alone, each
distinct text once; "in documents" are the ways to read the text around them, ours and scispaCy's, with long forms in
place of abbreviations. Nobody gets the hierarchy, so that the default encoder learns from synonyms alone.
hpo_synonyms: a fifth of HPO's EXACT synonyms, taken out of it. `ontolink lexical` is the default; the hybrid adds
MiniLM, aligned with the ontology's synonyms. "+ surface" has `ontolink_surface_rerank` after it: it opens what was
built, learns of words (counted as build) and ranks the same 64 anew, so that R@64 stays. All is as shipped: scispaCy's
index (built by 60 threads, all counted) and Gilda's normalisation. scispaCy is given three names to search for each
entity wanted, other searches by names eight.

Build and search are CPU-seconds of all threads, reading files and importing libraries left out; the fastest of up to
three searches counts. Memory is the most that the process held, libraries included. Ratios are to the one of ours that
searches alike, `ontolink lexical`, for MiniLM `ontolink hybrid, MiniLM`; above 1, ours is faster. Over sets they are
geometric means. Differences are ours (the same one) less the peer's, in points, with the 95 % interval of a paired
bootstrap that draws whole documents; in the sets without documents, each mention is one.

All methods ran one after the other, those with surface after all others, in a run of their own, and the machine did
other work meanwhile: take ratios of time as rough. Ours on bc5cdr were measured before inverted lists were added up
in whole numbers. A method that a set's table lacks was not run on it, for want of time. Not raced: xMEN, whose
n-grams are scispaCy's code; QuickUMLS, which reads UMLS files only, and whose matcher is SimString; text2term,
PolyFuzz and string-grouper, TF-IDF of character n-grams like the row that is there; MedCAT, which finds its own
mentions; SapBERT, KRISSBERT and zshot, whose weights could not be had; spaCy's own linker, which needs annotated
data."""


def counterpart(method: str, surface: str = "") -> str:
    """Return which of ours searches in the same way as a peer."""
    where = IN_DOCUMENTS if IN_DOCUMENTS in method else ""
    return f"{OURS}{'hybrid, MiniLM' if method in DENSE else 'lexical'}{surface}{where}"


def met(rows: Rows, method: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return the rows of the peers that one of ours met, reading as much as they do, each with the differences."""
    return [
        (row, row["ours_minus_this"][method])
        for row in rows
        if method in row.get("ours_minus_this", {}) and (IN_DOCUMENTS in method) == (IN_DOCUMENTS in row["method"])
    ]


def verdict(difference: dict[str, float]) -> str:
    """Say whether ours is ahead by more than the interval, behind by more, or neither."""
    return AHEAD if difference["low"] > 0 else BEHIND if difference["high"] < 0 else LEVEL


def race(result: dict[str, Any]) -> list[str]:
    """Lay out how often each of ours is ahead of a peer, and where one is behind; then a table for each set."""
    rows = result["rows"]
    sets: dict[str, Rows] = {}
    for row in rows:
        sets.setdefault(row["set"], []).append(row)
    lines = [f"A build or a search of more than {result['limit']:,} CPU-seconds is over the limit.", ""]
    lines += [*summary(rows), "", *by_peer(rows), "", *lost(rows)]
    for name, of_set in sets.items():
        first = of_set[0]
        sizes = f"{first['n_names']:,} names; {first['n']:,} mentions, {first['n_texts']:,} distinct"
        lines += ["", f"**{name}**: {sizes}", ""]
        heads = ["method", "build, CPU-s", "build, ratio", "memory, MB", "mentions per CPU-s", "search, ratio", "R@1",
                 "R@64", "R@1, ours less theirs", "R@64, ours less theirs"]  # fmt: skip
        lines += [f"| {' | '.join(heads)} |", "|---|" + "--:|" * 9]
        known = {row["method"]: row for row in of_set}
        lines += [f"| {' | '.join(cells(row, known))} |" for row in of_set]
    versions = {package: version for row in rows for package, version in row["versions"].items()}
    return [
        *lines,
        "",
        "Versions: " + ", ".join(f"{package} {versions[package]}" for package in sorted(versions)) + ".",
    ]


def cells(row: dict[str, Any], known: dict[str, dict[str, Any]]) -> list[str]:
    """Return the cells of a method's row."""
    if "problem" in row:
        return [row["method"], row["problem"].replace("|", "/"), *[""] * 8]
    ours = known.get(counterpart(row["method"]), {})
    is_peer = not row["method"].startswith(OURS)
    ratios, gains = ["", ""], ["", ""]
    if is_peer and "problem" not in ours and ours:
        ratios = [ratio(row["build_cpu"], ours["build_cpu"]), ratio(ours["per_cpu_second"], row["per_cpu_second"])]
        gains = [gain(row["ours_minus_this"][ours["method"]][f"recall_at_{at}"]) for at in (1, 64)]
    build = f"{row['build_cpu']:.1f}"
    return [row["method"], build, ratios[0], f"{row['peak_mb']:,.0f}", f"{row['per_cpu_second']:,.0f}", ratios[1],
            percent(row["recall_at_1"]), percent(row["recall_at_64"]), *gains]  # fmt: skip


def ratio(larger: float, smaller: float) -> str:
    """Write how many times one is the other."""
    times = max(larger, LEAST) / max(smaller, LEAST)
    return f"{times:.2f}" if times < 10 else f"{times:,.0f}"


def gain(difference: dict[str, float]) -> str:
    """Write a difference in points with its interval, and what follows."""
    points = [f"{100 * difference[key]:+.1f}" for key in ("difference", "low", "high")]
    return f"{points[0]} ({points[1]} to {points[2]}) {verdict(difference)}"


def summary(rows: Rows) -> list[str]:
    """Count by each of ours over all peers and sets."""
    lines = [f"| ours | against | R@1: {VERDICTS} | R@64: {VERDICTS} |", "|---|--:|--:|--:|"]
    for method in dict.fromkeys(row["method"] for row in rows if row["method"].startswith(OURS)):
        if differences := [one for _, one in met(rows, method)]:
            lines.append(f"| {method} | {len(differences)} | {' | '.join(counts(differences))} |")
    return lines


def by_peer(rows: Rows) -> list[str]:
    """Count by peer against the one of ours of its kind, and compare times; without surface, and with it."""
    heads = ["peer", "ours", "sets", f"R@1: {VERDICTS}", "R@1, + surface", f"R@64: {VERDICTS}", "build, ratio",
             "build, + surface", "search, ratio", "search, + surface"]  # fmt: skip
    lines = [f"| {' | '.join(heads)} |", "|---|---|" + "--:|" * 8]
    known = {(row["set"], row["method"]): row for row in rows}
    for peer in dict.fromkeys(row["method"] for row in rows if not row["method"].startswith(OURS)):
        found, build, search = [], [], []
        for name in (counterpart(peer), counterpart(peer, SURFACE)):
            against = [(row, known[row["set"], name], one) for row, one in met(rows, name) if row["method"] == peer]
            found.append(counts([one for *_, one in against]) if against else ["", ""])
            build.append(mean_ratio([(row["build_cpu"], ours["build_cpu"]) for row, ours, _ in against]))
            search.append(mean_ratio([(ours["per_cpu_second"], row["per_cpu_second"]) for row, ours, _ in against]))
        (first, pool), (again, _) = found
        if n_sets := sum(row["method"] == peer for row, _ in met(rows, counterpart(peer))):
            line = [peer, counterpart(peer), str(n_sets), first, again, pool, *build, *search]
            lines.append(f"| {' | '.join(line)} |")
    return lines


def lost(rows: Rows) -> list[str]:
    """Lay out the comparisons that one of ours lost, with the differences from the others beside it."""
    names = [row["method"] for row in rows if row["method"].startswith(OURS) and IN_DOCUMENTS not in row["method"]]
    ours = list(dict.fromkeys(names))
    lines = ["Where one of ours is behind, ours less theirs:", ""]
    lines += [f"| set | peer | | theirs | {' | '.join(ours)} |", "|---|---|---|" + "--:|" * (1 + len(ours))]
    for row in rows:
        where = IN_DOCUMENTS if IN_DOCUMENTS in row["method"] else ""
        differences = [row.get("ours_minus_this", {}).get(method + where) for method in ours]
        for at in (1, 64):
            of_depth = [one[f"recall_at_{at}"] if one else None for one in differences]
            if any(one and verdict(one) == BEHIND for one in of_depth):
                line = [row["set"], row["method"], f"R@{at}", percent(row[f"recall_at_{at}"])]
                lines.append(f"| {' | '.join(line + [gain(one) if one else '' for one in of_depth])} |")
    return lines


def counts(differences: Rows) -> list[str]:
    """Count, for each depth, how often ours is ahead, level and behind."""
    found = {at: [verdict(one[f"recall_at_{at}"]) for one in differences] for at in (1, 64)}
    return [" / ".join(str(found[at].count(one)) for one in (AHEAD, LEVEL, BEHIND)) for at in (1, 64)]


def mean_ratio(pairs: list[tuple[float, float]]) -> str:
    """Write the geometric mean of ratios; nothing if there are none."""
    if not pairs:
        return ""
    return ratio(math.exp(sum(math.log(max(one, LEAST) / max(other, LEAST)) for one, other in pairs) / len(pairs)), 1)
