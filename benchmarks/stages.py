"""What the stages after the retriever gain: ``python benchmarks/stages.py --data FOLDER --minilm WEIGHTS``.

Runs ``ontolink tune`` on development mentions (never test ones) and keeps what it says of each step. With MiniLM, a
cross-encoder is trained first on mentions of the training split, so that fusion and cascade have a second view; a small
loop does that, and the model is thrown away.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import spacy
from common import cpu_seconds, parser, save
from spacy.language import Language

from spacy_ontolink.prompts.entity_text import EntityTexts
from spacy_ontolink.rerankers import networks
from spacy_ontolink.rerankers.cross_encoder import CrossEncoder
from spacy_ontolink.rerankers.pairs import pair_rows
from spacy_ontolink.space import EntitySpace, Query, retrieve
from spacy_ontolink.types import EntityText, Mention

SEED, HIDE, LIMIT, LIMIT_CONTEXT = 0, 0.1, 1000, 400
TOP_N, NEGATIVES, MENTIONS, BATCH, RATE = 8, 5, 500, 8, 1e-4
WINDOW = 200  # characters to either side of a training mention
TOKENS = {"mention_tokens": 40, "entity_tokens": 32}
CORPORA = ("ncbi_disease", "gsc_plus")
Task = tuple[Mention, list[EntityText]]
"""A mention and some of its candidates, the right one first."""


def pipeline(dictionary: Path) -> Language:
    """Make the pipeline of configs/light.cfg without its fusion."""
    nlp = spacy.blank("en")
    nlp.add_pipe("ontolink_retriever", config={"ontology": str(dictionary)})
    nlp.add_pipe("ontolink_surface_rerank", config={"pooling": 0.1, "name_pooling": 0.5})
    return nlp


def read_tasks(space: EntitySpace, path: Path) -> list[Task]:
    """Return annotated mentions, at most ``MENTIONS`` of them, each with its entity and hard and random negatives."""
    draw = random.Random(SEED)
    found: list[tuple[Mention, set[int]]] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        for given in record["mentions"]:
            gold = {space.kb.number_of(id) for id in map(space.kb.resolve, given["kb_ids"]) if id}
            start, end, text = given["start"], given["end"], record["text"]
            mention = Mention(given["text"], text[max(0, start - WINDOW) : start], text[end : end + WINDOW])
            if gold:
                found.append((mention, gold))
    draw.shuffle(found)
    found = found[:MENTIONS]
    hits = retrieve(space, [Query(mention) for mention, _ in found], 64)
    describe = EntityTexts(space.kb)
    tasks = []
    for (mention, gold), entities in zip(found, hits.entities.tolist(), strict=True):
        wrong = [number for number in entities if number >= 0 and number not in gold]
        hard, rest = wrong[: NEGATIVES // 2 + 1], wrong[NEGATIVES // 2 + 1 :]
        hard += draw.sample(rest, min(len(rest), NEGATIVES - len(hard)))
        tasks.append((mention, describe([min(gold), *hard], mention.text)))
    return tasks


def train(tasks: list[Task], base: Path, out: Path) -> None:
    """Train a cross-encoder for one epoch by cross-entropy over each mention's candidates (Sci-ZSEL, A.4)."""
    import torch

    encoder = CrossEncoder.untrained(str(base), out, SEED, **TOKENS)
    _, tokenizer = encoder.load()
    network, own = networks.open_network(out, networks.cross_encoder, networks.DROPOUT)
    torch.manual_seed(SEED)
    network.train()
    optimizer = torch.optim.AdamW(network.parameters(), lr=RATE)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.05, -(-len(tasks) // BATCH))
    for start in range(0, len(tasks), BATCH):
        batch = tasks[start : start + BATCH]
        rows = pair_rows(tokenizer, [mention for mention, _ in batch], [texts for _, texts in batch])
        inputs = {
            name: torch.as_tensor(value)
            for name, value in tokenizer.pad([row for own_rows in rows for row in own_rows]).items()
        }
        scores = networks.cross_scores(network, inputs)
        losses = [
            torch.nn.functional.cross_entropy(own_scores[None], torch.tensor([0]))
            for own_scores in scores.split([len(own_rows) for own_rows in rows])
        ]
        loss = torch.stack(losses).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if start % (10 * BATCH) == 0:
            print(f"{start} of {len(tasks)} mentions, loss {loss.item():.3f}", file=sys.stderr)
    networks.save_network(out, network, own)


def tune(nlp: Language, dev: Path, scratch: Path, limit: int = LIMIT) -> dict[str, Any]:
    """Save the pipeline, tune it from the command line, and return what that says without its curves."""
    nlp.add_pipe("ontolink_fuse")
    nlp.to_disk(scratch / "pipeline")
    command = [sys.executable, "-m", "spacy_ontolink", "tune", scratch / "pipeline", dev, scratch / "tuned"]
    subprocess.run([*command, "--hide", str(HIDE), "--seed", str(SEED), "--limit", str(limit)], check=True)
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
            component: Any = nlp.get_pipe("ontolink_retriever")
            tasks = read_tasks(component.space, folder / "train.jsonl")
            model = Path(scratch) / "cross-encoder"
            seconds, _ = cpu_seconds(lambda: train(tasks, given.minilm, model))
            reranker = {"@ontolink_rerankers": "spacy-ontolink.CrossEncoder.v1", "model": str(model), **TOKENS}
            nlp.add_pipe("ontolink_context_rerank", config={"reranker": reranker, "top_n": TOP_N})
            said = tune(nlp, folder / "dev.jsonl", Path(scratch), LIMIT_CONTEXT)
        facts = {"trained_on": len(tasks), "candidates": int(np.mean([len(texts) for _, texts in tasks])),
                 "training_cpu_seconds": round(seconds)}  # fmt: skip
        rows.append({"corpus": f"{CORPORA[0]} dev", "views": "retriever, surface, context", **facts, **said})
    with_weights = " --minilm WEIGHTS" if given.minilm else ""
    save("stages", f"python benchmarks/stages.py --data FOLDER{with_weights}", rows, seed=SEED, top_n=TOP_N, hide=HIDE)


if __name__ == "__main__":
    main()
