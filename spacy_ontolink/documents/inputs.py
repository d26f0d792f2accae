"""Several files, or a folder of texts, read as one stream of documents whose ids do not collide."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from spacy.language import Language
from spacy.tokens import Doc

from ..errors import DataError, Errors
from ..text import shown
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

    Documents are known by their file where there are several: by its name, or if files share that, by its path. Folders
    are read with those below them, through links, too.

    Raises:
        DataError: One is missing, or a folder without anything to read.
    """
    found: dict[Path, Input] = {}
    for path in paths:
        if path != STDIN and not path.exists():
            raise DataError(Errors.INPUT_MISSING.format(path=path))
        own = [Input(path, shown(path.name or path.resolve().name))]  # that of "." is empty
        for input in _texts_in(path, len(paths) > 1) if _is_of_texts(path, format) else own:
            # The two files of a pair of BRAT are one input.
            pair = input.path.suffix == ".ann" and input.path.with_suffix(".txt")
            found.setdefault((pair or input.path).resolve(), input)
    inputs = list(found.values())
    if len(inputs) == 1 and inputs[0].path == paths[0]:
        return [Input(paths[0], "")]
    while repeated := {name for name, times in Counter(input.name for input in inputs).items() if times > 1}:
        # A path may be the name of another one; paths alone are all different.
        inputs = [Input(path, shown(path.as_posix()) if name in repeated else name) for path, name in inputs]
    return inputs


def files_below(folder: Path, hidden: tuple[str, ...] = (".",), above: tuple[Path, ...] = ()) -> Iterator[Path]:
    """Yield the files in a folder and in those below it by name, through links, but for those that lead back up.

    Args:
        folder: The folder.
        hidden: How names of files and folders begin that are passed over.
        above: The folders that it was come to by.

    Raises:
        OSError: A folder cannot be read.
    """
    if (place := folder.resolve()) in above:
        return
    for path in sorted(folder.iterdir()):
        if path.name.startswith(hidden):
            continue
        if path.is_dir():
            yield from files_below(path, hidden, (*above, place))
        elif path.is_file():
            yield path


def read_inputs(inputs: Iterable[Input], nlp: Language, *, tally: Tally, **options: Any) -> Iterator[Doc]:
    """Stream the documents of all inputs, see ``read_documents`` for the options and what is raised."""
    for path, name in inputs:
        own = Tally()
        for doc in read_documents(path, nlp, tally=own, **options):
            if name:
                id = doc.user_data[GIVEN]["id"]  # of a whole file: its name
                doc.user_data[GIVEN]["id"] = name if id == shown(path.name) else f"{name}:{id}"
            yield doc
        tally.add(own)
        tally.bare += 0 if own.mentions else own.documents


def _is_of_texts(path: Path, format: str | None) -> bool:
    """Whether a path is a folder whose text files are to be read."""
    return path.is_dir() and (format == "text" or (format is None and next(path.rglob("*.ann"), None) is None))


def _texts_in(folder: Path, named: bool) -> Iterator[Input]:
    """Yield the text files in a folder and in those below it, but no hidden ones, by name."""
    files = [file for file in files_below(folder) if suffix_of(file) == ".txt"]
    if not files:
        raise DataError(Errors.NO_TEXTS_IN.format(path=folder))
    above = Path(folder.resolve().name if named else "")
    yield from (Input(file, shown((above / file.relative_to(folder)).as_posix())) for file in files)
