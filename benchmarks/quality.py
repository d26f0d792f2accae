"""Recall on real corpora: lexical, with MiniLM, and beside plain baselines.

    python benchmarks/quality.py                      # lexical and baselines
    python benchmarks/quality.py --minilm weights/    # also MiniLM alone and hybrid (made by benchmarks/weights.py)

Everything runs through the spaCy component on documents, as a user would; all settings are the defaults. "With
definitions" is the one choice that is not: the encoder inside a DefinitionEncoder, where a dictionary has definitions.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import spacy
from common import CharTfidf, parser, read_gold, recalls, save

from spacy_ontolink.cli.evaluate import measure
from spacy_ontolink.encoders.aligned import make_aligned_encoder
from spacy_ontolink.encoders.definitions import make_definition_encoder
from spacy_ontolink.encoders.hybrid import make_hybrid_encoder
from spacy_ontolink.encoders.lexical import make_lexical_encoder
from spacy_ontolink.encoders.sentence import SentenceEncoder
from spacy_ontolink.encoders.synonyms import make_synonym_encoder
from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.kb.readers import read_ontology
from spacy_ontolink.types import Encoder, EntityRows

CORPORA = ("qtldb_vt", "qtldb_cmo", "qtldb_lpt", "ncbi_disease_biosyn", "ncbi_disease")


class SharedRows(SentenceEncoder):
    """Encodes the names of an ontology once for all the spaces that are measured."""

    _rows: ClassVar[dict[str, EntityRows]] = {}

    def encode_entities(self, kb: KnowledgeBase, entities: Any = None) -> EntityRows:
        if kb.hash not in self._rows:
            self._rows[kb.hash] = super().encode_entities(kb)
        return self._rows[kb.hash]


def make_default() -> Encoder:
    """Make the default encoder."""
    return make_synonym_encoder(make_lexical_encoder())


def encoders(minilm: str | None) -> dict[str, Callable[[], Encoder]]:
    """Return what makes the encoders to measure."""
    if not minilm:
        return {"n-grams only": make_lexical_encoder, "lexical": make_default}
    return {
        "MiniLM": lambda: SharedRows(minilm),
        "hybrid": lambda: make_hybrid_encoder(make_aligned_encoder(SharedRows(minilm)), make_default()),
    }


def linked(kb: KnowledgeBase, data: Path, encoder: Encoder, **config: Any) -> dict[str, Any]:
    """Measure the component with one encoder on one test file."""
    nlp = spacy.blank("en")
    retriever: Any = nlp.add_pipe("ontolink_retriever", config=config)
    retriever._parts = (encoder, retriever._parts[1])
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
    for corpus in CORPORA[:-1] if args.minilm else CORPORA:
        folder = args.data / "corpora" / corpus
        kb, data = read_ontology(folder / "dictionary.jsonl"), folder / "test.jsonl"
        found = {} if args.minilm else baselines(kb, data)
        for name, make_encoder in encoders(args.minilm).items():
            if corpus == "ncbi_disease":  # the only one with text around its mentions
                found[f"{name}, mention alone"] = linked(kb, data, make_encoder(), abbreviations=False)
                found[f"{name}, with long forms"] = linked(kb, data, make_encoder())
            else:
                found[name] = linked(kb, data, make_encoder())
                if name in ("lexical", "hybrid") and any(map(kb.definition_of, range(len(kb)))):
                    found[f"{name}, with definitions"] = linked(kb, data, make_definition_encoder(make_encoder()))
        rows += [{"corpus": corpus, "method": method, **measures} for method, measures in found.items()]
        for row in rows[-len(found) :]:
            sys.stderr.write(
                f"{row['corpus']:20} {row['method']:28} {row['recall_at_1']:.3f} {row['recall_at_64']:.3f}\n"
            )
    command = "python benchmarks/quality.py" + (" --minilm WEIGHTS" if args.minilm else "")
    save("quality_minilm" if args.minilm else "quality_lexical", command, rows, seed=None)


if __name__ == "__main__":
    main()
