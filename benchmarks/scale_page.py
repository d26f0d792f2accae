"""Write docs/scale.md and its plot from what scale.py measured; ``python benchmarks/report.py`` calls it."""

from __future__ import annotations

from typing import Any

from common import HERE

from spacy_ontolink.files import replacing

INTRO = """# Scale

Ontologies of millions of names are built, opened and searched as small ones are. `ontolink build` chooses the index by
size and says which it took; `--index` overrides it.

- **Up to 200,000 names** every row is compared, exactly.
- **Beyond that, where there is a lexical part**: an inverted index. The rarest n-grams of a mention propose some
  thousand rows, which are then scored exactly, with the dense part if there is one. How many postings are read and how
  many rows are scored again are settings of `spacy-ontolink.InvertedIndex.v1`; recall against exact search is measured
  when the index is built, with rows that lack a third of their n-grams as queries, and is part of `ontolink info`.
- **Dense vectors, or a hybrid whose dense part finds other entities** than the n-grams do, so that recall is below
  0.99: faiss lists of near vectors with a byte per dimension, whose proposals are scored again with the stored rows;
  the sparse part has an inverted index beside it. With `--index hnsw` or `ivf`, fewer than 5,000 rows are all searched,
  and the index is called flat.

Rows, names and lists are memory-mapped: opening reads hardly any of them, and worker processes share their pages. For
that, the checksums of files over 32 MiB are not compared when a space of over 256 MiB is opened; files that were cut
short are noticed all the same.

## Cost against size, lexical
"""
NOTE = """Names are those of the NCBI taxonomy, a random part or all, "doubled" with one derived synonym each; mentions
are names with a word dropped or added, or a letter dropped or changed. `bc5cdr` is the MeSH dictionary of that corpus
with its development mentions. Peak memory is that of the whole process, some 0.3 GiB of which are Python and spaCy.
"Exact search alone" is the index's part of what "mentions per CPU-s" measures for the whole component. PSS counts
shared pages in proportion to who shares them."""
COLUMNS = {
    "case": "case",
    "names": "names",
    "index": "index",
    "build_cpu_seconds": "build, CPU-s",
    "build_peak_gib": "peak, GiB",
    "disk_gib": "disk, GiB",
    "open_seconds": "open, s",
    "resident_gib": "resident after opening, GiB",
    "mentions_per_cpu_second": "mentions per CPU-s",
    "exact_mentions_per_cpu_second": "exact search alone",
    "recall_at_64_against_exact": "recall@64",
    "mentions_per_second_of_workers": "mentions/s, 2 workers",
    "worker_rss_gib": "a worker's RSS",
    "worker_pss_gib": "its PSS",
}


def scale_page(result: dict[str, Any], about: str) -> None:
    """Write the page."""
    rows = result["rows"]
    lines = [INTRO, about, NOTE, "", f"| {' | '.join(COLUMNS.values())} |"]
    lines.append("|---|--:|---|" + "--:|" * (len(COLUMNS) - 3))
    for row in rows:
        cells = [f"{row[key]:,}" if isinstance(row[key], int) else str(row[key]) for key in COLUMNS]
        lines.append(f"| {' | '.join(cells)} |")
    plot(rows)
    lines += ["", "![Cost against the number of names](scale.svg)", ""]
    (HERE.parent / "docs" / "scale.md").write_text("\n".join(lines), encoding="utf-8")


def plot(rows: list[dict[str, Any]]) -> None:
    """Draw build time and search time against the number of names."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "scale"})
    from matplotlib import pyplot

    rows = sorted((row for row in rows if row["case"] != "bc5cdr"), key=lambda row: row["names"])
    names = [row["names"] for row in rows]
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    left.plot(names, [row["build_cpu_seconds"] for row in rows], marker="o", label="build, CPU-seconds")
    left.plot(names, [row["build_peak_gib"] for row in rows], marker="s", label="peak memory, GiB")
    right.plot(names, [1000 / row["mentions_per_cpu_second"] for row in rows], marker="o", label="component, as chosen")
    exact = [1000 / row["exact_mentions_per_cpu_second"] for row in rows]
    right.plot(names, exact, marker="s", linestyle="--", label="exact search alone")
    right.set_ylabel("CPU-milliseconds per mention")
    for panel in (left, right):
        panel.set(xscale="log", yscale="log", xlabel="names")
        panel.legend(frameon=False)
        panel.grid(alpha=0.3)
    with replacing(HERE.parent / "docs" / "scale.svg") as path:
        figure.savefig(path, format="svg", metadata={"Date": None})
