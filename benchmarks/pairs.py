"""Pairs without labels on real training texts: names and synonyms, and the rules for mentions that fit several.

    python benchmarks/pairs.py --data FOLDER    # FOLDER/corpora/<name>/{dictionary,train}.jsonl

The gold ids of the training texts judge the pairs; nothing else of them is used. No language model is asked.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import spacy
from common import parser, save
from spacy.language import Language

from spacy_ontolink.cli.corpora import read_corpus
from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.kb.readers import read_ontology
from spacy_ontolink.training.corpus import MentionFile
from spacy_ontolink.training.pair_report import PairCounts
from spacy_ontolink.training.pairs import Ambiguous, Matcher, make_pairs

CORPORA = {"ncbi_disease": "dictionary.jsonl", "bc5cdr": "dictionary.jsonl.gz"}
SOURCES = {"p1": {"p1"}, "synonym": {"synonym"}, "p1+synonym": {"p1", "synonym"}}


def linker(kb: KnowledgeBase) -> Language:
    """Make a pipeline that knows the ontology."""
    nlp = spacy.blank("en")
    component: Any = nlp.add_pipe("ontolink_retriever")
    component.initialize(list, nlp=nlp, kb_loader=lambda: kb)
    return nlp


def gold_places(path: Path) -> dict[str, list[tuple[int, int]]]:
    """Return where the mentions with gold ids are, by document."""
    with path.open(encoding="utf-8") as file:
        rows = map(json.loads, file)
        return {row["id"]: [(m["start"], m["end"]) for m in row["mentions"] if m["kb_ids"]] for row in rows}


def rows_of(kb: KnowledgeBase, found: MentionFile, gold: dict[str, list[tuple[int, int]]]) -> Iterator[dict[str, Any]]:
    """Measure every kind of pairs with every rule; say of each pair whether it is at, across or off a gold mention."""
    for name, sources in SOURCES.items():
        matcher = Matcher(kb, sources)
        for rule in get_args(Ambiguous):
            counts, places = PairCounts(kb.resolve), Counter[str]()
            for paired in counts.watch(make_pairs(found, matcher, name, rule)):
                theirs = gold[paired.document.id]
                for pair in paired.pairs:
                    one = pair.mention
                    across = any(one.start < end and start < one.end for start, end in theirs)
                    places["at" if pair.mention.gold else "across" if across else "off"] += 1
            facts, accuracy = counts.facts(), counts.accuracy() or {}
            yield {"pairs_by": name, "rule": rule, **facts, "places": dict(places), "accuracy": accuracy,
                   "n_mentions": len(found), "distinct_mentions": len(found.texts),
                   "gold_mentions": sum(map(len, gold.values())), "found_gold_mentions": found.with_gold}  # fmt: skip


def main() -> None:
    """Measure and save."""
    args = parser(__doc__).parse_args()
    rows: list[dict[str, Any]] = []
    for corpus, dictionary in CORPORA.items():
        folder = args.data / "corpora" / corpus
        kb, data = read_ontology(folder / dictionary), folder / "train.jsonl"
        nlp, gold = linker(kb), gold_places(data)
        for how in ("given", "dictionary"):
            with tempfile.TemporaryDirectory() as scratch, MentionFile(Path(scratch)) as found:
                found.write(read_corpus(data, nlp, corpus, mentions=how)[1])
                rows += [{"corpus": corpus, "mentions_by": how, **row} for row in rows_of(kb, found, gold)]
            for row in rows[-9:]:
                sys.stderr.write(
                    f"{corpus:14} {how:11} {row['pairs_by']:11} {row['rule']:6} {row['total']:7,} "
                    f"{100 * row['accuracy']['accuracy']:.1f} {100 * row['accuracy']['weighted_accuracy']:.1f}\n"
                )
    save("pairs", "python benchmarks/pairs.py --data FOLDER", rows, seed=None)


if __name__ == "__main__":
    main()
