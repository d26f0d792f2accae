"""Write docs/scale.md and its plot from what scale.py measured; ``python benchmarks/report.py`` calls it."""

from __future__ import annotations

from typing import Any

from common import HERE

from spacy_ontolink.files import replacing

INTRO = """# Scale

Ontologies of millions of names are built, opened and searched as small ones are. `ontolink build` chooses the index by
size and says which it took; `--index` overrides it.

- **Up to 200,000 names** every row is compared, exactly.
- **Beyond that, where rows are n-grams alone**: an inverted index. The rarest n-grams of a mention propose a
  thousand rows, which are then scored exactly. How many postings are read and how many rows are scored again are
  settings of `spacy-ontolink.InvertedIndex.v1`; recall against exact search is measured when the index is built, with
  rows that lack a third of their n-grams as queries, and is part of `ontolink info`.
- **Dense vectors, alone or beside n-grams**, as the default encoder makes them where entities have synonyms: faiss
  lists of near vectors, whose proposals are scored again with the stored rows. They take half a byte for two
  dimensions. Rare n-grams propose rows as well, and tell which of the
  thousands that either proposes are worth an exact score. As many lists are visited as recall of 0.995 takes, or until
  more add nothing, measured when the index is built, unless `nprobe` is set. With `--index hnsw` or `ivf`, fewer than
  5,000 rows are all searched, and the index is called flat.

Vectors that several pipelines share, and that change with the ontology, may be kept in a
[vector store](vector-store.md) instead.

A build encodes and pools a part of the entities at a time. Rows and inverted lists of more than 256 MiB go to temporary
files (in `TMPDIR`, which needs as much room as they take), so that what a build must hold in memory is names.

Rows, names and lists are memory-mapped: opening reads hardly any of them, and worker processes share their pages. For
that, of files over 32 MiB only samples are compared with their checksum when a space of over 256 MiB is opened: other
files, zeros and cuts are noticed, a single flipped bit need not be. `ontolink info my-linker/ --verify` reads all.

## Cost against size
"""
NOTE = """Names are those of the NCBI taxonomy, a random part or all, "doubled" with one derived synonym each: in turn,
its words the other way round, its last word in the plural, its second word dropped, or the first one abbreviated where
there are but two. Mentions are names with a word dropped or added, or a letter dropped or changed. `bc5cdr` is the MeSH
dictionary of that corpus with its development mentions. The encoder is the default one; "dense" is one of 384
dimensions alone, trained by `configs/train_ngrams.cfg` on 20,000 of the entities, which makes vectors in a fraction of
the time that a transformer takes. Peak memory is that of the whole process, mapped files included, some 0.3 GiB of
which are Python and spaCy. "Exact search alone" is the index's part of what "mentions per CPU-s" measures for the whole
component. "On two cores" is the number of mentions over half the CPU time of two worker processes and the process that
feeds them with documents of 16 mentions: what they would do if nobody else used the machine. PSS counts shared pages in
proportion to who shares them.

The machine did other work while pipelines were built, and with up to a million names while they linked."""
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
    "mentions_per_second_on_two_cores": "mentions/s on two cores",
    "worker_rss_gib": "a worker's RSS",
    "worker_pss_gib": "its PSS",
}


def scale_page(result: dict[str, Any], about: str) -> None:
    """Write the page."""
    rows = result["rows"]
    lines = [INTRO, about, NOTE, "", f"| {' | '.join(COLUMNS.values())} |"]
    lines.append("|---|--:|---|" + "--:|" * (len(COLUMNS) - 3))
    for row in rows:
        values = [row.get(key, "–") for key in COLUMNS]
        cells = [f"{value:,}" if isinstance(value, int) else str(value) for value in values]
        lines.append(f"| {' | '.join(cells)} |")
    plot(rows)
    lines += ["", "![Cost against the number of names](scale.svg)", ""]
    (HERE.parent / "docs" / "scale.md").write_text("\n".join(lines), encoding="utf-8")


def series(rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Sort rows by what they measure, each kind that there is."""
    kinds: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        _, *words = row["case"].split(", ")
        kind = "dense" if "dense" in words else "with synonyms" if "doubled" in words else "without synonyms"
        kinds.setdefault(kind, []).append(row)
    return kinds


def plot(rows: list[dict[str, Any]]) -> None:
    """Draw build time and search time against the number of names."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "scale"})
    from matplotlib import pyplot

    rows = sorted((row for row in rows if row["case"] != "bc5cdr"), key=lambda row: row["names"])
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    for colour, (label, some) in zip(("C0", "C1", "C2"), series(rows).items(), strict=False):
        names = [row["names"] for row in some]
        left.plot(names, [row["build_cpu_seconds"] for row in some], colour, marker="o", label=f"{label}: CPU-seconds")
        peak = [row["build_peak_gib"] for row in some]
        left.plot(names, peak, colour, marker="s", linestyle="--", label=f"{label}: peak memory, GiB")
        chosen = [1000 / row["mentions_per_cpu_second"] for row in some]
        right.plot(names, chosen, colour, marker="o", label=f"{label}: component, as chosen")
        exact = [1000 / row["exact_mentions_per_cpu_second"] for row in some]
        right.plot(names, exact, colour, marker="s", linestyle="--", label=f"{label}: exact search alone")
    left.set_title("build")
    right.set(title="search", ylabel="CPU-milliseconds per mention")
    for panel in (left, right):
        panel.set(xscale="log", yscale="log", xlabel="names")
        panel.legend(frameon=False, fontsize="x-small")
        panel.grid(alpha=0.3)
    with replacing(HERE.parent / "docs" / "scale.svg") as path:
        figure.savefig(path, format="svg", metadata={"Date": None})
