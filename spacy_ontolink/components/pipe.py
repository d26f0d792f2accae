"""The retriever as a spaCy component: reads mentions, asks the space, writes answers, and keeps its state."""

# No "from __future__ import annotations" here: spaCy builds a schema from the signature of ``initialize``.
import copy
import logging
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import PlainValidator
from spacy.language import Language
from spacy.pipeline import Pipe
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import SimpleFrozenList, from_bytes, from_disk, minibatch, to_bytes, to_disk

from ..errors import ConfigError, Errors, Warnings
from ..files import cache_folder
from ..forking import guard_forks
from ..registry import check_part
from ..types import Encoder, Index, Reader
from .finders import finders, unknown_labels
from .linking import Request, answer, make_masks
from .reading import read_requests
from .scorer import linking_score
from .settings import RetrieverSettings
from .source import check_ontology, files_of, forget_folders, make_reader, names_only, variables
from .spans import MAX_TOKENS, copy_mentions, read_spans, register_extensions, write_answers

if TYPE_CHECKING:
    from ..kb import KnowledgeBase
    from ..space import EntitySpace, Pooling

logger = logging.getLogger(__name__)


class _Kept:
    """Carries an argument of ``initialize`` past spaCy, which hands on what pydantic dumps: of a dataclass, a dict."""

    def __init__(self, value: Any) -> None:
        self.value = value


class OntologyRetriever(Pipe):
    """Retrieves candidates for the mentions of a document; the last stage, if alone, sets their ids.

    The settings are fixed at construction and the ontology is data: read from ``ontology`` at first use, given to
    ``initialize`` as ``kb_loader``, or loaded with the pipeline.

    Raises:
        ConfigError: A part does not fulfil its protocol, or an ontology file is missing.
    """

    def __init__(
        self,
        name: str = "ontolink_retriever",
        settings: RetrieverSettings | None = None,
        *,
        encoder: Encoder,
        index: Index,
        ontology: str | Sequence[str] | None = None,
        built_from: Sequence[str] = (),
        scorer: Callable[..., dict[str, Any]] | None = linking_score,
        nlp: Language | None = None,
    ) -> None:
        register_extensions()
        guard_forks()
        self._name = name
        self._nlp = weakref.ref(nlp) if nlp is not None else None
        self.settings = settings or RetrieverSettings()
        # Kept unloaded: a space takes copies, so that a component can be loaded into again, and pickled.
        self._parts = (check_part(encoder, Encoder, "encoder"), check_part(index, Index, "index"))
        self._paths = check_ontology(ontology)
        self._built_from = [path.name for path in self._paths] or list(built_from)
        self.scorer = scorer
        self._space: EntitySpace | None = None
        self._masks: dict[str, Any] = {}
        self._warned: set[str] = set()
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
            config = nlp.get_pipe_config(name)
            self._variables |= variables(config)
            config |= {part: names_only(config.get(part)) for part in ("encoder", "index")}
            config |= {"ontology": None, "built_from": self._built_from}

    @property
    def space(self) -> "EntitySpace":
        """The KB with its vectors and index, built now if it was not yet; later stages share it.

        Raises:
            ConfigError: No ontology was given in any way.
        """
        if self._space is None:
            if not self._paths:
                names = ", ".join(self._built_from)
                hint = f" (it was built from {names}, but that was not loaded)" if names else ""
                raise ConfigError(Errors.NO_ONTOLOGY.format(name=self.name, built_from=hint))
            self._build(make_reader(self._paths), cache_folder())
        return self._space  # type: ignore[return-value]

    @property
    def kb(self) -> "KnowledgeBase":
        """The knowledge base: ``nlp.get_pipe("ontolink_retriever").kb["HP:0001250"]``."""
        return self.space.kb

    def report_progress(self, report: Callable[[int, int], None] | None) -> None:
        """Call ``report`` with names encoded and names in all while building, if the encoder can tell; None stops."""
        encoders: list[Any] = [self._parts[0], *([self._space.encoder] if self._space else [])]
        for encoder in encoders:
            if hasattr(encoder, "progress"):
                encoder.progress = report

    def __call__(self, doc: Doc) -> Doc:
        """Link the mentions of one document."""
        self._link([doc])
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int | None = None) -> Iterator[Doc]:
        """Link a stream of documents, a batch at a time; a failing batch goes to the error handler."""
        handle_error = self.get_error_handler()
        most = self.settings.batch_size
        for docs in minibatch(stream, min(batch_size or most, most)):
            self.space  # noqa: B018  (a missing or broken ontology is not the documents' fault)
            try:
                self._link(docs)
            except Exception as error:
                handle_error(self.name, self, docs, error)
            else:
                yield from docs

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        kb_loader: Annotated[Any, PlainValidator(_Kept)] = None,
    ) -> None:
        """Build from ``kb_loader``, a registered reader; without one, from the setting ``ontology`` if there is any.

        A loader of files that are gone is passed over, with a warning, if there is a space already: a pipeline may be
        initialized where its ontology is not.

        Raises:
            ConfigError: ``kb_loader`` is not a reader.
        """
        if nlp is not None:
            self._nlp = weakref.ref(nlp)
            self._warned.clear()
        kb_loader = kb_loader.value if isinstance(kb_loader, _Kept) else kb_loader
        if kb_loader is not None:
            self._take_over(check_part(kb_loader, Reader, "kb_loader"))
        elif self._paths:
            self.space  # noqa: B018
        if nlp is not None:
            self.name = self.name
            blocks = nlp.config["initialize"]["components"]
            if self.name in blocks:
                self._variables |= variables(blocks[self.name])
                blocks[self.name] = names_only(blocks[self.name])
            forget_folders(nlp.config, self._variables)

    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
        """Score the links; where the pipeline has nothing that finds mentions, link those of the references first."""
        if self.scorer is None:
            return {}
        examples = list(examples)
        group = self.settings.spans_key or ""
        nlp = self._pipeline([example.predicted for example in examples])
        if nlp is not None and not finders(nlp, group) and not any(read_spans(x.predicted, group) for x in examples):
            copy_mentions(examples, group)
            for _ in self.pipe(example.predicted for example in examples):
                pass
        return self.scorer(examples, **{"spans_key": self.settings.spans_key} | kwargs)

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = SimpleFrozenList()) -> None:
        """Write the space, self-contained, into the folder ``path``; an unbuilt one is built first."""
        to_disk(path, {"space": lambda target: self.space.to_disk(target)}, exclude)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = SimpleFrozenList()) -> "OntologyRetriever":
        """Open what ``to_disk`` wrote.

        Raises:
            StateError: It is missing, damaged or made by another encoder than the config's.
        """
        from ..space import EntitySpace

        def load(source: Path) -> None:
            self._adopt(EntitySpace.from_disk(source, *self._fresh_parts(), self._pooling()))

        from_disk(path, {"space": load}, exclude)
        return self

    def to_bytes(self, *, exclude: Iterable[str] = SimpleFrozenList()) -> bytes:
        """Serialise the space; an unbuilt one is built first."""
        return to_bytes({"space": lambda: self.space.to_bytes()}, exclude)

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = SimpleFrozenList()) -> "OntologyRetriever":
        """Take over what ``to_bytes`` made; raises as ``from_disk`` does."""
        from_bytes(data, {"space": self._load_bytes}, exclude)
        return self

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        state = self.__dict__ | {"_nlp": None, "_space": None, "_masks": {}}
        return _unpickle, (type(self), state, None if self._space is None else self._space.to_bytes())

    def _load_bytes(self, data: bytes) -> None:
        from ..space import EntitySpace

        self._adopt(EntitySpace.from_bytes(data, *self._fresh_parts(), self._pooling()))

    def _fresh_parts(self) -> tuple[Encoder, Index]:
        return copy.deepcopy(self._parts)

    def _build(self, reader: Reader, cache: Path | None) -> None:
        from ..space import open_or_build

        self._adopt(open_or_build(reader, *self._fresh_parts(), self._pooling(), cache))

    def _take_over(self, reader: Reader) -> None:
        """Build from a reader, unless its files are gone and there is a space."""
        paths = files_of(reader)
        missing = [str(path) for path in paths if not path.exists()]
        if missing and self._space is not None:
            logger.warning(Warnings.LOADER_GONE.format(name=self.name, missing=", ".join(missing)))
            return
        self._build(reader, None)
        self._built_from = [path.name for path in paths]

    def _pooling(self) -> "Pooling":
        from ..space import Pooling

        return Pooling(names=self.settings.name_pooling, hierarchy=self.settings.pooling)

    def _adopt(self, space: "EntitySpace") -> None:
        self._masks = make_masks(space.kb, self.settings.filters, self.settings.label_filters)
        self._space = space

    def _link(self, docs: Sequence[Doc]) -> None:
        """Read all mentions, answer them together, then write: a failure leaves the documents as they were."""
        self._check_labels(docs)
        settings, group = self.settings, self.settings.spans_key or ""
        n_context = settings.n_context if getattr(self.space.encoder, "uses_context", False) else 0
        read = [
            (spans, read_requests(doc, spans, settings, n_context, self._warn_cut))
            for doc in docs
            if (spans := read_spans(doc, group))
        ]
        requests = [item for _, items in read for item in items if isinstance(item, Request)]
        answers = answer(
            self.space, requests, self._masks, k=settings.k, weights=settings.weights, threshold=settings.threshold
        )
        found = iter(answers)
        for spans, items in read:
            own = [next(found) if isinstance(item, Request) else item for item in items]
            write_answers(spans, own, group=group, component=self.name, overwrite=settings.overwrite)

    def _pipeline(self, docs: Sequence[Doc]) -> Language | None:
        """Return the pipeline that these documents are in, if known.

        spaCy shares a sourced component between two pipelines and tells it nothing; the vocabulary tells them apart.
        """
        nlp = self._nlp() if self._nlp else None
        return nlp if nlp is not None and docs and docs[0].vocab is nlp.vocab else None

    def _check_labels(self, docs: Sequence[Doc]) -> None:
        """Warn once of labels in the settings that no component can assign."""
        if "labels" not in self._warned and (nlp := self._pipeline(docs)) is not None:
            self._warned.add("labels")
            if problem := unknown_labels(nlp, self.settings):
                unknown, known = map(", ".join, problem)
                logger.warning(Warnings.UNKNOWN_LABELS.format(name=self.name, unknown=unknown, known=known))

    def _warn_cut(self, n_tokens: int) -> None:
        """Warn of the first mention that is cut; the rest of a run would say the same."""
        if "cut" not in self._warned:
            self._warned.add("cut")
            logger.warning(Warnings.MENTION_CUT.format(name=self.name, n_tokens=n_tokens, limit=MAX_TOKENS))


def _unpickle(cls: type[OntologyRetriever], state: dict[str, Any], space: bytes | None) -> OntologyRetriever:
    component = cls.__new__(cls)
    component.__dict__.update(state)
    register_extensions()
    guard_forks()
    if space is not None:
        component._load_bytes(space)
    return component
