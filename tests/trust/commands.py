"""Commands that write, and what must hold of what they wrote: it is whole, whoever interrupted them."""

import importlib.util
import json
from pathlib import Path

from signs import N_TEXTS

from spacy_ontolink.cli.pipelines import load_pipeline, retrievers
from spacy_ontolink.encoders.learned import make_ngram_encoder
from spacy_ontolink.space import manifest

CONFIGS = Path(__file__).parents[2] / "configs"


def check_pipeline(out):
    nlp = load_pipeline(str(out))
    for name in retrievers(nlp):
        manifest.read_manifest(out / name / "space", whole=True)


def check_model(out):
    if (out / "config.json").exists():  # else there is only what a training goes on from
        assert make_ngram_encoder(str(out)).load().size


def check_pairs(out):
    for file in out.glob("[!.]*.json*"):
        text = file.read_text("utf-8")
        if file.suffix == ".jsonl":
            assert all(json.loads(line) for line in text.splitlines())
        else:
            json.loads(text)


def check_rows(out):
    assert len([json.loads(line) for line in out.read_text("utf-8").splitlines()]) == N_TEXTS


COMMANDS = {
    "build": (lambda files, saved, out: ["build", files / "signs.obo", out, "--overwrite"], check_pipeline),
    "tune": (lambda files, saved, out: ["tune", saved(), out, "--overwrite", "--limit", "12"], check_pipeline),
    "update": (lambda files, saved, out: ["update", saved(), files / "newer.obo", out, "--overwrite"], check_pipeline),
    "train": (
        lambda files, saved, out: ["train", "retriever", CONFIGS / "train_ngrams.cfg", "--output", out, "--overwrite",
            "--paths.ontology", files / "signs.obo", "--model.dimensions", "8", "--alignment.epochs", "1"],
        check_model,
    ),
    "pairs": (lambda files, saved, out: ["pairs", saved(), files / "corpus.jsonl", out, "--setting", "synonym"],
        check_pairs),
    "link": (lambda files, saved, out: ["link", saved(), files / "corpus.jsonl", "--output", out, "--format",
        "jsonl"], check_rows),
}  # fmt: skip
"""The arguments by command, of files, saved pipelines and the place to write to; and the check of that place."""
if importlib.util.find_spec("torch") is None:
    del COMMANDS["train"]
