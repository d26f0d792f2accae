"""What the benchmarks share: where data is, the machine, results as JSON files, a plain baseline."""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import spacy
from spacy.language import Language
from spacy.tokens import Doc, Span

from spacy_ontolink import __version__
from spacy_ontolink.files import replacing, write_json
from spacy_ontolink.kb import KnowledgeBase

HERE = Path(__file__).parent
RESULTS = HERE / "results"
DATA = Path(os.environ.get("ONTOLINK_SHARED_DATA") or HERE.parents[1] / "shared" / "data")


def parser(doc: str) -> argparse.ArgumentParser:
    """Start a command line with the options that all benchmarks have."""
    made = argparse.ArgumentParser(description=doc.splitlines()[0])
    made.add_argument("--data", type=Path, default=DATA, help="folder with corpora/ and ontologies/")
    return made


def save(name: str, command: str, rows: Any, **facts: Any) -> None:
    """Write a result file with the command that made it and the machine."""
    machine = {"cores": os.cpu_count(), "python": platform.python_version(), "spacy": spacy.__version__}
    RESULTS.mkdir(exist_ok=True)
    with replacing(RESULTS / f"{name}.json") as path:
        write_json(path, {"command": command, "version": __version__, "machine": machine, **facts, "rows": rows})


def percent(value: float | None) -> str:
    """Write a share as a percentage."""
    return "–" if value is None else f"{100 * value:.1f}"


def cpu_seconds(run: Callable[[], Any]) -> tuple[float, Any]:
    """Return the CPU-seconds (all threads of this process) that a call takes, and what it returns."""
    start = time.process_time()
    result = run()
    return time.process_time() - start, result


def documents(nlp: Language, texts: Sequence[str]) -> list[Doc]:
    """Make one document per mention, which is its entity."""
    docs = []
    for text in texts:
        doc = nlp.make_doc(text)
        doc.set_ents([Span(doc, 0, len(doc), label="MENTION")])
        docs.append(doc)
    return docs


class CharTfidf:
    """The usual baseline: scikit-learn's TF-IDF of character 3-grams, exact sparse product, best name per entity."""

    def __init__(self, kb: KnowledgeBase) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer

        self.vectorizer = TfidfVectorizer(analyzer="char", ngram_range=(3, 3), dtype=np.float32)
        self.rows = self.vectorizer.fit_transform(kb.name_texts()).T.tocsr()
        self.owner = np.asarray(kb.name_owner)

    def search(self, texts: Sequence[str], k: int, batch: int = 64) -> list[list[int]]:
        """Return the best ``k`` entity numbers per text."""
        found = []
        for start in range(0, len(texts), batch):
            scores = self.vectorizer.transform(texts[start : start + batch]) @ self.rows
            found += [self._best(scores[row], k) for row in range(scores.shape[0])]
        return found

    def _best(self, row: Any, k: int) -> list[int]:
        depth = min(len(row.data), 8 * k)
        top = np.argpartition(-row.data, depth - 1)[:depth] if depth else np.empty(0, int)
        top = top[np.lexsort((row.indices[top], -row.data[top]))]
        return list(dict.fromkeys(self.owner[row.indices[top]].tolist()))[:k]


def recalls(found: Sequence[Sequence[int]], gold: Sequence[set[int]]) -> dict[str, float]:
    """Return recall@1 and recall@64 of entity numbers."""
    pairs = list(zip(found, gold, strict=True))
    return {
        "recall_at_1": float(np.mean([bool(ids) and ids[0] in wanted for ids, wanted in pairs])),
        "recall_at_64": float(np.mean([bool(wanted & set(ids[:64])) for ids, wanted in pairs])),
    }


def read_gold(path: Path, kb: KnowledgeBase) -> tuple[list[str], list[set[int]]]:
    """Return the mentions of a JSONL file that have gold ids, and the numbers of the entities these lead to today."""
    texts, gold = [], []
    with path.open(encoding="utf-8") as file:
        for line in file:
            for mention in json.loads(line)["mentions"]:
                if mention["kb_ids"]:
                    live = [id for id in map(kb.resolve, mention["kb_ids"]) if id]
                    texts.append(mention["text"])
                    gold.append(set(kb.numbers_of(live).tolist()))
    return texts, gold
