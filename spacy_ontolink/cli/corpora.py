"""Documents of any corpus as plain values: the mentions that a pipeline finds in them, with their sentences."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..training.corpus import CorpusDocument, CorpusMention

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

    from ..documents import Tally

CorpusMentions = Literal["given", "ner", "spans", "noun-chunks", "dictionary"]
PEEK = 64
"""Documents looked at for mentions of the corpus's own."""
REACH = 128
"""Most tokens of its sentence to either side of a mention; text without punctuation is one sentence without end."""


def read_corpus(
    path: Path,
    nlp: Language,
    pipeline: str,
    *,
    mentions: CorpusMentions | None = None,
    spans_key: str | None = None,
    whole_file: bool = False,
    others: Sequence[str] = (),
    tally: Tally | None = None,
    format: str | None = None,
) -> tuple[CorpusMentions, Iterator[CorpusDocument]]:
    """Return where mentions come from, and stream the documents of a file with them.

    Args:
        path: Text, or a corpus of any format.
        nlp: The pipeline; all of it but what links is run.
        pipeline: What to call it in messages.
        mentions: ``given`` in the file; ``ner``: the pipeline's entities; ``spans``: its span group ``spans_key``;
            ``noun-chunks``; ``dictionary``: names of the ontology. By default what is there, in this order.
        spans_key: The span group: of the pipeline for ``spans`` (by default "sc"), of a ``.spacy`` file for ``given``.
        whole_file: Take a text as one document.
        others: Texts that ``dictionary`` finds beside the names, such as generated aliases.
        tally: Counts what was read.
        format: The format of the file, where it is not to be told from the content.

    Raises:
        ConfigError: The pipeline lacks what it takes.
        DataError: The file cannot be used, or has no document.
    """
    from ..documents import SPANS_KEY, read_documents
    from ..errors import DataError, Errors
    from .mentions import choose, finder, finds_spans

    own_key = None if mentions == "spans" else spans_key
    docs = read_documents(path, nlp, spans_key=own_key, whole_file=whole_file, tally=tally, format=format)
    first = list(islice(docs, PEEK))
    if not first:
        raise DataError(Errors.NO_DOCUMENTS.format(path=path))
    chosen = mentions or choose(nlp, any(SPANS_KEY in doc.spans for doc in first))
    key: str | None
    if chosen == "spans":
        key, find = finds_spans(nlp, spans_key or "sc", pipeline)
    else:
        key, find = finder(nlp, chosen, pipeline, others)
    docs = chain(first, docs)
    stream = _found(nlp, docs if chosen == "given" else map(_bare, docs), find)
    return chosen, (_given(doc) if chosen == "given" else _of_spans(doc, key) for doc in stream)


def _found(nlp: Language, docs: Iterable[Doc], find: Any) -> Iterator[Doc]:
    from spacy.pipeline import Sentencizer

    from .pipelines import linkers

    sentencizer = Sentencizer()
    for doc in nlp.pipe(docs, batch_size=64, disable=linkers(nlp)):
        find(doc)
        yield doc if doc.has_annotation("SENT_START") else sentencizer(doc)


def _bare(doc: Doc) -> Doc:
    """Take the file's own mentions off a document, so that they do not pass for what is found."""
    from ..documents import SPANS_KEY

    doc.spans.pop(SPANS_KEY, None)
    doc.ents = ()
    return doc


def _given(doc: Doc) -> CorpusDocument:
    """Take the mentions as the file has them, by its own offsets; each has the gold ids of all at these offsets."""
    given, gold = _gold(doc), _united(doc)
    return _document(doc, [(*place, label, gold[place]) for place, (label, _) in given])


def _of_spans(doc: Doc, key: str | None) -> CorpusDocument:
    """Take the mentions that were found; one at the very offsets of a mention of the file has its gold ids."""
    from ..documents.records import spans_of

    gold = _united(doc)
    found = [(span.start_char, span.end_char, span.label_) for span in spans_of(doc, key)]
    return _document(doc, [(start, end, label, gold.get((start, end), ())) for start, end, label in found])


def _gold(doc: Doc) -> list[tuple[tuple[int, int], tuple[str, tuple[str, ...]]]]:
    """Return the mentions of the file: offsets, label and gold ids."""
    from ..documents import GIVEN

    return [
        ((mention["start"], mention["end"]), (mention["label"], tuple(mention["kb_ids"])))
        for mention in doc.user_data[GIVEN]["mentions"]
    ]


def _united(doc: Doc) -> dict[tuple[int, int], tuple[str, ...]]:
    """Return the gold ids at each place: a file may have a mention for each of several ids."""
    gold: dict[tuple[int, int], tuple[str, ...]] = {}
    for place, (_, ids) in _gold(doc):
        gold[place] = tuple(dict.fromkeys((*gold.get(place, ()), *ids)))
    return gold


def _document(doc: Doc, mentions: list[tuple[int, int, str, tuple[str, ...]]]) -> CorpusDocument:
    from ..documents.records import document_id

    id, text = document_id(doc), doc.text
    starts = [token.i for token in doc if token.is_sent_start or token.i == 0]
    places = [token.idx for token in doc]
    found = []
    for start, end, label, gold in mentions:
        first, last = bisect_right(places, start) - 1, bisect_right(places, end - 1) - 1
        opening, after = starts[bisect_right(starts, first) - 1], bisect_right(starts, last)
        closing = starts[after] if after < len(starts) else len(doc)
        opening, closing = max(opening, first - REACH), min(closing, last + 1 + REACH)
        sentence = text[places[opening] : places[closing - 1] + len(doc[closing - 1])]
        found.append(CorpusMention(id, start, end, text[start:end], places[opening], sentence, label, gold))
    return CorpusDocument(id, text, tuple(found))
