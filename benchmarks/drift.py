"""How well the ontology-aware filter tells planted drift from true names, as a curve over tau.

    python benchmarks/drift.py                       # with the lexical encoder
    python benchmarks/drift.py --minilm WEIGHTS      # and with MiniLM (made by benchmarks/weights.py)

Half of the EXACT synonyms are taken out of an ontology. Each is a right alias of its own entity; for each, one that was
taken out of a parent, child or sibling is planted on that entity as a wrong alias. So half of the aliases are wrong,
whatever the ontology. Precision is the share of right ones among those kept, recall the share of the right ones that is
kept. Apart from these, a synonym of an unrelated entity is tried on each, which only tau can stop.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import random
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from common import parser, save

from spacy_ontolink.encoders.lexical import make_lexical_encoder
from spacy_ontolink.encoders.sentence import make_sentence_encoder
from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.kb.readers import ReadReport, read_entities
from spacy_ontolink.text import normalise
from spacy_ontolink.training.alias_filter import failures
from spacy_ontolink.training.holdout import hold_out_synonyms
from spacy_ontolink.training.likeness import Likeness, compare, encode_texts
from spacy_ontolink.types import Encoder, Entity

SEED = 0
TAUS = [round(0.3 + 0.05 * step, 2) for step in range(14)]  # 0.30 … 0.95
KINDS = ("right", "drift", "unrelated")
ONTOLOGIES = {"CMO": "cmo.obo", "VT": "vt.obo", "HPO": "hp.obo.gz"}
SHARE = 0.5  # of the EXACT synonyms, taken out
MOST = 5000  # right aliases of one ontology


class Planted(NamedTuple):
    """Aliases of one ontology: their texts, the entities they are given to, and of which kind each is, (A,)."""

    kb: KnowledgeBase
    texts: list[str]
    owner: np.ndarray
    kind: np.ndarray


def main() -> None:
    """Measure and save."""
    made = parser(__doc__)
    made.add_argument("--minilm", help="folder of MiniLM's weights")
    args = made.parse_args()
    rows, facts = [], []
    for name, entities in read_all(args.data):
        planted = plant(name, entities)
        facts.append({"ontology": name, "entities": len(planted.kb), "right": int((planted.kind == "right").sum())})
        encoders: dict[str, Encoder] = {"lexical": make_lexical_encoder()}
        if args.minilm:
            encoders["MiniLM"] = make_sentence_encoder(args.minilm)
        for encoder_name, encoder in encoders.items():
            encoder.fit(planted.kb)
            encoded = encode_texts(planted.kb, planted.owner, planted.texts, encoder)
            alike = compare(planted.kb, planted.owner, encoded)
            found = list(measure(alike, planted.kind))
            rows += [{"ontology": name, "encoder": encoder_name, **row} for row in found]
            sys.stderr.write(f"{name} {encoder_name}: {facts[-1]['right']} right, and as many of each wrong kind\n")
    command = "python benchmarks/drift.py" + (" --minilm WEIGHTS" if args.minilm else "")
    save("drift", command, rows, seed=SEED, ontologies=facts)


def read_all(data: Path) -> Iterator[tuple[str, list[Entity]]]:
    """Read CMO, VT, HPO and MEDIC."""
    for name, file in ONTOLOGIES.items():
        path = data / "ontologies" / file
        yield name, list(read_entities(path, ReadReport(path)))
    yield "MEDIC", medic(data / "corpora")


def medic(corpora: Path) -> list[Entity]:
    """Read MEDIC as the NCBI disease corpus has it, which is without a hierarchy: parents are those of MeSH."""
    path, mesh = corpora / "ncbi_disease" / "dictionary.jsonl", corpora / "bc5cdr" / "dictionary.jsonl.gz"
    entities = list(read_entities(path, ReadReport(path)))
    ids = {entity.id for entity in entities}
    parents = {
        entity.id: tuple(id for id in entity.parents if id in ids)
        for entity in read_entities(mesh, ReadReport(mesh))
        if entity.id in ids
    }
    return [replace(entity, parents=parents.get(entity.id, ())) for entity in entities]


def plant(name: str, entities: list[Entity]) -> Planted:
    """Take synonyms out, and give them to their own entities, to neighbours of these, and to any others."""
    kept, held_out = hold_out_synonyms(entities, SHARE, SEED)
    kb = KnowledgeBase.from_entities(kept, name=name, report=ReadReport(Path(name)))
    taken: dict[str, list[str]] = {}
    for text, id in held_out:
        if id in kb and kb.number_of(id) not in kb.lookup(text):
            taken.setdefault(id, []).append(text)
    chance = random.Random(SEED)
    candidates = [(id, text) for id, texts in taken.items() for text in texts]
    pairs: dict[str, list[tuple[str, str]]] = {kind: [] for kind in KINDS}
    for id, text in chance.sample(candidates, len(candidates)):
        near = kb.neighbours(id)
        names = set(map(normalise, kb.names_of(kb.numbers_of(near))))  # these are dropped before any filter
        own = set(map(normalise, [kb[id].name, *(synonym.text for synonym in kb[id].synonyms), *taken[id]]))
        planted = [other for some in near for other in taken.get(some, ()) if normalise(other) not in own | names]
        if planted and normalise(text) not in names:
            pairs["right"].append((id, text))
            pairs["drift"].append((id, chance.choice(planted)))
            while (stranger := chance.choice(candidates))[0] in (id, *near):
                pass
            pairs["unrelated"].append((id, stranger[1]))
        if len(pairs["right"]) == MOST:
            break
    every = [pair for kind in KINDS for pair in pairs[kind]]
    kinds = np.repeat(KINDS, [len(pairs[kind]) for kind in KINDS])
    return Planted(kb, [text for _, text in every], kb.numbers_of([id for id, _ in every]), kinds)


def measure(alike: Likeness, kind: np.ndarray) -> Iterator[dict[str, Any]]:
    """Yield precision and recall at each tau (None: any likeness), with and without the condition on neighbours."""
    for tau in [None, *TAUS]:
        drifts, far = failures(alike.anchor, alike.drift, -1.0 if tau is None else tau)
        for use_drift in (False, True):
            kept = ~far & ~(drifts & use_drift)
            right, drift = kept[kind == "right"], kept[kind == "drift"]
            n_kept = int(right.sum() + drift.sum())
            yield {
                "tau": tau,
                "drift": use_drift,
                "precision": float(right.sum() / n_kept) if n_kept else None,
                "recall": float(right.mean()),
                "drift_kept": float(drift.mean()),
                "unrelated_kept": float(kept[kind == "unrelated"].mean()),
            }


if __name__ == "__main__":
    main()
