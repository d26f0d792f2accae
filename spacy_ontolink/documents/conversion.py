"""A corpus of one format into another, document by document."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span

from ..errors import ConfigError, DataError, Errors
from ..files import replacing
from .formats import IdRules, Row, gold_ids, row_writer
from .reading import read_corpus_rows, to_doc
from .records import GIVEN, SPANS_KEY
from .tally import STDIN, Place, Tally, name_of


class Converted(NamedTuple):
    """What was met in reading and in writing, and how many mentions there are of each kind worth telling."""

    read: Tally
    written: Tally
    kinds: dict[str, int]


def convert_corpus(
    path: Path,
    output: Path,
    to: str,
    nlp: Language,
    *,
    format: str | None = None,
    rules: IdRules | None = None,
    spans_key: str | None = None,
    overwrite: bool = False,
) -> Converted:
    """Convert a corpus, and warn of what was met in reading it and what the other format has no place for.

    Args:
        path: The corpus, of any format.
        output: The file, or for BRAT the folder, to write; it appears when all is done.
        to: The format to write.
        nlp: Makes the tokens of ``.spacy``.
        format: The format of ``path``, where it is not to be told from the content.
        rules: How ids become CURIEs; those of JSONL and ``.spacy`` change only where a rule of the user says so.
        spans_key: Where a ``.spacy`` file has its mentions.
        overwrite: Replace a BRAT corpus that is there already.

    Raises:
        DataError: The corpus cannot be used, or has no document.
        ConfigError: The output may not be written.
    """
    rules = rules or IdRules()
    read, written = Tally(), Tally()
    kinds = dict.fromkeys(("with several ids", "composite", "discontinuous", "without id"), 0)
    with _writer(output, to, nlp, written, overwrite) as write:
        for place, row in read_corpus_rows(path, format, rules, spans_key, read):
            written.documents += 1
            for mention in row.get("mentions", ()):
                mention["kb_ids"] = rules.applied(mention["kb_ids"], mention["label"])
                _count(mention, kinds)
            write(place, row)
        if not read.documents:
            raise DataError(Errors.NO_DOCUMENTS.format(path=name_of(path)))
    read.warn(name_of(path))
    written.warn("standard output" if output == STDIN else str(output))
    return Converted(read, written, kinds)


def _count(mention: Row, kinds: dict[str, int]) -> None:
    ids = gold_ids(mention["kb_ids"])
    kinds["with several ids"] += len(ids) > 1
    kinds["composite"] += bool(mention.get("composite"))
    kinds["discontinuous"] += len(mention.get("segments") or ()) > 1
    kinds["without id"] += not ids


@contextmanager
def _writer(
    output: Path, to: str, nlp: Language, tally: Tally, overwrite: bool
) -> Iterator[Callable[[Place, Row], None]]:
    if to != "spacy":
        with row_writer(output, to, tally, overwrite) as write:
            yield lambda _, row: write(row)
        return
    if output == STDIN:
        raise ConfigError(Errors.NEEDS_FILE.format(format=to))
    docs = DocBin(attrs=(), store_user_data=True)
    yield lambda place, row: docs.add(_with_ids(to_doc(row, nlp, place, tally, everything=True)))
    with replacing(output) as file:
        docs.to_disk(file)


def _with_ids(doc: Doc) -> Doc:
    """Give each span the first of its gold ids, for tools that look no further."""
    if SPANS_KEY in doc.spans:
        given: list[dict[str, Any]] = doc.user_data[GIVEN]["mentions"]
        doc.spans[SPANS_KEY] = [
            Span(doc, span.start, span.end, label=span.label_, kb_id=(mention["kb_ids"] or [""])[0])
            for span, mention in zip(doc.spans[SPANS_KEY], given, strict=True)
        ]
    return doc
