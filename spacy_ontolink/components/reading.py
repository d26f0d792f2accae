"""Decides what is to be looked up for each span of a document."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from spacy.tokens import Doc, Span

from ..abbreviations import expand
from ..types import Mention
from .linking import Request
from .settings import RetrieverSettings
from .spans import NO_ANSWER, Answer, read_abbreviations, read_mention, read_sentence


def read_requests(
    doc: Doc,
    spans: Sequence[Span],
    settings: RetrieverSettings,
    n_context: int,
    on_cut: Callable[[int], None],
    reformulates: bool = False,
) -> list[Request | Answer | None]:
    """Return for each span a request, an answer that needs no looking up, or None to leave the span alone.

    ``n_context`` is the tokens of context to either side, 0 if the encoder sees none. ``on_cut`` is called with the
    number of tokens of each mention that had to be cut. For a reformulator, a text that the document repeats stands in
    the sentence of its first occurrence, so that it is asked once.
    """
    text = doc.text
    forms: Mapping[str, str] | None = None
    long_forms: dict[str, str | None] = {}
    sentences: dict[str, Mention] = {}
    items: list[Request | Answer | None] = []
    for span in spans:
        label = span.label_
        if span.start == span.end or (settings.labels is not None and label not in settings.labels):
            items.append(None)
            continue
        if label in settings.labels_discard:
            items.append(NO_ANSWER)
            continue
        mention, cut = read_mention(span, text, n_context, settings.n_sents)
        if cut:
            on_cut(span.end - span.start)
        if settings.abbreviations and mention.text not in long_forms:
            if forms is None:  # the document is searched once
                forms = read_abbreviations(doc, text)
            long_forms[mention.text] = expand(mention.text, forms) if forms else None
        long = long_forms.get(mention.text)
        long_form = Mention(long, mention.left, mention.right) if long else None
        if reformulates and mention.text not in sentences:
            sentences[mention.text] = read_sentence(span, text, mention)
        label_filter = label if label in settings.label_filters else ""
        items.append(Request(mention, long_form, label_filter, sentences.get(mention.text)))
    return items
