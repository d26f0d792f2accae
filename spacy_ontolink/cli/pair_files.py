"""Pairs as documents with gold ids: JSONL, and ``.spacy`` for spaCy's own tools."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from ..atomic import scratch_beside
from ..training.pairs import Paired, to_record

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc, DocBin

PAIRS, DOCBIN = "pairs.jsonl", "pairs.spacy"
SHARD = 100_000
"""Pairs in one ``.spacy`` file, which has to fit in memory; more go to pairs-2.spacy and so on."""


def write_pairs(folder: Path, stream: Iterable[Paired], nlp: Language) -> list[str]:
    """Write the documents that have pairs, all files or none; return their names.

    Each pair is a mention with one id in ``kb_ids``, or a span with it as ``kb_id`` in the group "ontolink", so that a
    mention that is kept with several entities stands there several times.
    """
    from spacy.tokens import DocBin

    with scratch_beside(folder / PAIRS) as scratch:
        shard, size, names = DocBin(attrs=(), store_user_data=True), 0, [PAIRS]
        with (scratch / PAIRS).open("w", encoding="utf-8", newline="\n") as file:
            for paired in stream:
                if not paired.pairs:
                    continue
                if size >= SHARD:
                    names.append(_save(shard, scratch, len(names)))
                    shard, size = DocBin(attrs=(), store_user_data=True), 0
                size += len(paired.pairs)
                mentions = [to_record(pair) for pair in paired.pairs]
                row = {"id": paired.document.id, "text": paired.document.text, "mentions": mentions}
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
                shard.add(_document(paired, nlp))
        names.append(_save(shard, scratch, len(names)))
        for name in names:
            os.replace(scratch / name, folder / name)
    for old in folder.glob("pairs-*.spacy"):  # of an earlier run with more documents
        if old.name not in names:
            old.unlink()
    return names


def _save(shard: DocBin, folder: Path, number: int) -> str:
    name = DOCBIN if number == 1 else DOCBIN.replace(".", f"-{number}.")
    shard.to_disk(folder / name)
    return name


def _document(paired: Paired, nlp: Language) -> Doc:
    """Make a document with a span for each pair; one that begins or ends inside a token is widened."""
    from spacy.tokens import Span

    from ..documents import GIVEN, SPANS_KEY

    doc = nlp.make_doc(paired.document.text)
    records = [to_record(pair) for pair in paired.pairs]
    places = [doc.char_span(record["start"], record["end"], alignment_mode="expand") for record in records]
    doc.spans[SPANS_KEY] = [
        Span(doc, place.start, place.end, label=record["label"], kb_id=record["kb_ids"][0])
        for place, record in zip(places, records, strict=True)
    ]
    doc.user_data[GIVEN] = {"id": paired.document.id, "mentions": records}
    return doc
