"""The first section of docs/benchmarks.md: the figures that most readers come for."""

from __future__ import annotations

import json
from typing import Any

from common import RESULTS, percent
from race_page import counts, met
from racing import SURFACE

COLUMNS = {
    "char-3 TF-IDF": ("quality_lexical", ("char-3 TF-IDF",)),
    "default, no torch": ("quality_lexical", ("lexical", "lexical, mention alone")),
    "default and MiniLM": ("quality_minilm", ("hybrid",)),
}
"""Columns of the table: the file of results, and what the method is called in it."""
OURS = "ontolink lexical"
CORPORA = {
    "qtldb_vt": "livestock traits (VT)",
    "qtldb_cmo": "livestock measurements (CMO)",
    "qtldb_lpt": "livestock products (LPT)",
    "ncbi_disease_biosyn": "NCBI diseases, BioSyn's dictionary",
    "ncbi_disease": "NCBI diseases, MEDIC",
}


def summary() -> str:
    """Write recall with what is at hand, then speed, size and the race in one line each; leave out what was not run."""
    results = {
        name: json.loads(path.read_text("utf-8"))["rows"]
        for name in ("quality_lexical", "quality_minilm", "speed", "scale", "race")
        if (path := RESULTS / f"{name}.json").exists()
    }
    lines = ["## In short\n", "Recall of test mentions, R@1 / R@64 in %: the right entity is first, or among 64.\n"]
    lines += ["| test mentions of | n | " + " | ".join(COLUMNS) + " |", "|---|--:|" + "--:|" * len(COLUMNS)]
    for corpus, title in CORPORA.items():
        found = [_find(results.get(file, []), corpus, methods) for file, methods in COLUMNS.values()]
        if any(found):
            n = next(row["n"] for row in found if row)
            cells = [f"{percent(row['recall_at_1'])} / {percent(row['recall_at_64'])}" if row else "" for row in found]
            lines.append(f"| {title} | {n:,} | {' | '.join(cells)} |")
    facts = [*_speed(results.get("speed", [])), *_scale(results.get("scale", [])), *_race(results.get("race", []))]
    return "\n".join([*lines, "", *(f"- {fact}" for fact in facts)]) + "\n"


def _find(rows: list[dict[str, Any]], corpus: str, methods: tuple[str, ...]) -> dict[str, Any] | None:
    return next((row for row in rows if row["corpus"] == corpus and row["method"] in methods), None)


def _speed(rows: list[dict[str, Any]]) -> list[str]:
    known = {row["what"]: row["value"] for row in rows}
    if not known:
        return []
    build, per_second = known["build, from file to index"], known["mentions per CPU-second, the component"]
    opened = known["open a saved pipeline, beyond spacy.blank"]
    return [
        f"**The Human Phenotype Ontology** is built in {build} CPU-seconds, opened in {opened} s, "
        f"and {per_second:,} distinct mentions are linked in a CPU-second."
    ]


def _scale(rows: list[dict[str, Any]]) -> list[str]:
    if not rows:
        return []
    most = max(rows, key=lambda row: row["names"])
    return [
        f"**{most['names']:,} names** (NCBI taxonomy) are built in {most['build_cpu_seconds']} CPU-seconds with at "
        f"most {most['build_peak_gib']} GiB; {most['mentions_per_cpu_second']:,.0f} mentions are linked in a "
        "CPU-second ([scale](scale.md))."
    ]


def _race(rows: list[dict[str, Any]]) -> list[str]:
    first, second = (met(rows, method) for method in (OURS, OURS + SURFACE))
    if not first:
        return []
    peers = {row["method"] for row, _ in first}
    at_1, at_64 = counts([one for _, one in first])
    surface = f" (with the surface stage {counts([one for _, one in second])[0]})" if second else ""
    return [
        f"**Against {len(peers)} other methods**, one comparison a method and set, the default encoder is ahead / "
        f"level / behind in R@1 in {at_1}{surface}, in R@64 in {at_64} ([the race](#a-race-against-the-peers))."
    ]
