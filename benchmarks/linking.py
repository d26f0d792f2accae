"""How well whole pipelines link: ``python benchmarks/linking.py --data FOLDER --models FOLDER``.

*Zero-label*: an encoder of n-grams learns the ontology's synonyms, then pairs of names and unlabelled mentions by each
of the three strategies; all settings are the defaults. *Supervised*: the training mentions are names too, counted, and
what the encoder learns from; the pipeline is tuned on the development mentions, which then become names as well. Rows:
the first view alone, then with each later one. The test file is linked when all is settled. *As built with MiniLM*: no
encoder is trained beforehand; there is what ``ontolink build --encoder MINILM --hybrid`` makes.

Models are kept in the folder and not trained again.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import json
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from common import RESULTS, parser, save
from linking_parts import (
    CROSS,
    NAMES,
    NGRAMS,
    SHOWN,
    TOKENS,
    TOP_N,
    Row,
    default_with,
    encoder_of,
    mean,
    measured,
    ontolink,
    pipeline,
    train,
    tuned,
    without_alignment,
)

from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.kb.readers import read_ontology

SEEDS = (0, 1, 2)
ZERO_LABEL, SUPERVISED = "zero-label", "supervised"
WITH, READ, BUILT = ", with MiniLM", ", with a cross-encoder", ", as built with MiniLM"
SETTINGS = (
    *(ZERO_LABEL + how for how in ("", WITH, BUILT)),
    *(SUPERVISED + how for how in ("", READ, WITH, BUILT)),
)
STRATEGIES = ("none", "BASE", "RM-PCS", "PC-POS")
LIMIT, LIMIT_READ = 1000, 300  # mentions to tune on; with a cross-encoder
READ_MENTIONS = 2500  # that it is trained on


class Corpus(NamedTuple):
    """A corpus, where unlabelled mentions come from, and how much of it one machine can afford.

    Attributes:
        name: Of its folder.
        text: The file whose texts, or mentions without their ids, are paired.
        mentions: Where in them mentions are, as ``ontolink pairs`` takes it.
        supervised: Whether it has training mentions.
        seeds: How many seeds there are runs of.
        small: Whether two cores can afford to train on its names, and to tune; else it is the lexical encoder alone
            with default settings.
    """

    name: str
    text: str
    mentions: str
    supervised: bool = False
    seeds: int = 3
    small: bool = True


CORPORA = (
    Corpus("ncbi_disease_biosyn", "train.jsonl", "given", supervised=True, seeds=1),
    Corpus("ncbi_disease", "train.jsonl", "dictionary", supervised=True, seeds=1),
    Corpus("bc5cdr", "train.jsonl", "dictionary", supervised=True, seeds=1, small=False),
    Corpus("gsc_plus", "dev.jsonl", "dictionary", seeds=1),
    Corpus("qtldb_vt", "test.jsonl", "given"),
    Corpus("qtldb_cmo", "test.jsonl", "given"),
    Corpus("qtldb_lpt", "test.jsonl", "given"),
)


class Bench:
    """Everything about one corpus: files, knowledge bases, models."""

    def __init__(self, corpus: Corpus, data: Path, models: Path, options: Any) -> None:
        self.corpus, self.options = corpus, options
        self.folder, self.models = data / "corpora" / corpus.name, models / corpus.name
        self.dictionary = next(self.folder.glob("dictionary.jsonl*"))
        self.dev = self.folder / "dev.jsonl"

    def kb(self, *splits: str) -> KnowledgeBase:
        """Read the dictionary, with the mentions of some splits as names."""
        return read_ontology(self.dictionary, names=[self.folder / f"{split}.jsonl" for split in splits])

    def pairs(self) -> Path:
        """Pair unlabelled mentions with what they name, once."""
        out = self.models / "pairs"
        if not (out / "report.json").is_file():
            base, corpus = self.models / "lexical", self.corpus
            ontolink("build", self.dictionary, base, "--overwrite")
            text, options = self.folder / corpus.text, ("--setting", "p1+synonym", "--ambiguous", "drop")
            ontolink("pairs", base, text, out, *options, "--mentions", corpus.mentions)
        return out / "pairs.jsonl"

    def aligned(self, seed: int, *splits: str) -> Path:
        """Train n-grams on names, and on the mentions of some splits."""
        names = [str(self.folder / f"{split}.jsonl") for split in splits]
        out = self.models / "-".join(("ngrams", *splits, str(seed)))
        where = {"paths__ontology": str(self.dictionary), "data__names": names}
        return train("retriever", NGRAMS, out, **where, alignment__seed=seed)

    def minilm(self, *splits: str) -> Path:
        """Train MiniLM on names, and on the mentions of some splits, once through; its names are short."""
        names = [str(self.folder / f"{split}.jsonl") for split in splits]
        where = {"paths__ontology": str(self.dictionary), "data__names": names, "paths__base": self.options.minilm}
        out = self.models / "-".join(("minilm", *splits))
        return train("retriever", NAMES, out, **where, model__max_length=24, alignment__learning_rate=1e-4)

    def hybrid(self, how: str, *splits: str) -> Row:
        """Describe the hybrid with MiniLM, trained first if the setting asks for it."""
        return default_with(str(self.minilm(*splits)) if how == WITH else self.options.minilm)

    def cross_encoder(self, seed: int, scratch: Path) -> Path:
        """Train MiniLM to read candidates in context: those of a pipeline that does not know the training mentions."""
        out = self.models / f"cross-encoder-{seed}"
        if not (out / "training.cfg").is_file():
            pipeline(self.kb(), default_with(self.options.minilm)).to_disk(scratch / "base")
        few = {"data__limit": READ_MENTIONS, "pool__k": TOP_N, "training__epochs": 1, "model__dropout": 0.1}
        few |= {"negatives__scheme": "hard", "negatives__n": 4, "negatives__n_semi_hard": 2}
        few |= {f"pool__{name}": value for name, value in SHOWN.items()}
        how = {"training__batch_size": 8, "training__learning_rate": 1e-4, "training__schedule": "linear"}
        where = {"data__pipeline": str(scratch / "base"), "model__base": self.options.minilm, "training__seed": seed}
        tokens = {f"model__{name}": value for name, value in TOKENS.items()}
        return train("reranker", CROSS, out, [self.folder / "train.jsonl"], **where, **few, **how, **tokens)

    def paired(self, strategy: str, seed: int) -> Path:
        """Go on with pairs, by one of the strategies."""
        base, out = self.aligned(seed), self.models / f"ngrams-{strategy}-{seed}"
        if strategy == "none":
            return base
        config = without_alignment(self.models / "pairs.cfg")
        where = {"paths__ontology": str(self.dictionary), "model__base": str(base)}
        more = {"sampling__strategy": strategy, "training__seed": seed}
        return train("retriever", config, out, [self.pairs()], **where, **more)


def zero_label(bench: Bench, strategy: str, how: str) -> list[Row]:
    """Measure a pipeline that has seen no label."""
    kb, test = bench.kb(), bench.folder / "test.jsonl"
    if how == BUILT or (how and bench.corpus.small):
        return mean([measured(pipeline(kb, bench.hybrid(how)), test)])
    if not bench.corpus.small:
        return mean([measured(pipeline(kb, encoder_of()), test)])
    encoders = (encoder_of(bench.paired(strategy, seed)) for seed in SEEDS[: bench.corpus.seeds])
    return mean([measured(pipeline(kb, encoder), test) for encoder in encoders])


def supervised(bench: Bench, how: str) -> list[Row]:
    """Measure a pipeline that has seen the training mentions.

    It is tuned on the development mentions, which are then made names as well.
    """
    known, runs, test = bench.kb("train", "dev"), [], bench.folder / "test.jsonl"
    hybrid = bench.hybrid(how, "train") if how and (how != WITH or bench.corpus.small) else None
    if not bench.corpus.small:
        return mean([measured(pipeline(known, hybrid or encoder_of()), test)])
    for seed in SEEDS[: 1 if how else bench.corpus.seeds]:
        encoder = hybrid or encoder_of(bench.aligned(seed, "train"))
        with tempfile.TemporaryDirectory() as scratch:
            reader = bench.cross_encoder(seed, Path(scratch)) if how == READ else None
            untuned, limit = pipeline(bench.kb("train"), encoder, reader), LIMIT_READ if reader else LIMIT
            nlp = tuned(untuned, bench.dev, Path(scratch), limit, seed)
            finder: Any = nlp.get_pipe("ontolink_retriever")
            finder.update(known)
            runs.append(measured(nlp, test))
    return mean(runs)


def keep(facts: Row, found: list[Row]) -> None:
    """Put rows in place of earlier ones of the same facts; another run may have written meanwhile."""
    file = RESULTS / "linking.json"
    rows = json.loads(file.read_text("utf-8"))["rows"] if file.exists() else []
    rows = [row for row in rows if any(row[key] != value for key, value in facts.items())]
    rows += [{**facts, **row} for row in found]
    order = [corpus.name for corpus in CORPORA]
    rows.sort(
        key=lambda row: (order.index(row["corpus"]), SETTINGS.index(row["setting"]), STRATEGIES.index(row["strategy"]))
    )
    save("linking", "python benchmarks/linking.py --data FOLDER --models FOLDER", rows, seed=None)


def main() -> None:
    """Measure, and save after each pipeline."""
    made = parser(__doc__)
    made.add_argument("--models", type=Path, required=True, help="folder to keep models in")
    made.add_argument("--only", nargs="+", choices=[corpus.name for corpus in CORPORA])
    made.add_argument("--settings", nargs="+", choices=SETTINGS, default=(ZERO_LABEL, SUPERVISED))
    made.add_argument("--strategies", nargs="*", choices=STRATEGIES, default=STRATEGIES)
    made.add_argument("--minilm", help="folder of MiniLM's weights, for a setting with it or a cross-encoder")
    options = made.parse_args()
    for corpus in CORPORA:
        if options.only and corpus.name not in options.only:
            continue
        bench = Bench(corpus, options.data, options.models, options)
        for setting in options.settings:
            labels = setting.startswith(SUPERVISED)
            how = setting.removeprefix(SUPERVISED if labels else ZERO_LABEL)
            if labels and not corpus.supervised:
                continue
            for strategy in STRATEGIES[:1] if labels or how or not corpus.small else options.strategies:
                found = supervised(bench, how) if labels else zero_label(bench, strategy, how)
                keep({"corpus": corpus.name, "setting": setting, "strategy": strategy}, found)
                for row in found:
                    sys.stderr.write(f"{corpus.name} {setting} {strategy} {row['row']}: {row['recall_at_1']:.3f}\n")


if __name__ == "__main__":
    main()
