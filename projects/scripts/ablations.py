"""Measure a tuned pipeline of configs/pilot.cfg, and what it is without each of its parts (PILOT, section 4.5).

    python projects/scripts/ablations.py PIPELINE TEST OUT

Writes OUT/full.json and OUT/no-….json. As in the paper, parts are switched off in the trained model and nothing else is
tuned anew: a weight of the query set to zero (the others grow to one), pooling left out, one of the two rerankers left
out of the fusion. "No surface negatives" needs a training of its own and is not made here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import spacy

from spacy_ontolink.cli.evaluate import measure, table
from spacy_ontolink.cli.pipelines import retriever
from spacy_ontolink.files import replacing, write_json


def without_weight(number: int) -> Callable[[Any], None]:
    """Set one of a query's three weights to zero, for retrieval and for the surface stage."""

    def change(nlp: Any) -> None:
        finder = retriever(nlp)
        for part in (finder, *(stage for stage in finder.stages if stage.view == "surface")):
            if part.settings.weights is None:
                continue  # those of the retriever
            left = [0.0 if place == number else weight for place, weight in enumerate(part.settings.weights)]
            total = sum(left)
            part.settings = replace(part.settings, weights=tuple(weight / total for weight in left))

    return change


def without_pooling(nlp: Any) -> None:
    """Leave parents and children out of all rows."""
    finder = retriever(nlp)
    finder.settings = replace(finder.settings, pooling=0.0)
    finder.adopt(finder.space.repooled(finder.space.pooling._replace(hierarchy=0.0), finder.fresh_parts()[1]))
    for stage in finder.stages:
        if stage.view == "surface":
            stage.settings = replace(stage.settings, pooling=0.0)


def with_only(view: str) -> Callable[[Any], None]:
    """Leave all scores but one out of the fusion."""

    def change(nlp: Any) -> None:
        fuser = next(stage for stage in retriever(nlp).stages if stage.view == "fused")
        fuser.weights = {name: float(name == view) for name in fuser.weights}
        fuser.calibration = None  # it was fitted to the mixed score

    return change


VARIANTS: dict[str, Callable[[Any], None]] = {
    "full": lambda nlp: None,
    "no-standard-name": without_weight(1),
    "no-hypernym": without_weight(2),
    "no-pooling": without_pooling,
    "no-surface": with_only("context"),
    "no-context": with_only("surface"),
}


def main(pipeline: Path, test: Path, out: Path) -> None:
    """Measure variant by variant; ranks only, so that the threshold plays no part."""
    out.mkdir(parents=True, exist_ok=True)
    for name, change in VARIANTS.items():
        nlp = spacy.load(pipeline)
        change(nlp)
        measures = measure(nlp, test)
        with replacing(out / f"{name}.json") as path:
            write_json(path, {"variant": name, **measures})
        sys.stderr.write(f"{name}\n{table(measures)}\n")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
