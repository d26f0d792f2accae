import shutil

import numpy as np
import pytest
import spacy
from toy import BF, FAT, TRAIT, below, obo, term

from spacy_ontolink.registry import registry
from spacy_ontolink.report import chain_of, explain
from spacy_ontolink.types import Reformulation

BROWSER = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)

TERMS = obo(
    TRAIT,
    term(*FAT, BF, below("T:0")),
    term("T:3", "yield trait", below("T:0")),
    term("T:2", "milk yield", below("T:3")),
    term("T:4", "egg yield", below("T:3")),
    term("T:5", '<script>alert("fat")</script> & milk', 'synonym: "milky" BROAD []', below("T:3")),
    term("X:9", "breast feeding", 'synonym: "BF" EXACT []'),
)


class FeedingReranker:
    """Prefers names of feeding, and knows nothing of yields."""

    id = "feeding"

    def score(self, mentions, candidates):
        def judge(name):
            return np.nan if "yield" in name else 2.0 if "feeding" in name else -len(name) / 10

        return [np.array([judge(text.name) for text in texts], np.float32) for texts in candidates]

    def to_disk(self, path):
        path.mkdir(parents=True)

    def from_disk(self, path):
        return self


class FixedReformulator:
    def reformulate(self, mentions):
        return [Reformulation("milk yield", "yield trait") for _ in mentions]

    def to_disk(self, path):
        path.mkdir(parents=True)

    def from_disk(self, path):
        return self


@pytest.fixture(scope="session")
def browser():
    """A browser; tests that need one are skipped where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
    if BROWSER is None:
        pytest.skip("needs a browser: apt-get install chromium")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(autouse=True)
def parts(tmp_path, monkeypatch):
    monkeypatch.setenv("ONTOLINK_CACHE", str(tmp_path / "cache"))
    registry.ontolink_rerankers.register("test.Feeding.v1", func=FeedingReranker)
    registry.ontolink_reformulators.register("test.Fixed.v1", func=FixedReformulator)


@pytest.fixture
def make_nlp(tmp_path):
    """Make a pipeline of these stages over the toy ontology; settings by view."""
    path = tmp_path / "toy.obo"
    path.write_text(TERMS, encoding="utf-8")
    names = {"surface": "ontolink_surface_rerank", "context": "ontolink_context_rerank", "fused": "ontolink_fuse"}
    context = {"reranker": {"@ontolink_rerankers": "test.Feeding.v1"}}

    def make(retriever=None, **stages):
        nlp = spacy.blank("en")
        nlp.add_pipe("ontolink_retriever", config={"ontology": str(path), "spans_key": "sc"} | (retriever or {}))
        for view, config in stages.items():
            nlp.add_pipe(names[view], config=(context if view == "context" else {}) | config)
        return nlp

    return make


@pytest.fixture
def explained(make_nlp):
    """Explain one mention, alone or in a text, by a pipeline of these stages."""

    def explained(mention, text="", label="", k=10, nlp=None, **stages):
        nlp = nlp or make_nlp(**stages)
        doc = nlp.make_doc(text or mention)
        start = doc.text.index(mention)
        doc.spans["sc"] = [doc.char_span(start, start + len(mention), label=label)]
        doc = nlp(doc)
        return explain(doc.spans["sc"][0], chain_of(nlp, "ontolink_retriever"), k)

    return explained


@pytest.fixture
def calibration():
    """A calibration as a config has it: the further the first candidate leads, the more probable it is."""
    return {"features": ["fused_lead"], "means": [0.0], "scales": [1.0], "weights": [1.0], "bias": -1.0}
