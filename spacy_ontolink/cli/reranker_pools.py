"""What a reranker learns from: annotated mentions, and what a saved pipeline finds for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..components.linking import query_of
from ..components.spans import read_answer, read_spans
from ..components.stage import Item
from ..documents import GIVEN, SPANS_KEY, read_documents
from ..errors import DataError, Errors
from ..prompts.entity_text import EntityTexts
from ..space import CandidateScores, Pooling, Query
from ..training.reranker_data import Pool
from ..training.reranker_settings import PoolSettings
from ..types import Floats2d, Ints2d
from .pipelines import linkers
from .training import weight_of

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

_MENTIONS = 512  # scored together: bounds what is in memory

Report = Callable[[int, int], None]
Golds = dict[tuple[int, int, str], dict[int, float]]
"""The entities that are right and what each counts, by offsets and label of a mention.

A file may name a mention once for each. Ids that are named together share its weight, as for a retriever.
"""

Found = tuple[Item, dict[int, float]]
"""A mention that has candidates, and the entities that are right, with what each counts."""


@dataclass(frozen=True)
class Pools:
    """Mentions with their pools.

    Attributes:
        pools: The mentions.
        describe: Gives the texts of entities.
        facts: What was read and what came of it, in plain values.
    """

    pools: list[Pool]
    describe: EntityTexts
    facts: dict[str, Any]


def read_pools(
    nlp: Language,
    retriever: Any,
    paths: Sequence[Path],
    settings: PoolSettings,
    *,
    limit: int | None = None,
    seed: int = 0,
    report: Report = lambda done, total: None,
) -> Pools:
    """Look the mentions of files up, as a reranker in this pipeline would see them.

    Candidates are in the order of the surface stage, or else of the retriever. Their surface scores, which say how hard
    a negative is, are cosines (PILOT, section 3.2): with the stage's weights and pooling, or else the retriever's.

    Args:
        nlp: The pipeline; only this retriever is enabled.
        retriever: The retriever.
        paths: Corpora of any format with gold ids.
        settings: How much is shown of mentions and candidates.
        limit: The most mentions, chosen at random; None for all.
        seed: Of that choice.
        report: Told how many of the documents are looked up.

    Raises:
        DataError: A file cannot be used, or no mention in it has an id that the ontology knows.
    """
    golds: list[Golds] = []
    docs: list[Doc] = []
    facts = {"mentions": 0, "without_gold": 0, "with_unknown_gold_only": 0}
    for path in paths:
        for place, doc in enumerate(read_documents(path, nlp, gold=True)):
            weights = [weight_of(mention, path, place) for mention in doc.user_data[GIVEN]["mentions"]]
            docs.append(doc)
            golds.append(_golds(doc, weights, retriever.kb, facts))
    if not any(golds):
        hint = "" if facts["with_unknown_gold_only"] else " Each mention needs 'kb_ids'."
        names = ", ".join(str(path) for path in paths)
        raise DataError(Errors.NO_MENTIONS.format(path=names, verb="learn from", hint=hint))
    _choose(docs, golds, limit, seed)
    kept = [(doc, own) for doc, own in zip(docs, golds, strict=True) if own]
    parsed = list(nlp.pipe([doc for doc, _ in kept], disable=linkers(nlp)))
    retriever.settings = replace(retriever.settings, spans_key=SPANS_KEY, threshold=None, overwrite=True)
    for number, _ in enumerate(retriever.pipe(parsed), start=1):
        report(number, len(parsed))
    found = list(_found(parsed, [own for _, own in kept], retriever.name))
    pools = [pool for start in range(0, len(found), _MENTIONS)
             for pool in _pools(retriever, found[start : start + _MENTIONS], settings)]  # fmt: skip
    facts |= {
        "mentions_used": len(pools),
        "in_pool": sum(bool(np.isin(pool.gold, pool.candidates).any()) for pool in pools),
    }
    return Pools(pools, EntityTexts(retriever.kb, settings.caps), facts)


def _golds(doc: Doc, weights: Sequence[float], kb: Any, facts: dict[str, int]) -> Golds:
    """Return what is right for each mention of a document, and leave only mentions in it that have something right."""
    spans = list(doc.spans.get(SPANS_KEY, ()))
    golds: Golds = {}
    kept: dict[tuple[int, int, str], Any] = {}
    facts["mentions"] += len(spans)
    for span, mention, weight in zip(spans, doc.user_data[GIVEN]["mentions"], weights, strict=True):
        key = (span.start_char, span.end_char, span.label_)
        live = [now for id in mention["kb_ids"] if (now := kb.resolve(id))]
        facts["without_gold"] += not mention["kb_ids"]
        facts["with_unknown_gold_only"] += bool(mention["kb_ids"]) and not live
        if live:
            kept.setdefault(key, span)
            numbers = list(dict.fromkeys(kb.numbers_of(live).tolist()))
            own = golds.setdefault(key, {})
            for number in numbers:
                own[number] = max(own.get(number, 0.0), weight / len(numbers))
    doc.spans[SPANS_KEY] = list(kept.values())
    return golds


def _choose(docs: Sequence[Doc], golds: Sequence[Golds], limit: int | None, seed: int) -> None:
    """Leave ``limit`` mentions at most, at random."""
    total = sum(len(own) for own in golds)
    if limit is None or total <= limit:
        return
    chosen = iter(np.random.default_rng(seed).permutation(total) < limit)
    for doc, own in zip(docs, golds, strict=True):
        kept = [span for span in doc.spans[SPANS_KEY] if next(chosen)]
        doc.spans[SPANS_KEY] = kept
        keys = {(span.start_char, span.end_char, span.label_) for span in kept}
        for key in own.keys() - keys:
            del own[key]


def _found(docs: Sequence[Doc], golds: Sequence[Golds], component: str) -> Iterator[Found]:
    """Yield the mentions that have candidates, and the entities that are right."""
    for doc, own in zip(docs, golds, strict=True):
        for span in read_spans(doc, SPANS_KEY):
            answer = read_answer(span, SPANS_KEY, component)
            if answer and answer.columns["id"]:
                right = own[span.start_char, span.end_char, span.label_]
                yield Item(span, doc.text, answer), dict(sorted(right.items()))


def _pools(retriever: Any, found: Sequence[Found], settings: PoolSettings) -> Iterator[Pool]:
    """Score candidates and right entities by their names, and put pools together."""
    numbers = [retriever.kb.numbers_of(item.answer.columns["id"]) for item, _ in found]
    rows = [np.concatenate([own, [*gold]]) for own, (_, gold) in zip(numbers, found, strict=True)]
    table = np.full((len(rows), max(map(len, rows))), -1, np.int32)
    for line, row in zip(table, rows, strict=True):
        line[: len(row)] = row
    stage = next((stage for stage in retriever.stages if stage.view == "surface"), None)
    n_context, n_sents = retriever.n_context, retriever.settings.n_sents
    queries = [query_of(item.mention(n_context, n_sents), item.answer.texts) for item, _ in found]
    scores = _surface(retriever, stage, queries, table)
    width = max(map(len, numbers))
    places = np.arange(width) < np.array([len(own) for own in numbers])[:, None]
    ranks = stage.scores(queries, np.where(places, table[:, :width], -1)) if stage else np.zeros(places.shape)
    for (item, gold), candidates, surface, rank in zip(found, numbers, scores, ranks, strict=True):
        own, of_gold = surface[: len(candidates)], surface[len(candidates) : len(candidates) + len(gold)]
        order = np.argsort(-rank[: len(candidates)], kind="stable")[: settings.k]
        mention = item.mention(settings.n_context, settings.n_sents)
        right, weights = np.array([*gold], np.int32), np.array([*gold.values()], np.float32)
        yield Pool(mention, candidates[order], own[order], right, of_gold, weights)


def _surface(retriever: Any, stage: Any, queries: Sequence[Query], entities: Ints2d) -> Floats2d:
    """Return surface scores, (B, K)."""
    settings = stage.resolved if stage else retriever.settings
    pooling = Pooling(settings.name_pooling, settings.pooling) if stage else None
    return CandidateScores(retriever.space, queries, entities, pooling).mixed(settings.weights)
