"""``ontolink search``: the ranked candidates of one mention."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from .options import Pipeline


def search(
    pipeline: Pipeline,
    words: Annotated[list[str], typer.Argument(metavar="TEXT...", help='A mention, such as "fat percentage".')],
    k: Annotated[int, typer.Option("-k", min=1, help="How many candidates.")] = 10,
    component: Annotated[
        str | None, typer.Option(help="The retriever to ask, if the pipeline has several [default: the only one]")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per candidate.")] = False,
) -> None:
    """Show what a mention may mean, best first."""
    from spacy.tokens import Span

    from ..documents import SPANS_KEY
    from ..errors import DataError, Errors
    from ..text import printable
    from .mentions import run
    from .pipelines import adjust, load_pipeline, only_retriever, own_label

    text = " ".join(words)  # quoted or not
    if not text.strip():
        raise DataError(Errors.BLANK_MENTION)
    nlp = load_pipeline(pipeline)
    label = own_label(only_retriever(nlp, component, pipeline))
    adjust(nlp, spans_key=SPANS_KEY, k=k)
    doc = nlp.make_doc(text.encode("utf-8", "replace").decode("utf-8"))  # bytes of an argument that are no text
    doc.spans[SPANS_KEY] = [Span(doc, 0, len(doc), label=label)]
    (doc,) = run(nlp, [doc], lambda doc: None)
    (span,) = doc.spans[SPANS_KEY]
    candidates = span._.ontolink[:k]
    if as_json:
        for candidate in candidates:
            typer.echo(json.dumps(candidate, ensure_ascii=False))
        return
    if not candidates:
        typer.echo("NIL")
        return
    wide = max(len(candidate["id"]) for candidate in candidates)
    for candidate in candidates:
        matched = (
            "" if candidate["matched"] == candidate["name"] else f"  ({candidate['scope']}: {candidate['matched']})"
        )
        typer.echo(printable(f"{candidate['score']:7.4f}  {candidate['id']:<{wide}}  {candidate['name']}{matched}"))
