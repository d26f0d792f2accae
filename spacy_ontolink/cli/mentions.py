"""Where mentions come from, and the run of a pipeline over documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, get_args

from ..errors import ConfigError, Errors
from .pipelines import linkers, own_label, retriever

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc, Span

Mentions = Literal["given", "ner", "noun-chunks", "dictionary"]

Find = Callable[["Doc"], None]


def choose(nlp: Language, given: bool) -> Mentions:
    """Choose what suits: the file's own mentions, else the pipeline's entities, else names of the ontology."""
    return "given" if given else "ner" if _assigns(nlp, "doc.ents") else "dictionary"


def finder(nlp: Language, mentions: Mentions, pipeline: str, others: Sequence[str] = ()) -> tuple[str | None, Find]:
    """Return the span group that mentions will be in (None for ``doc.ents``), and what puts them there.

    ``others`` are texts that the dictionary finds beside the names of the ontology.

    Raises:
        ConfigError: The pipeline lacks what it takes.
    """
    from ..documents import SPANS_KEY

    needs = {"ner": ("doc.ents", "entities"), "noun-chunks": ("token.dep", "noun chunks")}
    if mentions in needs:
        attribute, what = needs[mentions]
        if not _assigns(nlp, attribute):
            others = " or ".join(other for other in get_args(Mentions) if other not in needs)
            pipes = ", ".join(nlp.pipe_names)
            raise ConfigError(Errors.NO_FINDER.format(path=pipeline, what=what, pipes=pipes, others=others))
    if mentions == "noun-chunks":
        return SPANS_KEY, partial(_put, SPANS_KEY, noun_chunks(nlp, pipeline))
    if mentions == "dictionary":
        return SPANS_KEY, partial(_put, SPANS_KEY, dictionary(nlp, others))
    return (None if mentions == "ner" else SPANS_KEY), _leave


def noun_chunks(nlp: Language, pipeline: str) -> Callable[[Doc], list[Span]]:
    """Return what finds noun chunks; they keep their label, ``NP``, if the retriever takes all or knows this one.

    Else they get one that it links, since it chooses among labels of entities, and a chunk is none.

    Raises:
        ConfigError: spaCy has no noun chunks in the pipeline's language.
    """
    if nlp.Defaults.syntax_iterators.get("noun_chunks") is None:
        raise ConfigError(Errors.NO_NOUN_CHUNKS.format(path=pipeline, lang=nlp.lang, others="given, ner or dictionary"))
    component = retriever(nlp)
    settings = component.settings
    known = settings.labels is None or "NP" in (*settings.labels, *settings.labels_discard, *settings.label_filters)
    label = "" if known else own_label(component)

    def find(doc: Doc) -> list[Span]:
        spans = list(doc.noun_chunks)
        for span in spans:
            span.label_ = label or span.label_
        return spans

    return find


def dictionary(nlp: Language, others: Sequence[str] = ()) -> Callable[[Doc], list[Span]]:
    """Return what finds names of the ontology: of entities that the retriever's ``filters`` let it answer, no others.

    They get a label that the retriever links, and ``others`` are looked for, too.
    """
    from ..components.dictionary import DictionaryMatcher

    component = retriever(nlp)
    kb, label = component.kb, own_label(component)
    match = DictionaryMatcher(kb, nlp.Defaults.stop_words, others, component.masks.get(label, component.masks[""]))

    def find(doc: Doc) -> list[Span]:
        spans = match(doc)
        for span in spans:
            span.label_ = label
        return spans

    return find


def finds_spans(nlp: Language, spans_key: str, pipeline: str) -> tuple[str, Find]:
    """Return the span group that a component of the pipeline fills, and what leaves it as it is.

    Raises:
        ConfigError: No component fills span groups.
    """
    if not _assigns(nlp, "doc.spans"):
        pipes, others = ", ".join(nlp.pipe_names), ", ".join(get_args(Mentions))
        what = f"spans (group '{spans_key}')"
        raise ConfigError(Errors.NO_FINDER.format(path=pipeline, what=what, pipes=pipes, others=others))
    return spans_key, _leave


def run(nlp: Language, docs: Iterable[Doc], find: Find, batch_size: int = 64) -> Iterator[Doc]:
    """Run the pipeline over documents, finding mentions before the first component that links."""
    linking = linkers(nlp)
    docs = nlp.pipe(docs, batch_size=batch_size, disable=linking)
    docs = _each(docs, find)
    for name in linking:
        component: Any = nlp.get_pipe(name)
        docs = component.pipe(docs, batch_size=batch_size)
    yield from docs


def _each(docs: Iterable[Doc], find: Find) -> Iterator[Doc]:
    for doc in docs:
        find(doc)
        yield doc


def _put(spans_key: str, spans_of: Callable[[Doc], list[Any]], doc: Doc) -> None:
    doc.spans[spans_key] = spans_of(doc)


def _leave(doc: Doc) -> None:
    """Leave a document as it is: it has its mentions."""


def _assigns(nlp: Language, attribute: str) -> bool:
    linking = linkers(nlp)
    return any(attribute in nlp.get_pipe_meta(name).assigns for name in nlp.pipe_names if name not in linking)
