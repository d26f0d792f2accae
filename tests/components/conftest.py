import pytest
import spacy
from toy import BF, FAT, below, obo, term

from spacy_ontolink.registry import registry
from spacy_ontolink.types import Reformulation

TERMS = obo(
    term(*FAT, BF),
    term("T:2", "milk yield", below("T:3")),
    term("T:3", "yield trait"),
    term("T:4", "β-carotene level", 'synonym: "beta carotene level" EXACT []'),
    term("T:5", "café fibre"),
    term("T:8", "lactation amount", "is_obsolete: true", "replaced_by: T:2"),
)

OTHER_TERMS = obo(
    term("X:9", "breast feeding", BF),
    term("X:10", "milk yield of cows"),
    name="other",
)

PHRASES = ["BF", "body fat percentage", "milk yield", "beta-carotene level", "BFP", "zzzqqq"]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ONTOLINK_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def obo(tmp_path):
    path = tmp_path / "toy.obo"
    path.write_text(TERMS, encoding="utf-8")
    return str(path)


@pytest.fixture
def other_obo(tmp_path):
    path = tmp_path / "other.obo"
    path.write_text(OTHER_TERMS, encoding="utf-8")
    return str(path)


@pytest.fixture
def make_nlp(obo):
    """Make a pipeline that finds PHRASES as entities (label TRAIT) and spans ("sc"), and links them to the toy."""

    def make(ruler=True, **config):
        nlp = spacy.blank("en")
        if ruler:
            patterns = [{"label": "TRAIT", "pattern": phrase} for phrase in PHRASES]
            nlp.add_pipe("entity_ruler").add_patterns(patterns)
            nlp.add_pipe("span_ruler", config={"spans_key": "sc"}).add_patterns(patterns)
        nlp.add_pipe("ontolink_retriever", config={"ontology": obo} | config)
        return nlp

    return make


class CountingEncoder:
    """Passes everything on to another encoder and keeps what it was asked to encode."""

    def __init__(self, encoder):
        self._encoder = encoder
        self.seen = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._encoder, name)

    def encode_mentions(self, mentions):
        self.seen += mentions
        return self._encoder.encode_mentions(mentions)


@pytest.fixture
def count_encodings():
    """Return a function that makes a component's encoder count; it returns the list of mentions encoded."""

    def count(component):
        counter = CountingEncoder(component.space.encoder)
        object.__setattr__(component.space, "encoder", counter)
        return counter.seen

    return count


@pytest.fixture
def results():
    """Return a function that gives all that linking left on the entities, or on the spans of a group."""

    def results(doc, key=None):
        spans = doc.spans[key] if key else doc.ents
        return [(x.start, x.end, x.label_, x.id_, x.kb_id_, x._.kb_ents, x._.ontolink) for x in spans]

    return results


class FakeReformulator:
    """Knows one abbreviation, and keeps what it was asked."""

    def __init__(self, seen):
        self.seen = seen

    def reformulate(self, mentions):
        self.seen += mentions
        return [Reformulation("body fat percentage", "fat") if m.text == "BF" else Reformulation() for m in mentions]

    def to_disk(self, path):
        path.mkdir(parents=True)

    def from_disk(self, path):
        return self


@pytest.fixture
def fake_reformulator():
    """Register ``test.Fake.v1``; the list of all mentions that it was asked to rewrite."""
    seen = []
    registry.ontolink_reformulators.register("test.Fake.v1", func=lambda: FakeReformulator(seen))
    return seen
