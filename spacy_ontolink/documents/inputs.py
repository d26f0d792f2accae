"""Several files, or a folder of texts, read as one stream of documents whose ids do not collide."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from spacy.language import Language
from spacy.tokens import Doc

from ..errors import DataError, Errors
from .formats.sniff import suffix_of
from .reading import read_documents
from .records import GIVEN
from .tally import STDIN, Tally


class Input(NamedTuple):
    """A file (or a folder or pair of BRAT), and what the ids of its documents begin with; "" leaves them alone."""

    path: Path
    name: str


def find_inputs(paths: Sequence[Path], format: str | None = None) -> list[Input]:
    """Name each input once, in order; a folder that is no BRAT corpus stands for the text files in it.

    Documents are known by their file where there are several: by its name, or if files share that, by its path.

    Raises:
        DataError: One is missing, or a folder without anything to read.
    """
    found: dict[Path, Input] = {}
    for path in paths:
        if path != STDIN and not path.exists():
            raise DataError(Errors.INPUT_MISSING.format(path=path))
        own = [Input(path, path.name or path.resolve().name)]  # that of "." is empty
        for input in _texts_in(path, len(paths) > 1) if _is_of_texts(path, format) else own:
            # The two files of a pair of BRAT are one input.
            pair = input.path.suffix == ".ann" and input.path.with_suffix(".txt")
            found.setdefault((pair or input.path).resolve(), input)
    inputs = list(found.values())
    if len(inputs) == 1 and inputs[0].path == paths[0]:
        return [Input(paths[0], "")]
    times = Counter(input.name for input in inputs)
    return [Input(path, name if times[name] == 1 else path.as_posix()) for path, name in inputs]


def read_inputs(inputs: Iterable[Input], nlp: Language, *, tally: Tally, **options: Any) -> Iterator[Doc]:
    """Stream the documents of all inputs, see ``read_documents`` for the options and what is raised."""
    for path, name in inputs:
        own = Tally()
        for doc in read_documents(path, nlp, tally=own, **options):
            if name:
                id = doc.user_data[GIVEN]["id"]  # of a whole file: its name
                doc.user_data[GIVEN]["id"] = name if id == path.name else f"{name}:{id}"
            yield doc
        tally.add(own)


def _is_of_texts(path: Path, format: str | None) -> bool:
    """Whether a path is a folder whose text files are to be read."""
    return path.is_dir() and (format == "text" or (format is None and next(path.rglob("*.ann"), None) is None))


def _texts_in(folder: Path, named: bool) -> Iterator[Input]:
    """Yield the text files in a folder and in those below it, but no hidden ones, by name."""
    files = [file for file in sorted(folder.rglob("*")) if suffix_of(file) == ".txt" and file.is_file()]
    inner = [(file, file.relative_to(folder)) for file in files]
    texts = [(file, name) for file, name in inner if not any(part.startswith(".") for part in name.parts)]
    if not texts:
        raise DataError(Errors.NO_TEXTS_IN.format(path=folder))
    yield from (Input(file, (folder.resolve().name / name if named else name).as_posix()) for file, name in texts)
