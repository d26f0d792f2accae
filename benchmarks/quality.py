"""Recall on real corpora: lexical, with MiniLM, and beside plain baselines.

    python benchmarks/quality.py                      # lexical and baselines
    python benchmarks/quality.py --minilm weights/    # also MiniLM alone and hybrid (made by benchmarks/weights.py)

Everything runs through the spaCy component on documents, as a user would; all settings are the defaults.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import sys
from pathlib import Path
from typing import Any

import spacy
from common import CharTfidf, parser, read_gold, recalls, save

from spacy_ontolink.cli.evaluate import measure
from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.kb.readers import read_ontology

CORPORA = ("qtldb_vt", "qtldb_cmo", "qtldb_lpt", "ncbi_disease_biosyn", "ncbi_disease")
LEXICAL = {"@ontolink_encoders": "spacy-ontolink.LexicalEncoder.v1"}


def encoders(minilm: str | None) -> dict[str, dict[str, Any]]:
    """Return the encoder blocks to measure."""
    if not minilm:
        return {"lexical": LEXICAL}
    dense = {"@ontolink_encoders": "spacy-ontolink.SentenceEncoder.v1", "model": minilm}
    hybrid = {"@ontolink_encoders": "spacy-ontolink.HybridEncoder.v1", "lexical": LEXICAL, "dense": dense}
    return {"minilm": dense, "hybrid": hybrid}


def linked(kb: KnowledgeBase, data: Path, **config: Any) -> dict[str, Any]:
    """Measure one configuration of the component on one test file."""
    nlp = spacy.blank("en")
    retriever = nlp.add_pipe("ontolink_retriever", config=config)
    retriever.initialize(list, nlp=nlp, kb_loader=lambda: kb)
    result = measure(nlp, data)
    kept = ("n", "recall_at_1", "recall_at_5", "recall_at_50", "recall_at_64", "mrr", "by_overlap")
    return {key: result[key] for key in kept}


def baselines(kb: KnowledgeBase, data: Path) -> dict[str, dict[str, Any]]:
    """Measure an exact look-up and character 3-grams."""
    texts, gold = read_gold(data, kb)
    return {
        "exact name": {"n": len(texts), **recalls([kb.lookup(text).tolist() for text in texts], gold)},
        "char-3 TF-IDF": {"n": len(texts), **recalls(CharTfidf(kb).search(texts, 64), gold)},
    }


def main() -> None:
    """Measure and save."""
    made = parser(__doc__)
    made.add_argument("--minilm", help="folder of MiniLM's weights")
    args = made.parse_args()
    rows = []
    for corpus in CORPORA:
        folder = args.data / "corpora" / corpus
        kb, data = read_ontology(folder / "dictionary.jsonl"), folder / "test.jsonl"
        found = {} if args.minilm else baselines(kb, data)
        for name, encoder in encoders(args.minilm).items():
            if corpus == "ncbi_disease":  # the only one with text around its mentions
                found[f"{name}, mention alone"] = linked(kb, data, encoder=encoder, abbreviations=False)
                found[f"{name}, with long forms"] = linked(kb, data, encoder=encoder)
            else:
                found[name] = linked(kb, data, encoder=encoder)
        rows += [{"corpus": corpus, "method": method, **measures} for method, measures in found.items()]
        for row in rows[-len(found) :]:
            sys.stderr.write(
                f"{row['corpus']:20} {row['method']:28} {row['recall_at_1']:.3f} {row['recall_at_64']:.3f}\n"
            )
    command = "python benchmarks/quality.py" + (" --minilm WEIGHTS" if args.minilm else "")
    save("quality_minilm" if args.minilm else "quality_lexical", command, rows, seed=None)


if __name__ == "__main__":
    main()
