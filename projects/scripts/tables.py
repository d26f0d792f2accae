"""Lay the results of an experiment out as Markdown tables beside the published numbers.

    python projects/scripts/tables.py NAME FOLDER [--output tables.md]

NAME is a corpus of published.json (ncbi_disease, bc5cdr, qtldb_cmo, qtldb_vt, qtldb_lpt), FOLDER what zero_label.py
wrote (<setting>/<strategy>/<seed>/*.json), and ablations.py (pilot/*.json). Pairs of numbers are ours / published, with
the standard deviation over seeds where there are several; n is the number of our seeds. What was not run is "–".
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from statistics import mean, pstdev
from typing import Any

from spacy_ontolink.files import replacing

PUBLISHED = Path(__file__).with_name("published.json")
SETTINGS = ("none", "gen-unfiltered", "gen", "synonym", "gen+synonym")
ABLATIONS = ("p1+synonym", "p2+synonym", "gen+synonym")
STRATEGIES = ("BASE", "RM-PCS", "PC-POS")
MEASURES = {"recall_at_1": "R@1", "mrr": "MRR", "HO": "HO", "LO": "LO", "NO": "NO"}
VARIANTS = ("full", "no standard name", "no hypernym", "no pooling", "no surface", "no context", "no surface negatives")
NONE = "–"


def read(path: Path) -> Any:
    """Read a JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))


def value(measures: dict[str, Any], key: str) -> float | None:
    """Return a measure in percent; HO, LO and NO are R@1 of the mentions with so much overlap."""
    found = measures["by_overlap"][key]["recall_at_1"] if key in ("HO", "LO", "NO") else measures[key]
    return None if found is None else 100 * found


def ours(folder: Path, setting: str, strategy: str, name: str, key: str) -> list[float]:
    """Return a measure of all seeds."""
    where = folder / setting / ("-" if setting == "none" else strategy)
    found = [value(read(path), key) for path in sorted(where.glob(f"*/{name}.json"))]
    return [number for number in found if number is not None]


def beside(own: list[float], published: list[float] | None) -> str:
    """Write our mean and the published one."""
    mine = NONE if not own else f"{mean(own):.1f}"
    if len(own) > 1:
        mine += f" ± {pstdev(own):.1f} (n = {len(own)})"
    theirs = NONE if not published else f"{published[0]:.1f}" + (f" ± {published[1]:.1f}" if published[1] else "")
    return f"{mine} / {theirs}"


def table(header: list[str], rows: list[list[str]]) -> list[str]:
    """Lay out a Markdown table."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return [*(f"| {' | '.join(line)} |" for line in lines), ""]


def zero_label(folder: Path, published: dict[str, Any]) -> list[str]:
    """Lay out Sci-ZSEL's tables: retrieval, reranking, ablations."""
    retriever = published["retriever"]
    rows = [
        [s, *(beside(ours(folder, s, t, "retriever", "recall_at_64"), retriever[s].get(t)) for t in STRATEGIES)]
        for s in SETTINGS
    ]
    lines = ["## R@64 of the retriever (ours / Table 4)", "", *table(["pairs", *STRATEGIES], rows)]
    for kind, title in (("blink", "cross-encoder"), ("res", "read-and-select")):
        rows = [
            [s, *(beside(ours(folder, s, "PC-POS", kind, key), published[kind][s].get(key)) for key in MEASURES)]
            for s in SETTINGS
        ]
        lines += [f"## With the {title}, PC-POS (ours / Table 5)", "", *table(["pairs", *MEASURES.values()], rows)]
    rows = [
        [
            s,
            beside(ours(folder, s, "PC-POS", "retriever", "recall_at_64"), retriever[s]["PC-POS"]),
            *(
                beside(ours(folder, s, "PC-POS", kind, key), published[kind][s].get(key))
                for kind in ("blink", "res")
                for key in ("recall_at_1", "mrr")
            ),
        ]
        for s in ABLATIONS
    ]
    header = ["pairs", "R@64", "BLINK R@1", "BLINK MRR", "ReS R@1", "ReS MRR"]
    return [*lines, "## How pairs are made, PC-POS (ours / Table 13)", "", *table(header, rows)]


def pilot(folder: Path, published: dict[str, float]) -> list[str]:
    """Lay out PILOT's tables: the full model, its ablations, and the best others."""
    rows = []
    for name in VARIANTS:
        path = folder / f"{name.replace(' ', '-')}.json"
        own = value(read(path), "recall_at_1") if path.is_file() else None
        rows.append([name, NONE if own is None else f"{own:.1f}", f"{published[name]:.1f}"])
    rows += [[name, NONE, f"{published[name]:.1f}"] for name in ("LLM4BioEL", "ANGEL", "SapBERT")]
    return ["## Supervised, R@1 (Tables 1 and 2)", "", *table(["variant", "ours", "published"], rows)]


def main() -> None:
    """Write the tables."""
    made = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    made.add_argument("name")
    made.add_argument("folder", type=Path)
    made.add_argument("--output", type=Path)
    options = made.parse_args()
    known = read(PUBLISHED)
    if options.name not in known["sci-zsel"]:
        made.error(f"no published numbers of {options.name}: one of {', '.join(known['sci-zsel'])}")
    lines = [f"# {options.name}", "", "In percent, ours / published.", *known["sources"].values(), ""]
    lines += zero_label(options.folder, known["sci-zsel"][options.name])
    if options.name in known["pilot"]:
        lines += pilot(options.folder / "pilot", known["pilot"][options.name])
    text = "\n".join(lines).rstrip() + "\n"
    if options.output:
        with replacing(options.output) as path:
            path.write_text(text, encoding="utf-8")
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
