"""A toy ontology of signs of parts of the body, and pipelines over it."""

import os
import subprocess
import sys
from pathlib import Path

import spacy

ROOT = Path(__file__).parents[2]
PARTS = "arm leg heart liver kidney eye".split()
OTHER_PARTS = "ear skin bone brain hand foot".split()
SIGNS = {"pain": "ache", "swelling": "oedema", "weakness": "paresis", "bleeding": "haemorrhage"}
N_TEXTS = 30
"""Of the corpus, one mention in each."""
TEXT = "Pain of the arm and a swollen heart (OH), then liver aches; kidney bleeding without ear ache."
KINDS = {
    "default": {},
    "inverted": {"index": {"@ontolink_indexes": "spacy-ontolink.InvertedIndex.v1"}},
    "faiss": {"pooling": 0.2, "index": {"@ontolink_indexes": "spacy-ontolink.FaissIndex.v1", "kind": "hnsw"}},
}
"""Settings of a retriever with each kind of index; the encoder is the default one, of sparse and dense rows."""


def signs_obo(parts):
    """Signs of parts of the body, each with two synonyms, as an OBO file."""
    terms = [f"[Term]\nid: P:{place}\nname: abnormal {part}\n" for place, part in enumerate(parts)]
    for place, part in enumerate(parts):
        for number, (sign, other) in enumerate(SIGNS.items()):
            synonyms = f'synonym: "{other} of the {part}" EXACT []\nsynonym: "{part} {other}" RELATED []\n'
            terms.append(f"[Term]\nid: S:{place}{number}\nname: {sign} of the {part}\n{synonyms}is_a: P:{place}\n")
    return "format-version: 1.2\nontology: signs\n\n" + "\n".join(terms)


def make_pipeline(ontology, kind="default", stages=(), **settings):
    """A pipeline that finds phrases, retrieves and decides."""
    nlp = spacy.blank("en")
    phrases = ["Pain of the arm", "swollen heart", "OH", "liver aches", "kidney bleeding", "ear ache"]
    nlp.add_pipe("entity_ruler").add_patterns([{"label": "SIGN", "pattern": phrase} for phrase in phrases])
    nlp.add_pipe("ontolink_retriever", config={"ontology": str(ontology), "k": 5, **KINDS[kind], **settings})
    for stage in stages:
        nlp.add_pipe(stage)
    return nlp


def answers(doc):
    """All that linking left on the entities of a document."""
    return [(x.start_char, x.end_char, x.label_, x.kb_id_, x._.kb_ents, x._.ontolink) for x in doc.ents]


def run_python(code, *arguments, **variables):
    """Run Python in a process of its own, with this folder's modules; return the finished process."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests" / "trust")])
    env = os.environ | {"PYTHONPATH": path} | variables
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)
