"""What is raced on: ontologies and mentions as plain files that every peer reads alike, and the gold ids."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.kb.readers import ReadReport, read_entities
from spacy_ontolink.training.holdout import hold_out_synonyms
from spacy_ontolink.types import Entity

SHARE, SEED = 0.2, 0
HELD_OUT = "hpo_synonyms"
SETS = ("qtldb_lpt", "qtldb_vt", "qtldb_cmo", HELD_OUT, "ncbi_disease", "gsc_plus", "bc5cdr")
"""Held-out synonyms of HPO, and the test mentions of corpora; from few names to many, but for the order of HPO."""
WITH_TEXT = ("ncbi_disease", "gsc_plus", "bc5cdr")
"""Corpora whose mentions stand in documents."""


class RaceSet(NamedTuple):
    """A set that was written into ``folder``.

    Attributes:
        n_names: Names of all entities.
        texts: The distinct texts of the mentions, as they stand in ``texts.jsonl``.
        text_of: The number of the text of each mention that has a gold id.
        gold: The live ids of each of these; empty where the ontology knows none.
        place: The number of each of these among all mentions of ``documents.jsonl``.
        document: The number of the document that each of these stands in.
    """

    folder: Path
    n_names: int
    texts: list[str]
    text_of: list[int]
    gold: list[set[str]]
    place: list[int]
    document: list[int]


def write_set(name: str, data: Path, folder: Path) -> RaceSet:
    """Write ``entities.jsonl``, ``texts.jsonl`` and, where mentions stand in documents, ``documents.jsonl``."""
    folder.mkdir(parents=True, exist_ok=True)
    corpus = data / "corpora" / name
    dictionary = next(iter(sorted(corpus.glob("dictionary.jsonl*"))), data / "ontologies" / "hp.obo.gz")
    report = ReadReport(dictionary)
    entities = list(read_entities(dictionary, report))
    if name == HELD_OUT:
        entities, pairs = hold_out_synonyms(entities, SHARE, SEED)
        golds: dict[str, set[str]] = {}
        for text, id in pairs:
            golds.setdefault(text, set()).add(id)
        documents = [{"text": text, "mentions": [{"text": text, "kb_ids": sorted(golds[text])}]} for text in golds]
    else:
        documents = [json.loads(line) for line in (corpus / "test.jsonl").read_text("utf-8").splitlines()]
    live = [entity for entity in entities if not entity.obsolete and entity.name]
    _write(folder / "entities.jsonl", map(_plain, live))
    found = [(number, mention) for number, document in enumerate(documents) for mention in document["mentions"]]
    mentions = [mention for _, mention in found]
    place = [number for number, mention in enumerate(mentions) if mention["kb_ids"]]
    number_of: dict[str, int] = {}
    text_of = [number_of.setdefault(mentions[at]["text"], len(number_of)) for at in place]
    _write(folder / "texts.jsonl", number_of)
    if name in WITH_TEXT:
        _write(folder / "documents.jsonl", documents)
    kb = KnowledgeBase.from_entities(entities, name=name, report=report)
    gold = [_live(kb, mentions[at]) for at in place]
    n_names = sum(1 + len(entity.synonyms) for entity in live)
    return RaceSet(folder, n_names, [*number_of], text_of, gold, place, [found[at][0] for at in place])


def _plain(entity: Entity) -> dict[str, Any]:
    names = dict.fromkeys(synonym.text for synonym in entity.synonyms)
    return {"id": entity.id, "name": entity.name, "synonyms": [name for name in names if name != entity.name]}


def _live(kb: KnowledgeBase, mention: Mapping[str, Sequence[str]]) -> set[str]:
    return {id for id in map(kb.resolve, mention["kb_ids"]) if id}


def _write(path: Path, records: Iterable[Any]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)
