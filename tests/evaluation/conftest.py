import json

import pytest
import spacy
from toy import FAT, TRAIT, below, obo, term

from spacy_ontolink.cli.evaluate import measure_all
from spacy_ontolink.registry import registry

TERMS = obo(
    TRAIT,
    term(*FAT, below("T:0")),
    term("T:3", "yield trait", "namespace: yields", below("T:0")),
    term("T:2", "milk yield", "namespace: yields", "alt_id: T:22", below("T:3")),
    term("T:4", "egg yield", "namespace: yields", below("T:3")),
)


class LongestName:
    """Prefers the longest name."""

    id = "longest"

    def score(self, mentions, candidates):
        import numpy as np

        return [np.array([len(text.name) for text in texts], np.float32) for texts in candidates]

    def to_disk(self, path):
        path.mkdir(parents=True)

    def from_disk(self, path):
        return self


@pytest.fixture
def evaluated(tmp_path, monkeypatch):
    """Run mentions, each a text with its offsets and gold ids, through a pipeline of these stages."""
    monkeypatch.setenv("ONTOLINK_CACHE", str(tmp_path / "cache"))
    registry.ontolink_rerankers.register("test.LongestName.v1", func=LongestName)
    (tmp_path / "toy.obo").write_text(TERMS, "utf-8")
    names = {"surface": "ontolink_surface_rerank", "context": "ontolink_context_rerank", "fused": "ontolink_fuse"}

    def run(*documents, retriever=None, **stages):
        rows = [{"id": f"d{number}", "text": text, "mentions": [
            {"start": start, "end": end, "label": label, "kb_ids": gold} for start, end, label, gold in mentions
        ]} for number, (text, *mentions) in enumerate(documents)]  # fmt: skip
        path = tmp_path / "data.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        nlp = spacy.blank("en")
        nlp.add_pipe("ontolink_retriever", config={"ontology": str(tmp_path / "toy.obo")} | (retriever or {}))
        for view, config in stages.items():
            extra = {"reranker": {"@ontolink_rerankers": "test.LongestName.v1"}} if view == "context" else {}
            nlp.add_pipe(names[view], config=extra | config)
        return measure_all(nlp, path, resamples=100)

    return run
