"""The section of docs/benchmarks.md on whole pipelines: a table of what linking.py measured."""

from __future__ import annotations

from typing import Any

from common import percent

NOTE = """Whole pipelines on test mentions; "+": with this stage, and those before it. *Zero-label*: the lexical encoder
and an `NgramEncoder` by half each; the latter has learnt the ontology's synonyms, and then, by one of Sci-ZSEL's three
strategies, pairs of unlabelled mentions and the names that they equal (p1+synonym, ambiguous ones dropped). Mentions
come from the training texts (of gsc_plus: the development texts) by looking names up, or are given where the corpus has
no texts; QTLdb has nothing but its test mentions, which are paired without their ids. Settings are the defaults.
*Supervised*: training mentions are names, and what the encoder learns from besides synonyms; all is tuned on the
development mentions, which then become names as well (without training on them). *With MiniLM*: the hybrid that
`ontolink build --encoder MINILM --hybrid` makes, with MiniLM trained on the same names before, once through (one
seed). *As built with MiniLM*: that hybrid with MiniLM as it is, aligned by the build alone. On bc5cdr, whose 784,000
names are too many to train on here, it is the lexical encoder alone, untuned. *With a cross-encoder*: the same, and
MiniLM, trained for one epoch on 2,500 training mentions with candidates of a pipeline that does not know these, reads
the first 8 candidates, their names and synonyms, with the text around the mention; 300 development mentions tune the
mix. R@1 is a mean over seeds, ± half of what lies between the lowest and the highest. HO, LO, NO: R@1 by overlap with
the right name, as above.

Rows *with MiniLM* and *as built with MiniLM* are of this version, but for ncbi_disease's as built, which were
measured before words that differ counted by how much of the mention the first candidate has in its own. All others
were measured before the surface stage compared words and had the retriever's pooling by default; the one with a
cross-encoder had an `NgramEncoder` in MiniLM's place beside the lexical encoder, 1,500 training mentions, and
definitions to read. A run of linking.py replaces them."""
AIMS = {
    ("ncbi_disease_biosyn", "zero-label"): 84,
    ("bc5cdr", "zero-label"): 80,
    ("qtldb_vt", "zero-label"): 60,
    ("qtldb_cmo", "zero-label"): 70,
    ("qtldb_lpt", "zero-label"): 68,
    ("ncbi_disease_biosyn", "supervised"): 93,
    ("bc5cdr", "supervised"): 94,
}


def linking(result: dict[str, Any]) -> list[str]:
    """Lay out each pipeline's rows; the aim beside the last one."""
    heads = ["corpus", "labels", "strategy", "views", "n", "seeds", "R@1", "aim", "R@64", "MRR", "HO", "LO", "NO"]
    lines = [f"| {' | '.join(heads)} |", "|---|---|---|---|" + "--:|" * (len(heads) - 4)]
    for row in result["rows"]:
        half = f" ± {100 * row['spread'] / 2:.1f}" if row["seeds"] > 1 else ""
        aim = AIMS.get((row["corpus"], row["setting"].partition(",")[0])) if row["row"] == "+ fuse" else None
        overlap = [percent(row["by_overlap"][kind]["recall_at_1"]) for kind in ("HO", "LO", "NO")]
        cells = [row["corpus"], row["setting"], row["strategy"], row["row"], f"{row['n']:,}", str(row["seeds"]),
                 f"{percent(row['recall_at_1'])}{half}", str(aim or ""), percent(row["recall_at_64"]),
                 percent(row["mrr"]), *overlap]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return lines
