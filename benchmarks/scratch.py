"""What an encoder that is trained on the ontology alone gains: ``python benchmarks/scratch.py dev`` or ``test``.

For each ontology an n-gram encoder is trained with configs/train_ngrams.cfg as it stands, then measured alone and in a
hybrid with the lexical one, through the spaCy component with its defaults. With --minilm FOLDER, MiniLM is measured
beside them where no other benchmark does so. ``dev`` is what settings may be chosen on; ``test`` is run once.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import json
import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from common import HERE, cpu_seconds, parser, save
from quality import linked

from spacy_ontolink.cli.train_retriever import train_retriever
from spacy_ontolink.encoders.hybrid import make_hybrid_encoder
from spacy_ontolink.encoders.learned import make_ngram_encoder
from spacy_ontolink.encoders.lexical import make_lexical_encoder
from spacy_ontolink.encoders.sentence import SentenceEncoder
from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.kb.readers import read_ontology
from spacy_ontolink.training.holdout import hold_out_synonyms
from spacy_ontolink.types import Encoder

CONFIG = HERE.parent / "configs" / "train_ngrams.cfg"
SEED, SHARE, MOST = 0, 0.2, 1500
WEIGHTS = {"dev": (0.6, 0.8, 0.9), "test": (0.8,)}  # of the trained part in a hybrid
HELD = "synonyms held out of "
SETS = {
    "dev": (f"{HELD}qtldb_vt", f"{HELD}qtldb_cmo", f"{HELD}gsc_plus", "ncbi_disease_biosyn", "gsc_plus"),
    "test": ("qtldb_vt", "qtldb_cmo", "qtldb_lpt", "ncbi_disease_biosyn"),
}


class Mentions(NamedTuple):
    """Mentions in a file, and the ontology that they are linked to, as entities in a file and as a knowledge base."""

    ontology: Path
    kb: KnowledgeBase
    data: Path


class SharedTexts(SentenceEncoder):
    """Encodes each text once for all the spaces that are measured."""

    _known: ClassVar[dict[str, Any]] = {}

    def _encode(self, texts: Sequence[str], done: int = 0, total: int = 0) -> Any:
        import numpy as np

        self.load()
        if new := sorted(set(texts) - set(self._known)):
            vectors, _ = super()._encode(new)
            self._known.update(zip(new, vectors, strict=True))
        return np.stack([self._known[text] for text in texts]), 0


def write_lines(path: Path, records: Sequence[Any]) -> Path:
    """Write JSON lines."""
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return path


def held_out(dictionary: Path, scratch: Path) -> Mentions:
    """Take a share of the EXACT synonyms out of an ontology; at most ``MOST`` of them are mentions."""
    lines = [json.loads(line) for line in dictionary.read_text("utf-8").splitlines()]
    kb = read_ontology(dictionary)
    _, pairs = hold_out_synonyms((kb[id] for id in kb), SHARE, SEED)
    gone = {(id, text) for text, id in pairs}
    for line in lines:
        line["synonyms"] = [one for one in line["synonyms"] if (line["id"], text_of(one)) not in gone]
    random.Random(SEED).shuffle(pairs)
    mentions = [
        {"text": text, "mentions": [{"start": 0, "end": len(text), "text": text, "kb_ids": [id]}]}
        for text, id in pairs[:MOST]
    ]
    ontology = write_lines(scratch / "held.jsonl", lines)
    return Mentions(ontology, read_ontology(ontology), write_lines(scratch / "mentions.jsonl", mentions))


def text_of(synonym: Any) -> str:
    """Return the text of a synonym in a dictionary."""
    return synonym if isinstance(synonym, str) else synonym["text"]


def open_set(name: str, split: str, data: Path, scratch: Path) -> Mentions:
    """Open one of ``SETS``."""
    folder = data / "corpora" / name.removeprefix(HELD)
    if name.startswith(HELD):
        return held_out(folder / "dictionary.jsonl", scratch)
    ontology = folder / "dictionary.jsonl"
    return Mentions(ontology, read_ontology(ontology), folder / f"{split}.jsonl")


def measured(mentions: Mentions, split: str, minilm: str | None, scratch: Path) -> dict[str, dict[str, Any]]:
    """Train, and measure every encoder."""
    model = scratch / "model"
    settings = ["--paths.ontology", json.dumps(str(mentions.ontology)), "--training.device", "cpu"]
    seconds, _ = cpu_seconds(lambda: train_retriever(CONFIG, [], model, settings))
    learned = make_ngram_encoder(str(model))
    encoders: dict[str, Encoder] = {"lexical": make_lexical_encoder(), "trained": learned}
    for weight in WEIGHTS[split]:
        encoders[f"hybrid with trained, {weight}"] = make_hybrid_encoder(make_lexical_encoder(), learned, weight)
    if minilm:
        encoders["MiniLM"] = SharedTexts(minilm)
        encoders["hybrid with MiniLM"] = make_hybrid_encoder(make_lexical_encoder(), SharedTexts(minilm))
    facts = {"trained": {"training_cpu_seconds": round(seconds)}}
    return {
        name: {**linked(mentions.kb, mentions.data, made), **facts.get(name, {})} for name, made in encoders.items()
    }


def main() -> None:
    """Measure and save."""
    made = parser(__doc__)
    made.add_argument("split", choices=("dev", "test"))
    made.add_argument("--minilm", help="folder of MiniLM's weights")
    made.add_argument("--only", help="one of the sets, to look at without saving")
    args = made.parse_args()
    rows = []
    for name in [args.only] if args.only else SETS[args.split]:
        with tempfile.TemporaryDirectory() as scratch:
            found = measured(
                open_set(name, args.split, args.data, Path(scratch)), args.split, args.minilm, Path(scratch)
            )
        for method, row in found.items():
            rows.append({"corpus": name, "method": method, **row})
            numbers = f"{row['recall_at_1']:.3f} {row['recall_at_64']:.3f} {row.get('training_cpu_seconds', '')}"
            sys.stderr.write(f"{name:36} {method:28} {numbers}\n")
    if not args.only:
        command = f"python benchmarks/scratch.py {args.split}" + (" --minilm WEIGHTS" if args.minilm else "")
        save(f"scratch_{args.split}", command, rows, seed=SEED, share=SHARE)


if __name__ == "__main__":
    main()
