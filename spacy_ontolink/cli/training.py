"""What the commands of ``ontolink train`` share: the ontology, annotated mentions, the folder, progress."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..atomic import is_empty
from ..errors import ConfigError, DataError, Errors

if TYPE_CHECKING:
    from spacy.language import Language

    from ..kb import KnowledgeBase
    from ..training.annotations import Annotation
    from ..training.loop import Step
    from ..training.settings import DataSettings

CONFIG = "training.cfg"
"""The settings that a model was trained with, in its folder."""

CONTEXT = 128
"""Tokens to either side of a mention, as the retriever of a pipeline reads them."""


class Source(NamedTuple):
    """The knowledge base, and what reads documents."""

    kb: KnowledgeBase
    nlp: Language


def open_source(data: DataSettings) -> Source:
    """Read ontology files, or open the knowledge base of a saved pipeline.

    Raises:
        OntologyError: A file cannot be used.
        ConfigError: It is no pipeline, or there is no such language.
    """
    import spacy

    from ..kb.readers import read_ontology
    from .console import step
    from .pipelines import load_pipeline, only_retriever

    paths = [data.ontology] if isinstance(data.ontology, str) else data.ontology
    with step(f"Reading {', '.join(Path(path).name for path in paths)}"):
        if len(paths) == 1 and (Path(paths[0]) / "config.cfg").is_file():
            nlp = load_pipeline(paths[0])
            return Source(only_retriever(nlp, None, paths[0]).kb, nlp)
        try:
            nlp = spacy.blank(data.lang)
        except ImportError as error:
            raise ConfigError(Errors.NO_BASE.format(name=data.lang, reason="no such language")) from error
        return Source(read_ontology(paths, format=data.format, columns=data.columns, names=data.names), nlp)


def read_annotations(paths: Sequence[Path], nlp: Language) -> Iterator[Annotation]:
    """Stream the mentions of corpora with their context and ids, as a pipeline would read them.

    Raises:
        DataError: A file cannot be used.
    """
    from ..components.spans import read_mention
    from ..documents import GIVEN, SPANS_KEY, read_documents
    from ..training.annotations import Annotation

    for number, path in enumerate(paths):
        for place, doc in enumerate(read_documents(path, nlp, gold=True)):
            given = doc.user_data[GIVEN]["mentions"]
            for span, record in zip(doc.spans.get(SPANS_KEY, ()), given, strict=True):
                mention, _ = read_mention(span, doc.text, CONTEXT)
                where = (number, place, record["start"], record["end"])
                yield Annotation(mention, where, tuple(record["kb_ids"]), weight_of(record, path, place))


def weight_of(record: dict[str, Any], path: Path, place: int) -> float:
    """Return what a mention of a file counts, 1 if it does not say so.

    Raises:
        DataError: It is no number above 0.
    """
    weight = record.get("weight", 1.0)
    if not isinstance(weight, int | float) or isinstance(weight, bool) or not weight > 0:
        reason = f"'weight' of mention {record['start']}…{record['end']} is {weight!r}, not a number above 0"
        raise DataError(Errors.BAD_LINE.format(path=path, line=place + 1, reason=reason))
    return float(weight)


def check_output(out: Path, overwrite: bool) -> None:
    """Make sure that a model may be written: to a new folder, or to go on with a training that was cut short.

    With ``overwrite``, an earlier model or training there is begun anew.

    Raises:
        ConfigError: Something else is there, or a model is and ``overwrite`` is not given.
    """
    from ..training.loop import CHECKPOINT, LOG

    if not out.exists() or (out.is_dir() and is_empty(out)):
        return
    if not out.is_dir():
        raise ConfigError(Errors.OUT_IS_FILE.format(path=out))
    unfinished = [path for path in (out / CHECKPOINT, out / ALIGNED) if path.exists()]
    if not unfinished and not (out / LOG).is_file():
        raise ConfigError(Errors.OUT_NO_MODEL.format(path=out))
    if overwrite:
        for path in unfinished:
            shutil.rmtree(path)
    elif (out / CONFIG).is_file():
        raise ConfigError(Errors.OUT_EXISTS.format(path=out))


ALIGNED = ".alignment"
"""The folder of the first stage, in that of the second until it is done."""


class Watch:
    """Shows how training goes on, and tells a logger."""

    def __init__(self, show: Callable[..., None], log: Callable[[dict[str, Any] | None], None] | None) -> None:
        self._show, self._log = show, log

    def __call__(self, done: Step) -> None:
        """Show a step."""
        note = f"loss {done.loss:.4f}  rate {done.learning_rate:.2g}  {done.items_per_second:.0f}/s"
        self._show(completed=done.progress, note=note)
        if self._log:
            self._log(_info(done))

    def scored(self, done: int, total: int) -> None:
        """Show how many mentions have their candidates scored, of which the next epoch's negatives are chosen."""
        self._show(note=f"choosing negatives: {done:,} of {total:,}")


@contextmanager
def watching(doing: str, logger: dict[str, Any] | None, nlp: Language) -> Iterator[Watch]:
    """Show a bar with loss and rate while the block runs; yield what is to be told of each step.

    Args:
        doing: What the bar says.
        logger: A config of one of spaCy's loggers, which is told, too.
        nlp: What loggers are set up with.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    from .console import step

    log = _set_up(logger, nlp) if logger else None
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeRemainingColumn(),
               TextColumn("{task.fields[note]}", markup=False))  # fmt: skip
    screen = Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())
    with step(doing) if screen.disable else screen:
        task = screen.add_task(doing, total=1.0, note="")

        yield Watch(lambda **shown: screen.update(task, **shown), log)
        if log:
            log(None)


def _set_up(logger: dict[str, Any], nlp: Language) -> Callable[[dict[str, Any] | None], None]:
    """Make one of spaCy's loggers; calling it with None finishes it."""
    from spacy.util import registry

    try:
        made = registry.resolve({"logger": logger})["logger"]
        log, finish = made(nlp, sys.stdout, sys.stderr)
    except (ValueError, ImportError) as error:
        raise ConfigError(Errors.SETTING.format(setting="logger", value=logger, reason=error)) from error
    return lambda info: finish() if info is None else log(info)


def _info(step: Step) -> dict[str, Any]:
    """Say what happened in the words of spaCy's loggers, which want a score: the loss, so that more is better."""
    return {
        "epoch": step.epoch,
        "step": step.step,
        "words": step.items,
        "losses": {"loss": step.loss},
        "score": -step.loss,
        "other_scores": {"learning_rate": step.learning_rate, "items_per_second": step.items_per_second},
        "checkpoints": [],
        "seconds": 0,
    }
