"""spacy-ontolink, as a component of a spaCy pipeline with its default settings.

It runs in the benchmark's own environment. Making the documents counts as search. "+ surface" opens the pipeline that
was saved and puts the second pass after it, whose learning counts as build. "In documents" opens it too, and gets the
text around mentions, so that abbreviations are looked up by their long forms.
"""

import importlib
import os
import shutil
from pathlib import Path

import spacy

from spacy_ontolink.components.spans import candidate_ids
from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.kb.readers import ReadReport
from spacy_ontolink.types import Entity, Synonym

PACKAGES = ("spacy-ontolink", "spacy")
KEY, SURFACE, IN_DOCUMENTS = "race", " + surface", ", in documents"
LIBRARIES = (
    "pyarrow.ipc",
    "spacy_ontolink.encoders.aligned",
    "spacy_ontolink.encoders.hybrid",
    "spacy_ontolink.encoders.synonyms",
    "spacy_ontolink.indexes.auto",
    "spacy_ontolink.space.retrieval",
    "spacy_ontolink.space.wording",
)
TORCH = ("sentence_transformers",)


def load_libraries(method):
    """Import what the package itself imports at first use."""
    spacy.blank("en")
    for name in LIBRARIES + (TORCH if "MiniLM" in method else ()):
        importlib.import_module(name)


def encoder(kind, **settings):
    """Describe an encoder, as a config does."""
    return {"@ontolink_encoders": f"spacy-ontolink.{kind}.v1", **settings}


def lexical():
    """Describe the default encoder."""
    return encoder("SynonymEncoder", encoder=encoder("LexicalEncoder"))


def hybrid_minilm():
    """Describe the hybrid that ``ontolink build --encoder MINILM --hybrid`` makes."""
    minilm = encoder("SentenceEncoder", model=os.environ["RACE_MINILM"], device="cpu")
    return encoder("HybridEncoder", lexical=lexical(), dense=encoder("AlignedEncoder", encoder=minilm))


ENCODERS = {"lexical": lexical, "hybrid, MiniLM": hybrid_minilm}


def builder(name):
    """Return what builds a pipeline with one of the encoders, saves it and links texts, each a document by itself."""

    def build(entities, folder):
        nlp = spacy.blank("en")
        config = {"encoder": ENCODERS[name](), "spans_key": KEY}
        component = nlp.add_pipe("ontolink_retriever", config=config)
        component.initialize(list, nlp=nlp, kb_loader=lambda: knowledge_base(entities))

        def search(texts, k):
            return linked(nlp, map(alone, texts))

        def save():
            shutil.rmtree(folder / name, ignore_errors=True)
            nlp.to_disk(folder / name)

        search.save = save
        return search

    return build


def opener(name, surface, where):
    """Return what opens that pipeline, adds the second pass if asked for, and links texts or mentions in documents."""

    def build(entities, folder):
        nlp = spacy.load(folder / name)
        if surface:
            _ = nlp.add_pipe("ontolink_surface_rerank").wording  # learned when first asked for
        return lambda queries, k: linked(nlp, map(given if where else alone, queries))

    return build


def alone(text):
    """Return a text that is all mention, and where in it that stands."""
    return text, [(0, len(text))]


def given(document):
    """Return the text of a document, and where its mentions stand."""
    return document["text"], [(one["start"], one["end"]) for one in document["mentions"]]


def knowledge_base(entities):
    """Make a knowledge base of what every peer gets: ids and names."""
    records = (Entity(one["id"], one["name"], tuple(map(Synonym, one["synonyms"]))) for one in entities)
    return KnowledgeBase.from_entities(records, name="race", report=ReadReport(Path("race")))


def linked(nlp, documents):
    """Link mentions given by their offsets; return the ids of their candidates."""

    def docs():
        for text, places in documents:
            doc = nlp.make_doc(text)
            doc.spans[KEY] = [doc.char_span(*place, alignment_mode="expand", label="MENTION") for place in places]
            yield doc

    return [candidate_ids(span) for doc in nlp.pipe(docs()) for span in doc.spans[KEY]]


OPENED = {
    f"ontolink {name}{surface}{where}": (name, surface, where)
    for name in ENCODERS
    for surface, where in ((SURFACE, ""), ("", IN_DOCUMENTS), (SURFACE, IN_DOCUMENTS))
}
METHODS = {
    **{f"ontolink {name}": builder(name) for name in ENCODERS},
    **{method: opener(*parts) for method, parts in OPENED.items()},
}
AFTER = {method: f"ontolink {name}" for method, (name, *_) in OPENED.items()}
DOCUMENTS = tuple(method for method, (*_, where) in OPENED.items() if where)
