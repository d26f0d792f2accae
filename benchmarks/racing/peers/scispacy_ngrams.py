# /// script
# requires-python = "==3.10.*"
# dependencies = ["scispacy==0.6.2", "scipy<1.11", "numpy<2"]
# ///
"""scispaCy's candidate generator: TF-IDF of character 3-grams in an HNSW graph.

It builds its index only with scipy before 1.11, which Python 3.10 is the last to have a wheel of. A new index is
searched with nmslib's own breadth, one that was opened from its files with ``efSearch`` 200. Three times as many names
are asked for as entities. The threshold and the limit of five entities of its component are left out; "in documents"
it looks up the long forms that its own detector finds, as its component does.
"""

import json
import shutil

import spacy
from scispacy.abbreviation import AbbreviationDetector
from scispacy.candidate_generation import CandidateGenerator, LinkerPaths, create_tfidf_ann_index
from scispacy.linking_utils import KnowledgeBase

PACKAGES = ("scispacy", "nmslib-metabrainz", "scipy")
DEPTH = 3  # names looked at for each entity wanted


def ranked(generator, texts, k):
    """Rank entities by their nearest name."""
    return [
        [one.concept_id for one in sorted(found, key=lambda one: -max(one.similarities))][:k]
        for found in generator(texts, DEPTH * k)
    ]


def fresh(entities, folder):
    """Write its knowledge base, build, and search what was built."""
    shutil.rmtree(folder)
    folder.mkdir()
    with (folder / "kb.jsonl").open("w", encoding="utf-8") as file:
        for entity in entities:
            row = {"concept_id": entity["id"], "canonical_name": entity["name"], "aliases": entity["synonyms"]}
            file.write(json.dumps(row) + "\n")
    kb = KnowledgeBase(str(folder / "kb.jsonl"))
    names, vectorizer, index = create_tfidf_ann_index(str(folder), kb)
    generator = CandidateGenerator(index, vectorizer, names, kb)
    return lambda texts, k: ranked(generator, texts, k)


def generator_of(folder):
    """Open the files that ``fresh`` wrote."""
    names, vectorizer, index = LinkerPaths.from_directory(str(folder)).load(ef_search=200)
    return CandidateGenerator(index, vectorizer, names, KnowledgeBase(str(folder / "kb.jsonl")))


def opened(entities, folder):
    """Search an index that was opened."""
    generator = generator_of(folder)
    return lambda texts, k: ranked(generator, texts, k)


def in_documents(entities, folder):
    """The same, with long forms in place of abbreviations."""
    generator, nlp = generator_of(folder), spacy.blank("en")
    detector = AbbreviationDetector(nlp)

    def search(documents, k):
        texts = []
        for document in documents:
            doc = detector(nlp.make_doc(document["text"]))
            long_forms = {(short.start_char, short.end_char): short._.long_form.text for short in doc._.abbreviations}
            for mention in document["mentions"]:
                texts.append(long_forms.get((mention["start"], mention["end"]), mention["text"]))
        return ranked(generator, texts, k)

    return search


METHODS = {"scispaCy, new index": fresh, "scispaCy, opened": opened, "scispaCy, in documents": in_documents}
AFTER = {"scispaCy, opened": "scispaCy, new index", "scispaCy, in documents": "scispaCy, new index"}
DOCUMENTS = ("scispaCy, in documents",)
