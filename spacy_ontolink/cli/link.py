"""``ontolink link``: documents in, documents with ids out."""

from __future__ import annotations

import time
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from .options import From, Links, MentionsFrom, Pipeline

if TYPE_CHECKING:
    from ..documents import Tally

Format = Literal["jsonl", "tsv", "spacy", "html"]
PEEK = 64
"""Documents looked at for mentions before the first is linked; as many go through the pipeline at a time anyway."""
STDOUT = Path("-")
_SUFFIXES: dict[str, Format] = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".tsv": "tsv", ".spacy": "spacy", ".html": "html", ".htm": "html"
}  # fmt: skip
_DEVICES = Path("/dev")


def link(
    pipeline: Pipeline,
    inputs: Annotated[
        list[Path],
        typer.Argument(
            metavar="INPUT...",
            help="Texts, folders of .txt files, or corpora of any format; - is standard input. Of several, ids of "
            "documents begin with the name of their file.",
        ),
    ],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="- is standard output, the default.")] = None,
    mentions: MentionsFrom = None,
    format: Annotated[Format | None, typer.Option(help="[default: by the name of --output, else jsonl]")] = None,
    from_: From = None,
    k: Annotated[int, typer.Option("-k", min=1, help="Candidates to write for each mention (jsonl).")] = 5,
    spans_key: Annotated[
        str | None, typer.Option(help="Span group with the mentions of a .spacy input [default: entities, else sc]")
    ] = None,
    whole_file: Annotated[
        bool, typer.Option("--whole-file", help="Text: one document per file, not per line.")
    ] = False,
    links: Links = "bioregistry",
) -> None:
    """Link the mentions in documents to the ontology of a pipeline."""
    from ..documents import SPANS_KEY, Tally, document_writer, find_inputs, link_pattern, read_inputs
    from ..errors import ConfigError, DataError, Errors
    from ..text import shown
    from .console import count, track
    from .mentions import choose, finder, run
    from .pipelines import adjust, load_pipeline

    start = time.perf_counter()
    link_pattern(links)
    output = None if output == STDOUT else output
    nlp = load_pipeline(pipeline)
    found = find_inputs(inputs, from_)
    if output and output.is_file() and any(path.is_file() and output.samefile(path) for path, _ in found):
        raise ConfigError(Errors.SAME_FILE.format(path=output))
    named = str(inputs[0]) if len(inputs) == 1 else count(len(found), "file")
    format = format or _format_of(output)
    tally = Tally()
    wanted = mentions in (None, "given")
    docs = read_inputs(found, nlp, given=wanted, spans_key=spans_key, whole_file=whole_file, tally=tally, format=from_)
    first = list(islice(docs, PEEK))
    if not first:
        raise DataError(Errors.NO_DOCUMENTS.format(path=named))
    mentions = mentions or choose(nlp, any(SPANS_KEY in doc.spans for doc in first))
    key, find = finder(nlp, mentions, pipeline)
    adjust(nlp, spans_key=key, k=k)
    outcome = {"linked": 0, "NIL": 0, "not looked up": 0}
    title = shown(f"Mentions in {inputs[0].name if len(inputs) == 1 else named} linked by {Path(pipeline).name}")
    with document_writer(output, format, spans_key=key, k=k, links=links, title=title, lang=nlp.lang) as write:
        for doc in run(nlp, track(chain(first, docs), "Linking"), find):
            spans = doc.ents if key is None else doc.spans.get(key, ())
            for span in spans:
                outcome[{"": "not looked up", "NIL": "NIL"}.get(span.kb_id_, "linked")] += 1
            write(doc)
        if mentions == "given" and not tally.mentions:
            hint = " Find some with --mentions ner, noun-chunks or dictionary."
            raise DataError(Errors.NO_MENTIONS.format(path=named, verb="link", hint=hint))
    _summarise(tally, outcome, mentions, time.perf_counter() - start, output)


def _format_of(output: Path | None) -> Format:
    """Return the format that the name of the output tells; JSONL for standard output and devices, which tell none.

    Raises:
        ConfigError: It is a folder, or a file whose name tells no format that is written.
    """
    from ..errors import ConfigError, Errors

    if output is None:
        return "jsonl"
    if output.is_dir():
        raise ConfigError(Errors.OUTPUT_IS_FOLDER.format(path=output, option="--output"))
    if found := _SUFFIXES.get(output.suffix.lower()):
        return found
    if output.exists() and (_DEVICES in output.parents or not output.is_file()):
        return "jsonl"
    raise ConfigError(Errors.LINK_OUTPUT.format(path=output, what=output.suffix or "file without a suffix"))


def _summarise(tally: Tally, outcome: dict[str, int], mentions: str, duration: float, output: Path | None) -> None:
    from .console import count, say, seconds

    total = sum(outcome.values())
    parts = [
        f"{count(tally.documents, 'document')}, {count(total, 'mention')} ({mentions}): {outcome['linked']:,} linked"
    ]
    parts += [f"{outcome[kind]:,} {kind}" for kind in ("NIL", "not looked up") if outcome[kind]]
    if tally.mentions and mentions != "given":
        parts.append(f"{tally.mentions:,} of the input left aside (--mentions given takes them)")
    if tally.bare and mentions == "given":
        unread = count(tally.bare, "document")
        parts.append(f"{unread} of files without mentions left as they are (--mentions dictionary looks for names)")
    if tally.expanded:
        parts.append(f"{tally.expanded:,} widened to whole tokens")
    say(", ".join(parts) + f"; {seconds(duration)}" + (f" -> {output}" if output else ""))
