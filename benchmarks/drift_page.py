"""The section of docs/benchmarks.md on the filter of aliases: tables and a plot of what drift.py measured."""

from __future__ import annotations

from typing import Any

from common import HERE, percent

from spacy_ontolink.files import replacing

Rows = list[dict[str, Any]]
NOTE = """EXACT synonyms taken out of an ontology are given to their own entities (right), and as many to parents,
children or siblings of these (wrong). Precision is the share of right ones among those kept, 50 % when nothing is
dropped; recall is the share of the right ones that is kept. A synonym of an unrelated entity, given to each as well, is
counted apart. "With drift" adds the condition that no neighbour's name is nearer than the entity's own (Sci-ZSEL,
5.2.2).

The condition on neighbours does most of the work: it costs about a third of the right aliases, and of what it leaves,
nine in ten or more are right at any tau. What tau adds is a guard against unrelated names, for which a low one will do.
The paper's 0.9 is for BioLORD; with the encoders here it keeps little more than spelling variants. Curated synonyms are
not what a language model makes up, and half of them wrong is more than the paper's 27 %: compare settings, not levels.
MEDIC comes without a hierarchy in the NCBI corpus; its parents here are those of MeSH."""
SHOWN_TAUS = (None, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
STRAYS = 0.01  # of unrelated aliases that may pass


def drift(result: dict[str, Any]) -> list[str]:
    """Lay the filter's curve out: a table of means, one of the taus that suit, and a plot."""
    rows = result["rows"]
    names = [about["ontology"] for about in result["ontologies"]]
    encoders = list(dict.fromkeys(row["encoder"] for row in rows))
    sizes = ", ".join(f"{about['ontology']} {about['right']:,}" for about in result["ontologies"])
    lines = [f"Right aliases: {sizes}. Means over these:\n"]
    heads = ["encoder", "tau", "precision / recall, tau alone", "with drift", "unrelated kept, tau alone", "with drift"]
    lines += [f"| {' | '.join(heads)} |", "|---|--:|--:|--:|--:|--:|"]
    for encoder in encoders:
        for tau in SHOWN_TAUS:
            cells = [encoder, "none" if tau is None else f"{tau:.2f}"]
            means = [mean_of(rows, encoder, tau, use_drift) for use_drift in (False, True)]
            cells += [f"{percent(one['precision'])} / {percent(one['recall'])}" for one in means]
            cells += [percent(one["unrelated_kept"]) for one in means]
            lines.append("| " + " | ".join(cells) + " |")
    lines += [
        "",
        f"With drift: the lowest tau at which at most {STRAYS:.0%} of unrelated aliases pass on each ontology,",
    ]
    lines += ["and the paper's 0.9 (precision / recall)."]
    lines += ["", f"| encoder | tau | {' | '.join(names)} |", "|---|--:|" + "--:|" * len(names)]
    for encoder in encoders:
        for tau in (suiting_tau(rows, encoder), 0.9):
            found = [one_row(rows, name, encoder, tau, True) for name in names]
            cells = [f"{percent(row['precision'])} / {percent(row['recall'])}" for row in found]
            lines.append(f"| {encoder} | {tau:.2f} | {' | '.join(cells)} |")
    plot_drift(rows, names, encoders)
    return [*lines, "", "![Precision and recall of the filter](drift.svg)"]


def one_row(rows: Rows, ontology: str, encoder: str, tau: float | None, use_drift: bool) -> dict[str, Any]:
    """Find one row."""
    wanted = (ontology, encoder, tau, use_drift)
    return next(row for row in rows if (row["ontology"], row["encoder"], row["tau"], row["drift"]) == wanted)


def mean_of(rows: Rows, encoder: str, tau: float | None, use_drift: bool) -> dict[str, float]:
    """Average over the ontologies."""
    names = dict.fromkeys(row["ontology"] for row in rows)
    found = [one_row(rows, name, encoder, tau, use_drift) for name in names]
    keys = ("precision", "recall", "unrelated_kept")
    return {key: sum(row[key] for row in found) / len(found) for key in keys}


def suiting_tau(rows: Rows, encoder: str) -> float:
    """Return the lowest tau that stops unrelated aliases everywhere, beside the condition on neighbours."""
    some = [row for row in rows if row["encoder"] == encoder and row["drift"] and row["tau"] is not None]
    taus = sorted({row["tau"] for row in some})
    return next(tau for tau in taus if all(row["unrelated_kept"] <= STRAYS for row in some if row["tau"] == tau))


def plot_drift(rows: Rows, names: list[str], encoders: list[str]) -> None:
    """Draw precision over recall, one panel an ontology."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "drift"})
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, len(names), figsize=(3 * len(names), 3), sharey=True, layout="constrained")
    for panel, name in zip(panels, names, strict=True):
        for number, encoder in enumerate(encoders):
            for use_drift in (False, True):
                some = [one_row(rows, name, encoder, tau, use_drift) for tau in drawn_taus(rows)]
                label = f"{encoder}, {'with drift' if use_drift else 'tau alone'}"
                panel.plot([row["recall"] for row in some], [row["precision"] for row in some],
                           f"C{number}" + (".-" if use_drift else ".:"), label=label)  # fmt: skip
        panel.set(title=name, xlabel="recall", xlim=(0, 1), ylim=(0.5, 1.01))
    panels[0].set_ylabel("precision")
    panels[0].legend(fontsize="small", loc="lower left")
    with replacing(HERE.parent / "docs" / "drift.svg") as path:
        figure.savefig(path, format="svg", metadata={"Date": None})


def drawn_taus(rows: Rows) -> list[float]:
    """Return the taus at which something is kept everywhere."""
    empty = {row["tau"] for row in rows if row["precision"] is None}
    return sorted({row["tau"] for row in rows if row["tau"] is not None} - empty)
