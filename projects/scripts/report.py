"""Tell as Markdown what the steps of a project gave.

python projects/scripts/report.py training training/report.md
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from spacy_ontolink.files import replacing

STEPS = {
    "kb": "n-grams alone",
    "retriever": "retriever with the trained encoder",
    "pipeline": "with rerankers and fusion, before tuning",
    "tuned": "tuned",
}
COLUMNS = {"recall_at_1": "R@1", "recall_at_5": "R@5", "recall_at_64": "R@64", "mrr": "MRR"}


def read(path: Path) -> Any:
    """Read a JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))


def percent(value: float | None) -> str:
    """Write a share as a percentage."""
    return "–" if value is None else f"{100 * value:.1f}"


def table(header: list[str], rows: list[list[str]]) -> list[str]:
    """Lay out a Markdown table, all columns but the first to the right."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return [f"| {' | '.join(line)} |" for line in lines]


def measures(folder: Path) -> list[str]:
    """Lay the measures on the test notes out."""
    found = {name: read(folder / "metrics" / f"{name}.json") for name in STEPS}
    rows = [[STEPS[name], *(percent(own[key]) for key in COLUMNS)] for name, own in found.items()]
    overlap = [
        [STEPS[name], *(percent(own["by_overlap"][kind]["recall_at_1"]) for kind in ("HO", "LO", "NO"))]
        for name, own in found.items()
    ]
    one = found["tuned"]
    counts = ", ".join(f"{one['by_overlap'][kind]['n']} {kind}" for kind in ("HO", "LO", "NO"))
    return [
        f"## Test: {one['n']} mentions of {one['data']}", "", *table(["%", *COLUMNS.values()], rows), "",
        f"R@1 by overlap with the right name ({counts}: contained in it, sharing a word, sharing none)", "",
        *table(["%", "HO", "LO", "NO"], overlap), "",
    ]  # fmt: skip


def losses(path: Path) -> str:
    """Say how a loss fell in training."""
    log = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    share = max(1, len(log) // 10)
    first, end = (sum(row["loss"] for row in part) / share for part in (log[:share], log[-share:]))
    return f"{len(log)} steps, loss {first:.3f} to {end:.3f} (means of the first and the last tenth)"


def main(folder: Path, out: Path) -> None:
    """Write the report."""
    pairs, tuning = read(folder / "pairs" / "report.json"), read(folder / "tuned" / "tuning.json")
    trained = [(name, folder / path) for name, path in (
        ("names aligned", "encoder/alignment.jsonl"), ("retriever", "encoder/log.jsonl"),
        ("reranker", "reranker/log.jsonl"),
    )]  # fmt: skip
    steps = [
        [step["name"], percent(step["value_before"]), percent(step["value_after"]), percent(step["cross_fitted"])]
        for step in tuning["steps"]
    ]
    lines = [
        "# What the steps gave", "",
        *measures(folder),
        "## Pairs", "",
        f"{pairs['pairs']['total']} pairs ({pairs['setting']}) of {pairs['mentions']['total']} mentions in "
        f"{pairs['mentions']['documents']} notes, with {pairs['pairs']['entities']} entities.", "",
        "## Training", "",
        *(f"- {name}: {losses(path)}" for name, path in trained if path.is_file()), "",
        f"## Tuning on {tuning['mentions']} mentions of {tuning['data']}", "",
        *table(["step, %", "before", "after", "on new mentions"], steps), "",
        *tuning["notes"],
    ]  # fmt: skip
    with replacing(out) as path:
        path.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    sys.stdout.write("\n".join(lines).rstrip() + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
