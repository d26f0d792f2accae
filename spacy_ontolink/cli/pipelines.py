"""Saved pipelines, opened for the command line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..atomic import is_empty
from ..errors import ConfigError, Errors, OntolinkError, StateError
from .blame import file_read_by

if TYPE_CHECKING:
    from spacy.language import Language

    from ..types import LLM

RETRIEVER, FUSER = "ontolink_retriever", "ontolink_fuse"


def load_pipeline(path: str) -> Language:
    """Open a saved pipeline (a folder, or an installed package) that has a retriever.

    Raises:
        ConfigError: It is no pipeline, cannot be opened, or has no retriever.
        StateError: A file of it is damaged.
    """
    import spacy
    from spacy.util import is_package

    from ..files import REBUILD

    config = Path(path) / "config.cfg"
    if not config.is_file() and not is_package(path):
        if (Path(path) / "meta.json").is_file():  # which spaCy writes beside it
            raise StateError(Errors.FILE_DAMAGED.format(path=config, reason="it is missing", rebuild=REBUILD))
        reason = "no config.cfg in it" if Path(path).exists() else "no such folder or package"
        if Path(path).is_file():
            reason = f"it is a file; make a pipeline of an ontology with: ontolink build {path} OUT"
        raise ConfigError(Errors.NO_PIPELINE.format(path=path, reason=reason))
    try:
        nlp = spacy.load(path)
    except OntolinkError:
        raise
    except Exception as error:  # spaCy has many words for files that it cannot use
        if isinstance(error, ValueError) and (wrong := bad_block(config, error)):
            raise ConfigError(Errors.BAD_SAVED_BLOCK.format(error=wrong, rebuild=REBUILD)) from error
        file, reason = file_read_by(error, Path(path)), str(error) or type(error).__name__
        if file is not None and file != config.resolve():
            raise StateError(Errors.FILE_DAMAGED.format(path=file, reason=reason, rebuild=REBUILD)) from error
        if file is not None:
            raise ConfigError(Errors.BAD_SAVED_CONFIG.format(path=file, reason=reason, rebuild=REBUILD)) from error
        if isinstance(error, OSError | ValueError | EOFError):
            raise ConfigError(Errors.NO_PIPELINE.format(path=path, reason=reason)) from error
        raise
    if not retrievers(nlp):
        reason = f"its components are {', '.join(nlp.pipe_names) or 'none'}"
        raise ConfigError(Errors.NO_PIPELINE.format(path=path, reason=reason))
    return nlp


def bad_block(path: Path, error: ValueError) -> ConfigError | None:
    """Make the error of a config with wrong settings in the block of a component, or a part that nobody registered.

    Args:
        path: The config.
        error: What spaCy raised.

    Returns:
        The error; None if something else is wrong.
    """
    from catalogue import RegistryError
    from thinc.api import ConfigValidationError

    blocks: set[str] = set()
    faults = []
    if isinstance(error, ConfigValidationError):
        for fault in error.errors or ():
            factory, *inner = ".".join([error.parent or "", *map(str, fault["loc"])]).strip(".").split(".")
            names = _components_of(path, factory)
            blocks.update(".".join(["components", name, *inner[:-1]]) for name in names)
            faults.append(f"{inner[-1] if inner else factory}: {fault['msg']}")
    elif isinstance(error, RegistryError):
        return ConfigError(Errors.BAD_BLOCK.format(path=path, block="a block", faults=error))
    if not blocks:
        return None
    listed = " or ".join(f"[{block}]" for block in sorted(blocks))
    return ConfigError(Errors.BAD_BLOCK.format(path=path, block=listed, faults="; ".join(faults)))


def _components_of(path: Path, factory: str) -> list[str]:
    """Return the components of a factory in a config: spaCy's errors tell the factory only."""
    from spacy.util import load_config

    try:
        components = load_config(path, interpolate=False).get("components", {})
    except (OSError, ValueError):  # that of an installed package, which is elsewhere
        return []
    return [name for name, block in components.items() if block.get("factory") == factory]


def retrievers(nlp: Language) -> list[str]:
    """Return the names of the retrievers in a pipeline."""
    return [name for name in nlp.pipe_names if nlp.get_pipe_meta(name).factory == RETRIEVER]


def linkers(nlp: Language) -> list[str]:
    """Return the names of all components that link, in order: the retrievers and the stages after them."""
    return [name for name in nlp.pipe_names if nlp.get_pipe_meta(name).factory.startswith("ontolink_")]


def retriever(nlp: Language) -> Any:
    """Return the first retriever."""
    return nlp.get_pipe(retrievers(nlp)[0])


def own_label(component: Any) -> str:
    """Return a label that a retriever links, for mentions that nothing has labelled."""
    return next(iter(component.settings.labels or ()), "")


def language_models(nlp: Language) -> list[LLM]:
    """Return the language models that the components ask."""
    components: list[Any] = [nlp.get_pipe(name) for name in linkers(nlp)]
    parts: list[Any] = [getattr(own, name, None) for own in components for name in ("reformulator", "reranker")]
    return [part.llm for part in parts if hasattr(part, "llm")]


def choose_retrievers(nlp: Language, component: str | None, pipeline: str) -> list[str]:
    """Return the name of this retriever, or those of all of them.

    Raises:
        ConfigError: There is none of that name.
    """
    names = retrievers(nlp)
    if component is not None and component not in names:
        raise ConfigError(Errors.NO_RETRIEVER.format(path=pipeline, component=component, names=", ".join(names)))
    return names if component is None else [component]


def only_retriever(nlp: Language, component: str | None, pipeline: str) -> Any:
    """Disable all retrievers but ``component`` and return it; None is the only one there is.

    Raises:
        ConfigError: There are several and none is named, or there is none of that name.
    """
    names = retrievers(nlp)
    if component is None and len(names) > 1:
        raise ConfigError(Errors.SEVERAL_RETRIEVERS.format(path=pipeline, names=", ".join(names)))
    (chosen,) = choose_retrievers(nlp, component, pipeline)
    for name in names:
        if name != chosen:
            nlp.disable_pipe(name)
    return nlp.get_pipe(chosen)


def adjust(nlp: Language, *, spans_key: str | None, k: int) -> None:
    """Let all retrievers read their mentions from ``spans_key`` and keep at least ``k`` candidates."""
    for name in retrievers(nlp):
        component: Any = nlp.get_pipe(name)
        component.settings = replace(component.settings, spans_key=spans_key, k=max(k, component.settings.k))


@contextmanager
def adjusted(nlp: Language, *, spans_key: str | None, k: int) -> Iterator[None]:
    """Let all retrievers work so while the block runs, see ``adjust``, and after it as before."""
    components: list[Any] = [nlp.get_pipe(name) for name in retrievers(nlp)]
    before = [component.settings for component in components]
    adjust(nlp, spans_key=spans_key, k=k)
    try:
        yield
    finally:
        for component, settings in zip(components, before, strict=True):
            component.settings = settings


def check_free(out: Path, overwrite: bool) -> None:
    """Check that the folder may be written: a new one, an empty one, or with ``overwrite`` an earlier pipeline.

    Raises:
        ConfigError: It may not; the message says why.
    """
    if not out.exists():
        return
    if not out.is_dir():
        raise ConfigError(Errors.OUT_IS_FILE.format(path=out))
    if not is_empty(out):
        if not (out / "config.cfg").is_file():
            raise ConfigError(Errors.OUT_FOREIGN.format(path=out))
        if not overwrite:
            raise ConfigError(Errors.OUT_EXISTS.format(path=out))
