"""What benchmarks/linking.py is made of: models trained once and kept, pipelines, rankings by each view."""

from __future__ import annotations

import contextlib
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import spacy
from common import HERE
from confection import Config
from spacy.language import Language

from spacy_ontolink.cli import app
from spacy_ontolink.cli.build import describe_encoder
from spacy_ontolink.cli.mentions import finder, run
from spacy_ontolink.cli.pipelines import adjust, retriever
from spacy_ontolink.documents import GIVEN, SPANS_KEY, read_documents
from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.metrics import OVERLAPS, overlap, rank_of_gold, summarise

CONFIGS = (HERE.parent / "configs" / f"train_{name}.cfg" for name in ("retriever", "ngrams", "cross_encoder"))
NAMES, NGRAMS, CROSS = CONFIGS
K, TOP_N = 64, 8
TOKENS = {"mention_tokens": 32, "entity_tokens": 32}
SHOWN = {"n_context": 32, "definition": False, "n_parents": 0}
"""What the cross-encoder reads of a candidate: its name, and the synonyms closest to the mention."""
VIEWS = {"retriever": "retriever", "surface": "+ surface", "context": "+ context", "fused": "+ fuse"}
Row = dict[str, Any]


def ontolink(*arguments: object) -> None:
    """Run a command in this process, which spares loading torch each time; what it says goes to standard error."""
    with contextlib.redirect_stdout(sys.stderr):
        app([str(argument) for argument in arguments], standalone_mode=False)


def without_alignment(out: Path) -> Path:
    """Write the config of the n-grams without the first stage, which a model to go on from has behind it."""
    config = Config().from_disk(NGRAMS, interpolate=False)
    config.pop("alignment")
    out.parent.mkdir(parents=True, exist_ok=True)
    config.to_disk(out)
    return out


def train(kind: str, config: Path, out: Path, pairs: Sequence[Path] = (), **settings: Any) -> Path:
    """Train a retriever or a reranker, unless it is there already; dots in settings are written as two underscores."""
    if not (out / "training.cfg").is_file():
        given = [f"--{name.replace('__', '.')}={json.dumps(value)}" for name, value in settings.items()]
        files = [part for path in pairs for part in ("--pairs", path)]
        ontolink("train", kind, config, "--output", out, "--overwrite", *files, *given)
    return out


def encoder_of(ngrams: Path | None = None) -> Row:
    """Describe an encoder as a config does: the lexical one, with a trained one of as much weight beside it."""
    made: Row = {"@ontolink_encoders": "spacy-ontolink.LexicalEncoder.v1"}
    if ngrams:
        part = {"@ontolink_encoders": "spacy-ontolink.NgramEncoder.v1", "model": str(ngrams)}
        made = {"@ontolink_encoders": "spacy-ontolink.HybridEncoder.v1", "lexical": made, "dense": part, "weight": 0.5}
    return made


def default_with(minilm: str) -> Row:
    """Describe the encoder of ``ontolink build --encoder MINILM --hybrid``, whose build learns all that is learned."""
    return describe_encoder(minilm, hybrid=True, weight=0.6)


def pipeline(kb: KnowledgeBase, encoder: Row, cross_encoder: Path | None = None) -> Language:
    """Make a pipeline that retrieves, compares words, reads the candidates in context, and fuses."""
    nlp = spacy.blank("en")
    found: Any = nlp.add_pipe("ontolink_retriever", config={"k": K, "encoder": encoder})
    found.initialize(list, nlp=nlp, kb_loader=lambda: kb)
    nlp.add_pipe("ontolink_surface_rerank")
    if cross_encoder:
        reranker = {"@ontolink_rerankers": "spacy-ontolink.CrossEncoder.v1", "model": str(cross_encoder), **TOKENS}
        nlp.add_pipe("ontolink_context_rerank", config={"reranker": reranker, "top_n": TOP_N, **SHOWN})
    nlp.add_pipe("ontolink_fuse")
    return nlp


def tuned(nlp: Language, dev: Path, scratch: Path, limit: int, seed: int) -> Language:
    """Tune a pipeline on annotated mentions by ``ontolink tune``."""
    nlp.to_disk(scratch / "untuned")
    options = ("--hide", 0, "--limit", limit, "--seed", seed)
    ontolink("tune", scratch / "untuned", dev, scratch / "tuned", *options)
    return spacy.load(scratch / "tuned")


def measured(nlp: Language, data: Path) -> dict[str, Row]:
    """Measure the ranking by each view that the pipeline has; equal scores are in the order of the view before."""
    adjust(nlp, spans_key=SPANS_KEY, k=K)
    kb = retriever(nlp).kb
    with nlp.select_pipes(enable="ontolink_retriever"):
        texts, gold, pools = linked(nlp, data)
    ranked = [[one["id"] for one in pool] for pool in pools]
    pools = linked(nlp, data)[2]
    final = [[one["id"] for one in pool] for pool in pools]
    result = {}
    for view, title in VIEWS.items():
        if any(view in pool[0]["scores"] for pool in pools if pool):
            scores = [{one["id"]: one["scores"].get(view) for one in pool} for pool in pools]
            ranked = [
                sorted(ids, key=lambda id: math.inf if own[id] is None else -own[id])  # those without a score last
                for ids, own in zip(ranked, scores, strict=True)
            ]
            ranked = final if view == "fused" else ranked
            result[title] = ranking(kb, texts, gold, ranked)
    return result


def linked(nlp: Language, data: Path) -> tuple[list[str], list[list[str]], list[list[Row]]]:
    """Return each mention's text, its gold ids and its candidates."""
    docs = list(read_documents(data, nlp))
    gold = [mention["kb_ids"] for doc in docs for mention in doc.user_data[GIVEN]["mentions"]]
    spans = [span for doc in run(nlp, iter(docs), finder(nlp, "given", "")[1]) for span in doc.spans.get(SPANS_KEY, ())]
    return [span.text for span in spans], gold, [list(span._.ontolink or ()) for span in spans]


def ranking(kb: KnowledgeBase, texts: list[str], gold: list[list[str]], ranked: list[list[str]]) -> Row:
    """Measure rankings against gold ids, which are led to today's; unknown ones are never found, and count as NO."""
    ranks, kinds = [], []
    for text, ids, found in zip(texts, gold, ranked, strict=True):
        if ids:
            live = [id for id in map(kb.resolve, ids) if id]
            ranks.append(rank_of_gold(found, live))
            kinds.append(overlap(text, [kb[id].name for id in live]))
    parts = {
        kind: summarise([rank for rank, own in zip(ranks, kinds, strict=True) if own == kind]) for kind in OVERLAPS
    }
    return {**summarise(ranks), "by_overlap": parts}


def mean(runs: Sequence[dict[str, Row]]) -> list[Row]:
    """Lay the rows of several seeds together: means, and the farthest apart that R@1 is."""
    rows = []
    for title in runs[0]:
        own = [run[title] for run in runs]
        row: Row = {"row": title, "n": own[0]["n"], "seeds": len(own)}
        for key in ("recall_at_1", "recall_at_64", "mrr"):
            row[key] = sum(one[key] for one in own) / len(own)
        row["spread"] = max(one["recall_at_1"] for one in own) - min(one["recall_at_1"] for one in own)
        row["by_overlap"] = {
            kind: {
                "n": part["n"],
                "recall_at_1": sum(one["by_overlap"][kind]["recall_at_1"] or 0 for one in own) / len(own),
            }
            for kind, part in own[0]["by_overlap"].items()
        }
        rows.append(row)
    return rows
