"""A page of linked documents that opens without a network: displaCy's markup, each id a link."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from itertools import pairwise
from typing import Any

from spacy import displacy
from spacy.tokens import Doc

from ..components.spans import NIL
from ..pages import page_head
from .records import document_id, spans_of

LINKED, UNLINKED = "#c9e7d5", "#e5e5e5"

STYLE = """body { max-width: 60rem; margin: 3rem auto; padding: 0 1.5rem; color: #222; background: #fff;
       font: 16px/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 1.4rem; }
h2 { font-size: .85rem; color: #777; font-weight: normal; margin: 2rem 0 .3rem; }
.entities { line-height: 2.6 !important; }
mark { box-decoration-break: clone; -webkit-box-decoration-break: clone; }
mark a { text-decoration: underline !important; }
"""
FOOT = "</body>\n</html>\n"


def head(title: str, lang: str) -> str:
    """Return the page down to the first document."""
    return page_head(title, STYLE, lang)


def figure(doc: Doc, spans_key: str | None, link: Callable[[str], str], records: Sequence[dict[str, Any]]) -> str:
    """Draw one document: entity style, or span style when mentions overlap (displaCy would repeat their text).

    Mentions show the name of their entity (their own label where there is none) and the id as a link.
    """
    spans = spans_of(doc, spans_key)
    marks = [_mark(span, link, record) for span, record in zip(spans, records, strict=True)]
    ordered = sorted(marks, key=lambda mark: (mark["start"], mark["end"]))
    overlapping = any(after["start"] < before["end"] for before, after in pairwise(ordered))
    if overlapping:
        colours = {mark["label"]: mark["params"]["bg"] for mark in marks}
        drawing: dict[str, Any] = {"tokens": [token.text for token in doc], "spans": marks}
        markup = displacy.render(drawing, style="span", manual=True, jupyter=False, options={"colors": colours})
    else:
        markup = displacy.render({"text": doc.text, "ents": marks}, style="ent", manual=True, jupyter=False)
    return f"<h2>{escape(document_id(doc))}</h2>\n{markup}\n"


def _mark(span: Any, link: Callable[[str], str], record: dict[str, Any]) -> dict[str, Any]:
    # displaCy escapes the text only: what comes from an ontology must not become markup, or a format field.
    linked = span.kb_id_ not in ("", NIL)
    label = escape(record.get("name") or span.kb_id_ or span.label_ or "mention")
    mark = {"start": span.start_char, "end": span.end_char, "start_token": span.start, "end_token": span.end,
            "label": label, "params": {"bg": LINKED if linked else UNLINKED}}  # fmt: skip
    if linked:
        mark |= {"kb_id": escape(span.kb_id_), "kb_url": escape(link(span.kb_id_))}
    return mark
