"""``ontolink convert``: a corpus of one format into another."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Literal

import typer

from .options import From

Target = Literal["jsonl", "spacy", "pubtator", "bioc-json", "bioc-xml", "brat"]


def convert(
    input: Annotated[
        Path,
        typer.Argument(metavar="INPUT", help="JSONL, .spacy, PubTator, BioC JSON or XML, BRAT (a folder), or text."),
    ],
    output: Annotated[
        Path,
        typer.Argument(metavar="OUTPUT", help="File (BRAT: folder) to write; .gz packs it; - is standard output."),
    ],
    from_: From = None,
    to: Annotated[Target | None, typer.Option("--to", help="[default: told from the name of OUTPUT]")] = None,
    prefix: Annotated[
        list[str] | None,
        typer.Option(
            help="Prefix of ids without one (MESH), of those of a label (Gene=NCBIGene), or another for one that they "
            "have (MeSH:=MESH); may be repeated."
        ),
    ] = None,
    spans_key: Annotated[
        str | None, typer.Option(help="Span group with the mentions of a .spacy input [default: entities, else sc]")
    ] = None,
    lang: Annotated[str, typer.Option(help="Language of the tokeniser, for .spacy.")] = "en",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a folder that holds a BRAT corpus.")] = False,
) -> None:
    """Convert an annotated corpus to another format.

    What the new format has no place for is told.
    """
    import spacy

    from ..documents import CORPUS_FORMATS, IdRules, convert_corpus, format_of
    from ..errors import ConfigError, Errors
    from .console import count, say, seconds

    start = time.perf_counter()
    rules = IdRules.of(prefix or ())
    target = to or format_of(output)
    if target is None:
        formats = ", ".join(format for format in CORPUS_FORMATS if format != "text")
        raise ConfigError(Errors.TO_UNKNOWN.format(path=output, formats=formats))
    if output.exists() and input.exists() and (output.samefile(input) or output.resolve() in input.resolve().parents):
        raise ConfigError(Errors.OUTPUT_IS_INPUT.format(path=output))
    try:
        nlp = spacy.blank(lang)
    except ImportError as error:
        raise ConfigError(Errors.NO_BASE.format(name=lang, reason="no such language")) from error
    done = convert_corpus(
        input, output, target, nlp, format=from_, rules=rules, spans_key=spans_key, overwrite=overwrite
    )
    parts = [count(done.read.documents, "document"), count(done.read.mentions, "mention")]
    parts += [f"{number:,} {kind}" for kind, number in done.kinds.items() if number]
    parts += [f"{done.written.expanded:,} widened to whole tokens"] if done.written.expanded else []
    say(", ".join(parts) + f"; {seconds(time.perf_counter() - start)} -> {output}")
