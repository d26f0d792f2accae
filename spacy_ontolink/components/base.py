"""What all linking components share: batches, errors of single batches, saved parts, and a config free of paths."""

# No "from __future__ import annotations" here: spaCy builds schemas from the signatures of components.
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from spacy.language import Language
from spacy.pipeline import Pipe
from spacy.tokens import Doc
from spacy.util import SimpleFrozenList, from_bytes, from_disk, minibatch, to_bytes, to_disk

from ..checksums import check_files, write_checksums
from ..files import pack, unpack
from ..forking import guard_forks
from .source import names_only, variables
from .spans import register_extensions


class Part(NamedTuple):
    """A part with a state of its own: how it is written into a folder, how it is loaded, whether it is loaded now."""

    write: Callable[[Path], None]
    load: Callable[[Path], object]
    loaded: bool
    has_manifest: bool = False
    """Whether it knows its files itself; checksums of others stand beside them."""


class LinkingPipe(Pipe):
    """A component that annotates documents a batch at a time; subclasses say how, and what they save."""

    blocks: tuple[str, ...] = ()
    """Settings that are blocks of the config and may name folders of this machine."""

    def __init__(self, name: str, batch_size: int, nlp: Language | None) -> None:
        register_extensions()
        guard_forks()
        self._name, self._most = name, batch_size
        self._nlp = weakref.ref(nlp) if nlp is not None else None
        self._variables: set[str] = set()

    @property
    def name(self) -> str:
        """The component's name in its pipeline."""
        return self._name

    @name.setter
    def name(self, name: str) -> None:
        # spaCy sets the name of a component that it has just put into a pipeline, the config being stored: the first
        # chance to take the paths of this machine out of it, and there is none on the way to ``nlp.to_disk``.
        self._name = name
        nlp = self._nlp() if self._nlp else None
        if nlp is not None and name in nlp.component_names:
            self._forget_paths(nlp.get_pipe_config(name))

    def _forget_paths(self, config: dict[str, Any]) -> None:
        self._variables |= variables(config)
        config |= {block: names_only(config.get(block)) for block in self.blocks}

    def prepare(self) -> None:
        """Make what all documents need; what fails here is no document's fault."""

    def annotate(self, docs: Sequence[Doc]) -> None:
        """Link the mentions of a batch: read and compute first, then write, so that a failure leaves all as it was."""
        raise NotImplementedError

    def parts(self) -> dict[str, Part]:
        """Return what is saved, by name."""
        return {}

    def unloaded(self) -> dict[str, Any]:
        """Return the attributes that a pickle has in place of loaded parts."""
        return {}

    def __call__(self, doc: Doc) -> Doc:
        """Link the mentions of one document."""
        self.prepare()
        self.annotate([doc])
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int | None = None) -> Iterator[Doc]:
        """Link a stream of documents, a batch at a time; a failing batch goes to the error handler."""
        handle_error = self.get_error_handler()
        for docs in minibatch(stream, min(batch_size or self._most, self._most)):
            self.prepare()
            try:
                self.annotate(docs)
            except Exception as error:
                handle_error(self.name, self, docs, error)
            else:
                yield from docs

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = SimpleFrozenList()) -> None:
        """Write the parts, self-contained, into the folder ``path``; one that was not built is built first."""
        parts = self.parts()
        to_disk(path, {name: part.write for name, part in parts.items()}, exclude)
        write_checksums(Path(path), _unlisted(parts, exclude))

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = SimpleFrozenList()) -> Any:
        """Open what ``to_disk`` wrote.

        Raises:
            StateError: It is missing, damaged or made with other models than the config's.
        """
        parts = self.parts()
        check_files(Path(path), _unlisted(parts, exclude))
        from_disk(path, {name: part.load for name, part in parts.items()}, exclude)
        return self

    def to_bytes(self, *, exclude: Iterable[str] = SimpleFrozenList()) -> bytes:
        """Serialise the parts; one that was not built is built first."""

        def packer(part: Part) -> Callable[[], bytes]:
            return lambda: pack(part.write)

        return to_bytes({name: packer(part) for name, part in self.parts().items()}, exclude)

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = SimpleFrozenList()) -> Any:
        """Take over what ``to_bytes`` made; raises as ``from_disk`` does."""

        def unpacker(part: Part) -> Callable[[bytes], object]:
            return lambda packed: unpack(packed, part.load)

        from_bytes(data, {name: unpacker(part) for name, part in self.parts().items()}, exclude)
        return self

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        state = self.__dict__ | {"_nlp": None} | self.unloaded()
        packed = {name: pack(part.write) for name, part in self.parts().items() if part.loaded}
        return _unpickle, (type(self), state, packed)

    def _pipeline(self, docs: Sequence[Doc]) -> Language | None:
        """Return the pipeline that these documents are in, if known.

        spaCy shares a sourced component between two pipelines and tells it nothing; the vocabulary tells them apart.
        """
        nlp = self._nlp() if self._nlp else None
        return nlp if nlp is not None and docs and docs[0].vocab is nlp.vocab else None


def _unlisted(parts: Mapping[str, Part], exclude: Iterable[str]) -> list[str]:
    """Return the parts whose files no manifest of their own lists."""
    left_out = set(exclude)
    return [name for name, part in parts.items() if not part.has_manifest and name not in left_out]


def _unpickle(cls: type[LinkingPipe], state: dict[str, Any], packed: dict[str, bytes]) -> LinkingPipe:
    component = cls.__new__(cls)
    component.__dict__.update(state)
    register_extensions()
    guard_forks()
    for name, data in packed.items():
        unpack(data, component.parts()[name].load)
    return component
