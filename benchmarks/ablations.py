"""What each mechanism for wording gains: ``python benchmarks/ablations.py``.

Each is switched off in turn, the rest as it is by default, on training and development mentions; test sets are not
touched. What changes the n-grams is measured with the n-gram encoder, which nothing random goes into, and with the
default one over several random starts of its projection, whose figures are means.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import dataclasses
import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import spacy
from common import parser, save
from quality import make_default
from scratch import held_out, write_lines

from spacy_ontolink.cli.evaluate import measure_all
from spacy_ontolink.encoders.lexical import make_lexical_encoder
from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.kb.readers import read_ontology
from spacy_ontolink.metrics import Resampling
from spacy_ontolink.metrics.paired import compare
from spacy_ontolink.types import Encoder

SEEDS = (0, 1)
PACKAGE = "spacy_ontolink"
NEVER = re.compile(r"(?!)")
FOLDING = {
    "British and American spelling": ("encoders.folding._SPELLING", NEVER),
    "Roman numerals and ordinals": ("encoders.folding._NUMBER", NEVER),
}
ABBREVIATIONS = {
    "initials first": ("abbreviations.definitions._align_initials", lambda short, text: None),
    "several short forms in one bracket": ("abbreviations.forms.find_joint_abbreviations", lambda text: []),
    "plurals, and pieces around a hyphen": ("abbreviations.forms._derived", lambda short, long: ()),
    "short forms inside long forms": ("abbreviations.forms._written_out", lambda short, long, forms: long),
    "brackets inside a mention": ("abbreviations.forms._OPEN", "(?!)"),
}
OFF: dict[str, tuple[str, Any]] = {**FOLDING, **ABBREVIATIONS}
"""What takes the place of a part of the package, so that a mechanism does nothing."""
ALL_ABBREVIATIONS = "all of these"
DEPTHS = (1, 64)
HELD_OUT = ("gsc_plus", "qtldb_cmo")
"""Ontologies that lose a fifth of their synonyms, as mentions."""


class Mentions(NamedTuple):
    """A file of mentions, and the name of the ontology they are linked to."""

    ontology: str
    path: Path
    in_text: bool = True


@contextmanager
def without(*mechanisms: str) -> Iterator[None]:
    """Switch mechanisms off."""
    patches = [patch(f"{PACKAGE}.{target}", other) for target, other in map(OFF.__getitem__, mechanisms)]
    for one in patches:
        one.start()
    try:
        yield
    finally:
        for one in patches:
            one.stop()


def diseases(path: Path, kb: KnowledgeBase, target: Path) -> Path:
    """Copy documents with the mentions of BC5CDR that have an id of MEDIC."""
    documents = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    for document in documents:
        document["mentions"] = [one for one in document["mentions"] if any(map(kb.resolve, one["kb_ids"]))]
    return write_lines(target, documents)


def open_sets(data: Path, scratch: Path) -> tuple[dict[str, KnowledgeBase], dict[str, Mentions]]:
    """Read the ontologies, and say where the mentions are."""
    corpora = data / "corpora"
    ontologies = {"MEDIC": read_ontology(corpora / "ncbi_disease" / "dictionary.jsonl")}
    sets = {f"ncbi_disease {split}": Mentions("MEDIC", corpora / "ncbi_disease" / f"{split}.jsonl")
            for split in ("dev", "train")}  # fmt: skip
    path = diseases(corpora / "bc5cdr" / "dev.jsonl", ontologies["MEDIC"], scratch / "bc5cdr.jsonl")
    sets["bc5cdr dev, diseases"] = Mentions("MEDIC", path)
    for name in HELD_OUT:
        folder = scratch / name
        folder.mkdir()
        held = held_out(corpora / name / "dictionary.jsonl", folder)
        ontologies[name] = held.kb
        sets[f"held out of {name}"] = Mentions(name, folder / "mentions.jsonl", False)
    return ontologies, sets


def make_pipeline(kb: KnowledgeBase, encoder: Encoder) -> Any:
    """Make a pipeline with all defaults but the encoder."""
    nlp = spacy.blank("en")
    retriever: Any = nlp.add_pipe("ontolink_retriever")
    retriever._parts = (encoder, retriever._parts[1])
    retriever.initialize(list, nlp=nlp, kb_loader=lambda: kb)
    return nlp


class Run(NamedTuple):
    """Ranks of the mentions of a set that have a gold id, (seeds, B), their documents, and composite mentions."""

    ranks: np.ndarray
    documents: list[int]
    composite: Any = None


def run(nlp: Any, mentions: Mentions, **settings: Any) -> Run:
    """Link a set."""
    retriever = nlp.get_pipe("ontolink_retriever")
    before = retriever.settings
    retriever.settings = dataclasses.replace(before, **settings)
    found = measure_all(nlp, mentions.path, resamples=100)
    retriever.settings = before
    given = [one for one in found.outcomes if one.gold]
    ranks = np.array([[one.rank for one in given]])
    return Run(ranks, [one.number for one in given], found.measures["composite"])


def difference(mechanism: str, encoder: str, name: str, on: Run, off: Run) -> dict[str, Any]:
    """Compare two runs over the same mentions, document by document; over seeds by their means."""
    resampling = Resampling(on.documents)
    row: dict[str, Any] = {"mechanism": mechanism, "encoder": encoder, "set": name, "n": len(on.documents)}
    for depth in DEPTHS:
        means = [((one.ranks > 0) & (one.ranks <= depth)).mean(axis=0) for one in (on, off)]
        row[f"recall_at_{depth}"] = compare(*means, resampling)
    starts = (on.ranks == 1).mean(axis=1)
    if len(starts) > 1:
        row["starts"] = starts.tolist()
    if on.composite and on.composite != off.composite:
        row["composite"] = {"with": on.composite, "without": off.composite}
    first = row["recall_at_1"]
    sys.stderr.write(f"{mechanism:36} {encoder:13} {name:24} {first['there']:.4f} -> {first['here']:.4f}\n")
    return row


def folding(
    ontologies: dict[str, KnowledgeBase], sets: dict[str, Mentions], encoder: str, make: Callable[[], Encoder],
    seeds: tuple[int, ...],
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Measure what is done to words, for which every space is built anew."""
    for ontology, kb in ontologies.items():
        own = {name: one for name, one in sets.items() if one.ontology == ontology}
        runs: dict[tuple[str, ...], dict[str, list[Run]]] = {}
        each = [(mechanism,) for mechanism in FOLDING] if len(seeds) == 1 else []
        for off in ((), *each, tuple(FOLDING)):
            for seed in seeds:
                with without(*off), patch(f"{PACKAGE}.encoders.projection._SEED", seed):
                    nlp = make_pipeline(kb, make())
                    for name, mentions in own.items():
                        runs.setdefault(off, {}).setdefault(name, []).append(run(nlp, mentions))
        joined = {off: {name: Run(np.concatenate([one.ranks for one in several]), several[0].documents)
                        for name, several in by_set.items()} for off, by_set in runs.items()}  # fmt: skip
        for off in runs:
            if off:
                mechanism = off[0] if len(off) == 1 else "both"
                for name in own:
                    yield difference(mechanism, encoder, name, joined[()][name], joined[off][name])


def reading(pipelines: dict[str, Any], sets: dict[str, Mentions]) -> Iterator[dict[str, Any]]:
    """Measure what is done to mentions, over spaces that are there."""
    for name, mentions in sets.items():
        nlp = pipelines[mentions.ontology]
        on = run(nlp, mentions)
        if mentions.in_text:
            for mechanisms in (*((one,) for one in ABBREVIATIONS), tuple(ABBREVIATIONS)):
                with without(*mechanisms):
                    off = run(nlp, mentions)
                what = mechanisms[0] if len(mechanisms) == 1 else ALL_ABBREVIATIONS
                yield difference(f"abbreviations: {what}", "lexical", name, on, off)
        yield difference("composite mentions (on request)", "lexical", name, run(nlp, mentions, composites=True), on)


def keep(rows: list[dict[str, Any]]) -> None:
    """Save the rows so far, mechanism by mechanism."""
    order = {mechanism: number for number, mechanism in enumerate([*FOLDING, "both"])}
    rows = sorted(rows, key=lambda row: order.get(row["mechanism"], len(order)))
    spread = {row["set"]: (min(row["starts"]), max(row["starts"])) for row in rows if "starts" in row}
    save("ablations", "python benchmarks/ablations.py", rows, seed=list(SEEDS), spread=spread)


def main() -> None:
    """Measure, and save after each part."""
    args = parser(__doc__).parse_args()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        ontologies, sets = open_sets(args.data, Path(folder))
        parts = (
            reading({name: make_pipeline(kb, make_default()) for name, kb in ontologies.items()}, sets),
            folding(ontologies, sets, "n-grams only", make_lexical_encoder, SEEDS[:1]),
            folding(ontologies, sets, "lexical", make_default, SEEDS),
        )
        for part in parts:
            rows += part
            keep(rows)


if __name__ == "__main__":
    main()
