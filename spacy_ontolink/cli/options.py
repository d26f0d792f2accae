"""Arguments and options that several commands have, in the same words."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from .mentions import Mentions

CorpusFormat = Literal["text", "jsonl", "spacy", "pubtator", "bioc-json", "bioc-xml", "brat"]
Pipeline = Annotated[
    str, typer.Argument(metavar="PIPELINE", help="Folder that 'ontolink build' wrote, or an installed pipeline.")
]
From = Annotated[
    CorpusFormat | None, typer.Option("--from", help="The format of the input [default: told from its content]")
]
MentionsFrom = Annotated[
    Mentions | None,
    typer.Option(
        help="Where mentions come from [default: the input's, if one of its first 64 documents has any, else the "
        "pipeline's entities, else names]"
    ),
]
Links = Annotated[str, typer.Option(help="Web addresses on the page: bioregistry, obo, or a pattern with {id} in it.")]
