"""The section of docs/benchmarks.md on the race against the peers: tables of what race.py measured."""

from __future__ import annotations

import math
from typing import Any

from common import percent

Rows = list[dict[str, Any]]
AHEAD, LEVEL, BEHIND = "ahead", "level", "behind"
IN_DOCUMENTS = ", in documents"
LEAST = 0.001  # CPU-seconds that the clock can tell
DENSE = ("MiniLM, exact",)
NOTE = """Every method gets the same names and the same mentions, in a process and an environment of its own, and gives
64 entities back; a file for each is in `benchmarks/racing/peers/`. Mentions are looked up by their text alone, each
distinct text once; "in documents" are the ways to read the text around them, ours and scispaCy's, with long forms in
place of abbreviations. Nobody gets the hierarchy, so that the default encoder learns from synonyms alone. hpo_synonyms:
a fifth of HPO's EXACT synonyms, taken out of it. `ontolink lexical` is the default; the hybrid adds MiniLM, aligned
with the ontology's synonyms. All is as shipped: scispaCy's index (built by 60 threads, all counted) and Gilda's
normalisation. scispaCy is given three names to search for each entity wanted, other searches by names eight.

Build and search are CPU-seconds of all threads, reading files and importing libraries left out; the fastest of up to
three searches counts. Memory is the most that the process held, libraries included. Ratios are to the one of ours that
searches alike, `ontolink lexical`, for MiniLM `ontolink hybrid, MiniLM`, in the same run; above 1, ours is faster. Over
sets they are geometric means.
Differences are ours (the same one) less the peer's, in points, with the 95 % interval of a paired bootstrap that draws
whole documents; in the sets without documents, each mention is one.

All methods ran one after the other, while the machine did other work: take ratios of time as rough. A method that a
set's table lacks was not run on it, for want of time. Not raced: xMEN, whose n-grams are scispaCy's code; QuickUMLS,
which reads UMLS files only, and whose matcher is SimString; text2term, PolyFuzz and string-grouper, TF-IDF of
character n-grams like the row that is there; MedCAT, which finds its own mentions; SapBERT, KRISSBERT and zshot,
whose weights could not be had; spaCy's own linker, which needs annotated data."""


def counterpart(method: str) -> str:
    """Return which of ours searches in the same way as a peer."""
    if IN_DOCUMENTS in method:
        return f"ontolink lexical{IN_DOCUMENTS}"
    return "ontolink hybrid, MiniLM" if method in DENSE else "ontolink lexical"


def verdict(difference: dict[str, float]) -> str:
    """Say whether ours is ahead by more than the interval, behind by more, or neither."""
    return AHEAD if difference["low"] > 0 else BEHIND if difference["high"] < 0 else LEVEL


def race(result: dict[str, Any]) -> list[str]:
    """Lay out a table for each set, then how often each of ours is ahead of a peer."""
    rows = result["rows"]
    sets: dict[str, Rows] = {}
    for row in rows:
        sets.setdefault(row["set"], []).append(row)
    lines = [f"A build or a search of more than {result['limit']:,} CPU-seconds is over the limit.", ""]
    lines += summary(rows)
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
    is_peer = not row["method"].startswith("ontolink")
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
    """Count by each of ours over all peers and sets, then by peer against the one of ours of its kind."""
    heads = "R@1: ahead / level / behind | R@64: ahead / level / behind |"
    lines = [f"| ours | against | {heads}", "|---|--:|--:|--:|"]
    for method in dict.fromkeys(row["method"] for row in rows if row["method"].startswith("ontolink")):
        met = [row["ours_minus_this"][method] for row in rows if method in row.get("ours_minus_this", {})
               and (IN_DOCUMENTS in method) == (IN_DOCUMENTS in row["method"])]  # fmt: skip
        if met:
            lines.append(f"| {method} | {len(met)} | {' | '.join(counts(met))} |")
    lines += ["", f"| peer | ours | sets | {heads} build, ratio | search, ratio |", "|---|---|--:|--:|--:|--:|--:|"]
    known = {(row["set"], row["method"]): row for row in rows if "problem" not in row}
    for method in dict.fromkeys(row["method"] for row in rows if not row["method"].startswith("ontolink")):
        name = counterpart(method)
        pairs = [(row, known[row["set"], name]) for row in known.values()
                 if row["method"] == method and (row["set"], name) in known]  # fmt: skip
        if not pairs:
            continue
        build = mean_ratio([(row["build_cpu"], ours["build_cpu"]) for row, ours in pairs])
        search = mean_ratio([(ours["per_cpu_second"], row["per_cpu_second"]) for row, ours in pairs])
        found = counts([row["ours_minus_this"][name] for row, _ in pairs])
        lines.append(f"| {method} | {name} | {len(pairs)} | {' | '.join(found)} | {build} | {search} |")
    return lines


def counts(differences: Rows) -> list[str]:
    """Count, for each depth, how often ours is ahead, level and behind."""
    found = {at: [verdict(one[f"recall_at_{at}"]) for one in differences] for at in (1, 64)}
    return [" / ".join(str(found[at].count(one)) for one in (AHEAD, LEVEL, BEHIND)) for at in (1, 64)]


def mean_ratio(pairs: list[tuple[float, float]]) -> str:
    """Write the geometric mean of ratios."""
    return ratio(math.exp(sum(math.log(max(one, LEAST) / max(other, LEAST)) for one, other in pairs) / len(pairs)), 1)
