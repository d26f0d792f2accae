"""spacy-ontolink, as a component of a spaCy pipeline with its default settings.

It runs in the benchmark's own environment. Making the documents counts as search. "In documents" opens the pipeline
that was saved, and gets the text around mentions, so that abbreviations are looked up by their long forms.
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
KEY = "race"
LIBRARIES = (
    "pyarrow.ipc",
    "spacy_ontolink.encoders.aligned",
    "spacy_ontolink.encoders.hybrid",
    "spacy_ontolink.encoders.synonyms",
    "spacy_ontolink.indexes.auto",
    "spacy_ontolink.space.retrieval",
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
            return linked(nlp, ((text, [(0, len(text))]) for text in texts))

        def save():
            shutil.rmtree(folder / name, ignore_errors=True)
            nlp.to_disk(folder / name)

        search.save = save
        return search

    return build


def opener(name):
    """Return what opens that pipeline and links the mentions of documents."""

    def build(entities, folder):
        nlp = spacy.load(folder / name)

        def search(documents, k):
            return linked(
                nlp,
                ((text["text"], [(one["start"], one["end"]) for one in text["mentions"]]) for text in documents),
            )

        return search

    return build


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


METHODS = {
    **{f"ontolink {name}": builder(name) for name in ENCODERS},
    **{f"ontolink {name}, in documents": opener(name) for name in ENCODERS},
}
AFTER = {f"ontolink {name}, in documents": f"ontolink {name}" for name in ENCODERS}
DOCUMENTS = tuple(f"ontolink {name}, in documents" for name in ENCODERS)
