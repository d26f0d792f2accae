"""What the stages after the retriever gain: ``python benchmarks/stages.py --data FOLDER --minilm WEIGHTS``.

Runs ``ontolink tune`` on development mentions (never test ones) and keeps what it says of each step. With MiniLM,
``ontolink train reranker`` first makes a cross-encoder of it, on a part of the training split, so that fusion and
cascade have a second view; the model is thrown away.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import spacy
from common import HERE, parser, save
from spacy.language import Language

SEED, HIDE, LIMIT, LIMIT_CONTEXT = 0, 0.1, 1000, 400
TOP_N, MENTIONS = 8, 500
TOKENS = {"mention_tokens": 40, "entity_tokens": 32}
CORPORA = ("ncbi_disease", "gsc_plus")
CONFIG = HERE.parent / "configs" / "train_cross_encoder.cfg"
SETTINGS = {
    "data.limit": MENTIONS,
    "pool.k": TOP_N,
    "negatives.n": 5,
    "training.epochs": 1,
    "training.batch_size": 8,
    "training.learning_rate": 1e-4,
    "training.schedule": "linear",
    "training.seed": SEED,
    **{f"model.{name}": value for name, value in TOKENS.items()},
}
"""Of the cross-encoder: few mentions and one epoch, for a small machine."""


def pipeline(dictionary: Path) -> Language:
    """Make the pipeline of configs/light.cfg without its fusion, on n-grams alone."""
    nlp = spacy.blank("en")
    encoder = {"@ontolink_encoders": "spacy-ontolink.LexicalEncoder.v1"}
    nlp.add_pipe("ontolink_retriever", config={"ontology": str(dictionary), "encoder": encoder})
    nlp.add_pipe("ontolink_surface_rerank")
    return nlp


def ontolink(*arguments: object) -> None:
    """Run the command line."""
    subprocess.run([sys.executable, "-m", "spacy_ontolink", *map(str, arguments)], check=True)


def train(nlp: Language, pairs: Path, base: Path, scratch: Path) -> tuple[Path, list[dict[str, Any]], float]:
    """Train a cross-encoder on the candidates of a pipeline; return its folder, its log and the CPU-seconds."""
    nlp.to_disk(scratch / "base")
    out, before = scratch / "cross-encoder", cpu_of_children()
    given = {"data.pipeline": scratch / "base", "model.base": base, **SETTINGS}
    settings = [f"--{name}={value}" for name, value in given.items()]
    ontolink("train", "reranker", CONFIG, "--pairs", pairs, "--output", out, *settings)
    log = [json.loads(line) for line in (out / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    return out, log, cpu_of_children() - before


def cpu_of_children() -> float:
    """Return the CPU-seconds of all commands that were run so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def tune(nlp: Language, dev: Path, scratch: Path, limit: int = LIMIT) -> dict[str, Any]:
    """Save the pipeline, tune it from the command line, and return what that says without its curves."""
    nlp.add_pipe("ontolink_fuse")
    nlp.to_disk(scratch / "pipeline")
    given = ("--hide", HIDE, "--seed", SEED, "--limit", limit)
    ontolink("tune", scratch / "pipeline", dev, scratch / "tuned", *given)
    said: dict[str, Any] = json.loads((scratch / "tuned" / "tuning.json").read_text(encoding="utf-8"))
    for step in said["steps"]:
        if step["name"] != "cascade":
            step.pop("curve")
    return said


def main() -> None:
    """Tune with and without a context view, and save what each step gained."""
    options = parser(__doc__)
    options.add_argument("--minilm", type=Path, help="the folder that benchmarks/weights.py wrote")
    given = options.parse_args()
    rows = []
    for corpus in CORPORA:
        folder = given.data / "corpora" / corpus
        with tempfile.TemporaryDirectory() as scratch:
            said = tune(pipeline(folder / "dictionary.jsonl"), folder / "dev.jsonl", Path(scratch))
        rows.append({"corpus": f"{corpus} dev", "views": "retriever, surface", **said})
    if given.minilm:
        folder = given.data / "corpora" / CORPORA[0]
        with tempfile.TemporaryDirectory() as scratch:
            nlp = pipeline(folder / "dictionary.jsonl")
            model, log, seconds = train(nlp, folder / "train.jsonl", given.minilm, Path(scratch))
            reranker = {"@ontolink_rerankers": "spacy-ontolink.CrossEncoder.v1", "model": str(model), **TOKENS}
            nlp.add_pipe("ontolink_context_rerank", config={"reranker": reranker, "top_n": TOP_N})
            said = tune(nlp, folder / "dev.jsonl", Path(scratch), LIMIT_CONTEXT)
        facts = {
            "trained_on": log[-1]["items"],
            "loss": [round(log[place]["loss"], 3) for place in (0, len(log) // 2, -1)],
            "training_cpu_seconds": round(seconds),
        }
        rows.append({"corpus": f"{CORPORA[0]} dev", "views": "retriever, surface, context", **facts, **said})
    with_weights = " --minilm WEIGHTS" if given.minilm else ""
    save("stages", f"python benchmarks/stages.py --data FOLDER{with_weights}", rows, seed=SEED, top_n=TOP_N, hide=HIDE)


if __name__ == "__main__":
    main()
