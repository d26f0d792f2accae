"""What an encoder that is trained on the ontology alone gains: ``python benchmarks/scratch.py``.

For each ontology an n-gram encoder is trained with configs/train_ngrams.cfg as it stands, then measured alone and in a
hybrid with the lexical one, through the spaCy component with its defaults. With ``--minilm FOLDER``, MiniLM is measured
beside them on what benchmarks/quality.py leaves out. ``--only SET`` measures one set and keeps the rows of the others.
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

from common import HERE, RESULTS, cpu_seconds, parser, save
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
WEIGHTS = (0.5, 0.8)  # of the trained part in a hybrid
HELD = "held out of "
SETS = {
    f"{HELD}qtldb_vt": ("mentions",),
    f"{HELD}qtldb_cmo": ("mentions",),
    f"{HELD}gsc_plus": ("mentions",),
    "gsc_plus": ("dev",),
    "ncbi_disease_biosyn": ("dev", "test"),
    "qtldb_vt": ("test",),
    "qtldb_cmo": ("test",),
    "qtldb_lpt": ("test",),
}
Row = dict[str, Any]


class Mentions(NamedTuple):
    """An ontology, as a file and as a knowledge base, and the folder of the files with mentions."""

    ontology: Path
    kb: KnowledgeBase
    folder: Path


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
    write_lines(scratch / "mentions.jsonl", mentions)
    ontology = write_lines(scratch / "held.jsonl", lines)
    return Mentions(ontology, read_ontology(ontology), scratch)


def text_of(synonym: Any) -> str:
    """Return the text of a synonym in a dictionary."""
    return synonym if isinstance(synonym, str) else synonym["text"]


def open_set(name: str, data: Path, scratch: Path) -> Mentions:
    """Open one of ``SETS``."""
    folder = data / "corpora" / name.removeprefix(HELD)
    ontology = folder / "dictionary.jsonl"
    return held_out(ontology, scratch) if name.startswith(HELD) else Mentions(ontology, read_ontology(ontology), folder)


def measured(name: str, mentions: Mentions, minilm: str | None, scratch: Path) -> list[Row]:
    """Train, and measure every encoder on every file of a set."""
    model = scratch / "model"
    settings = ["--paths.ontology", json.dumps(str(mentions.ontology)), "--training.device", "cpu"]
    seconds, _ = cpu_seconds(lambda: train_retriever(CONFIG, [], model, settings))
    learned = make_ngram_encoder(str(model))
    encoders: dict[str, Encoder] = {"lexical": make_lexical_encoder(), "trained": learned}
    for weight in WEIGHTS:
        encoders[f"hybrid, trained by {weight}"] = make_hybrid_encoder(learned, make_lexical_encoder(), weight)
    if minilm and (name.startswith(HELD) or name == "gsc_plus"):
        encoders["MiniLM"] = SharedTexts(minilm)
        encoders["hybrid, MiniLM by 0.6"] = make_hybrid_encoder(SharedTexts(minilm), make_lexical_encoder())
    rows = []
    for method, encoder in encoders.items():
        for split in SETS[name]:
            row = linked(mentions.kb, mentions.folder / f"{split}.jsonl", encoder)
            corpus = name if split == "mentions" else f"{name} {split}"
            spent = {"training_cpu_seconds": round(seconds)} if method == "trained" else {}
            rows.append({"set": name, "corpus": corpus, "method": method, **row, **spent})
            sys.stderr.write(f"{corpus:26} {method:24} {row['recall_at_1']:.3f} {row['recall_at_64']:.3f} {spent}\n")
    return rows


def main() -> None:
    """Measure, and save after each set."""
    made = parser(__doc__)
    made.add_argument("--minilm", help="folder of MiniLM's weights")
    made.add_argument("--only", choices=SETS, nargs="+", default=[*SETS])
    args = made.parse_args()
    file = RESULTS / "scratch.json"
    rows = json.loads(file.read_text("utf-8"))["rows"] if file.exists() else []
    command = "python benchmarks/scratch.py" + (" --minilm WEIGHTS" if args.minilm else "")
    for name in args.only:
        with tempfile.TemporaryDirectory() as folder:
            found = measured(name, open_set(name, args.data, Path(folder)), args.minilm, Path(folder))
        rows = [row for row in rows if row["set"] != name] + found
        rows.sort(key=lambda row: [*SETS].index(row["set"]))
        save("scratch", command, rows, seed=SEED, share=SHARE)


if __name__ == "__main__":
    main()
