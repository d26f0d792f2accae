"""``ontolink explain``: why a mention got its id."""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import DataError, Errors
from .options import Links, Pipeline

if TYPE_CHECKING:
    from rich.console import Console
    from spacy.language import Language
    from spacy.tokens import Doc

WIDTH = 120
"""Columns of a table that no terminal shows."""

# Of three brackets in a row the inner one belongs to the mention: [[beta[1]]].
_BRACKETS = re.compile(r"\[\[|\]\](?!\])")


def explain(
    pipeline: Pipeline,
    text: Annotated[str, typer.Argument(metavar="TEXT", help='Such as "It has a [[high fat percentage]]."')],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write a page (HTML), too.")] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="How many candidates to show.")] = 10,
    component: Annotated[
        str | None, typer.Option(help="The retriever to ask, if the pipeline has several [default: the only one]")
    ] = None,
    label: Annotated[
        str | None, typer.Option(help="Label of the mentions [default: one that the retriever links, if it goes by it]")
    ] = None,
    links: Links = "bioregistry",
) -> None:
    """Show why the mention marked with [[ ]] got its id.

    All its candidates are shown with the scores of every stage, and why the winner won.
    """
    from ..documents import SPANS_KEY, link_pattern
    from ..report import chain_of, show, write_page
    from ..report import explain as explained
    from .console import count, say, seconds
    from .mentions import run
    from .outputs import check_file
    from .pipelines import adjust, load_pipeline, only_retriever, own_label

    start = time.perf_counter()
    text, places = parse_marks(text.encode("utf-8", "replace").decode("utf-8"))  # bytes of an argument that are no text
    link = link_pattern(links)
    if output is not None:
        check_file("--output", output)
    nlp = load_pipeline(pipeline)
    retriever = only_retriever(nlp, component, pipeline)
    name, label = retriever.name, own_label(retriever) if label is None else label
    adjust(nlp, spans_key=SPANS_KEY, k=1)
    doc = _marked(nlp, text, places, label)
    (doc,) = run(nlp, [doc], lambda doc: None)
    chain = chain_of(nlp, name)
    explanations = [explained(span, chain, k) for span in doc.spans[SPANS_KEY]]
    console = _console()
    for number, explanation in enumerate(explanations):
        if number:
            console.print()
        show(explanation, console)
    if output is not None:
        stages = " → ".join([name, *(stage.name for stage in chain.stages)])
        write_page(output, explanations, link, title="Why these links", lang=nlp.lang,
                   footer=f"{Path(pipeline).name}: {stages}")  # fmt: skip
        say(f"{count(len(explanations), 'mention')}; {seconds(time.perf_counter() - start)} -> {output}")


def parse_marks(text: str) -> tuple[str, list[tuple[int, int]]]:
    """Take the brackets out of a text; return it, and the offsets of what was marked, without spaces around it.

    Raises:
        DataError: Nothing is marked, or not in a way that can be understood.
    """
    clean, end, opened, places = "", 0, -1, []
    for bracket in _BRACKETS.finditer(text):
        clean, end = clean + text[end : bracket.start()], bracket.end()
        if bracket[0] == "[[":
            if opened >= 0:
                raise _bad(bracket, "'[[' follows '[[' without ']]' between them")
            opened = len(clean)
            continue
        if opened < 0:
            raise _bad(bracket, "']]' has no '[[' before it")
        mention = clean[opened:]
        if not mention.strip():
            raise _bad(bracket, "nothing stands between '[[' and ']]'")
        places.append((opened + len(mention) - len(mention.lstrip()), opened + len(mention.rstrip())))
        opened = -1
    if opened >= 0:
        raise DataError(Errors.BAD_MARK.format(position=len(text), reason="a '[[' has no ']]' after it"))
    if not places:
        raise DataError(Errors.NO_MARK)
    return clean + text[end:], places


def _bad(bracket: re.Match[str], reason: str) -> DataError:
    return DataError(Errors.BAD_MARK.format(position=bracket.start() + 1, reason=reason))


def _marked(nlp: Language, text: str, places: list[tuple[int, int]], label: str) -> Doc:
    """Make a document with these mentions; one that begins or ends within a token is widened, and that is said."""
    from ..documents import SPANS_KEY
    from .console import say

    doc = nlp.make_doc(text)
    spans = [doc.char_span(start, end, label=label, alignment_mode="expand") for start, end in places]
    for span, (start, end) in zip(spans, places, strict=True):
        if (span.start_char, span.end_char) != (start, end):
            say(f"ontolink: '{text[start:end]}' was widened to whole tokens: '{span.text}'")
    doc.spans[SPANS_KEY] = spans
    return doc


def _console() -> Console:
    from rich.console import Console

    width = None if sys.stdout.isatty() else WIDTH
    return Console(file=sys.stdout, width=width, highlight=False, markup=False, soft_wrap=False)
