"""The retriever as a spaCy component: reads mentions, asks the space, writes answers, and keeps its state."""

# No "from __future__ import annotations" here: spaCy builds a schema from the signature of ``initialize``.
import copy
import logging
import weakref
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import PlainValidator
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from ..errors import ConfigError, Errors, Warnings
from ..files import cache_folder
from ..registry import check_part
from ..text import shown
from ..types import Encoder, Index, Reader, Reformulator
from .base import LinkingPipe, Part
from .finders import finders, problems, replaced_by
from .linking import Request, answer, make_masks
from .listening import Provider
from .reading import read_requests
from .scorer import linking_score
from .settings import RetrieverSettings
from .source import check_ontology, files_of, forget_folders, make_reader, names_only, variables
from .spans import MAX_TOKENS, copy_mentions, read_spans, write_answers

if TYPE_CHECKING:
    from ..kb import KnowledgeBase
    from ..space import EntitySpace, Pooling, Updated

logger = logging.getLogger(__name__)


class _Kept:
    """Carries an argument of ``initialize`` past spaCy, which hands on what pydantic dumps: of a dataclass, a dict."""

    def __init__(self, value: Any) -> None:
        self.value = value


class OntologyRetriever(LinkingPipe, Provider):
    """Retrieves candidates for the mentions of a document; the last stage, if alone, sets their ids.

    The settings are fixed at construction and the ontology is data: read from ``ontology`` at first use, given to
    ``initialize`` as ``kb_loader``, or loaded with the pipeline.

    Attributes:
        masks: The entities allowed by label, (E,), None for all; under "" for labels without a filter of their own.
        always_reformulate: Ask for reformulations even if no stage gives them weight, as tuning does.

    Raises:
        ConfigError: A part does not fulfil its protocol, or an ontology file is missing.
    """

    blocks = ("encoder", "index", "reformulator")

    def __init__(
        self,
        name: str = "ontolink_retriever",
        settings: RetrieverSettings | None = None,
        *,
        encoder: Encoder,
        index: Index,
        reformulator: Reformulator | None = None,
        ontology: str | Sequence[str] | None = None,
        built_from: Sequence[str] = (),
        scorer: Callable[..., dict[str, Any]] | None = linking_score,
        nlp: Language | None = None,
    ) -> None:
        self.settings = settings or RetrieverSettings()
        LinkingPipe.__init__(self, name, self.settings.batch_size, nlp)
        Provider.__init__(self)
        # Kept unloaded: a space takes copies, so that a component can be loaded into again, and pickled.
        self._parts = (check_part(encoder, Encoder, "encoder"), check_part(index, Index, "index"))
        self.reformulator = check_part(reformulator, Reformulator, "reformulator") if reformulator else None
        self._paths = check_ontology(ontology)
        self._built_from = [shown(path.name) for path in self._paths] or list(built_from)
        self.scorer = scorer
        self._space: EntitySpace | None = None
        self.masks: dict[str, Any] = {}
        self.always_reformulate = False
        self._warned: set[str] = set()

    def _forget_paths(self, config: dict[str, Any]) -> None:
        super()._forget_paths(config)
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

    @property
    def n_context(self) -> int:
        """Tokens to either side of a mention that the encoder gets to see."""
        return self.settings.n_context if getattr(self.space.encoder, "uses_context", False) else 0

    @property
    def reformulates(self) -> bool:
        """Whether reformulations are asked for: there is someone to ask, and a stage that gives them weight."""
        wanted = any(self.settings.weights[1:]) or any(stage.reads_reformulations for stage in self.stages)
        return self.reformulator is not None and (wanted or self.always_reformulate)

    def report_progress(self, report: Callable[[int, int], None] | None) -> None:
        """Call ``report`` with names encoded and names in all while building, if the encoder can tell; None stops."""
        encoders: list[Any] = [self._parts[0], *([self._space.encoder] if self._space else [])]
        for encoder in encoders:
            if hasattr(encoder, "progress"):
                encoder.progress = report

    def prepare(self) -> None:
        """Build the space, if that was not done: a missing or broken ontology is not the documents' fault."""
        self.space  # noqa: B018

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
            # The stages are not initialized themselves, and may name models of this machine, too.
            forget_folders(nlp.config, self._variables.union(*(stage._variables for stage in self.stages)))

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

    def parts(self) -> dict[str, Part]:
        """Return the space, and the reformulator if there is one."""
        loaded = self._space is not None
        parts = {"space": Part(lambda path: self.space.to_disk(path), self._load, loaded, has_manifest=True)}
        if self.reformulator is not None:
            parts["reformulator"] = Part(self.reformulator.to_disk, self.reformulator.from_disk, False)
        return parts

    def unloaded(self) -> dict[str, Any]:
        """Return the state without the space, and without the stages that listen, which lead back here."""
        return {"_space": None, "masks": {}, "listeners": [], "listener_map": {}}

    def adopt(self, space: "EntitySpace") -> None:
        """Take over a space, such as one pooled in another way; the settings must say the same."""
        self.masks = make_masks(space.kb, self.settings.filters, self.settings.label_filters)
        self._space = space

    def update(self, kb: "KnowledgeBase", files: Sequence[str] = (), *, refit: bool = True) -> "Updated":
        """Go over to another release of the ontology, copying the rows that stay; so does every setting.

        Args:
            kb: The new release.
            files: The files that it was read from, to be named in the config.
            refit: As for ``space.update``.

        Raises:
            ConfigError: A filter names a branch that is gone.
        """
        from ..space import update

        updated = update(self.space, kb, self.fresh_parts()[1], refit=refit)
        self.adopt(updated.space)
        self._built_from = [shown(Path(file).name) for file in files]
        self.name = self.name  # stores them
        return updated

    def hide(self, entities: np.ndarray) -> None:
        """Let no mention get these entities, until a space is adopted; mentions of nothing else have none then."""
        visible = np.ones(len(self.kb), bool)
        visible[entities] = False
        self.masks = {label: visible if mask is None else mask & visible for label, mask in self.masks.items()}

    def _load(self, path: Path) -> "EntitySpace":
        from ..space import EntitySpace

        space = EntitySpace.from_disk(path, *self.fresh_parts(), self._pooling())
        self.adopt(space)
        return space

    def fresh_parts(self) -> tuple[Encoder, Index]:
        """Return encoder and index as the config describes them, with no state."""
        return copy.deepcopy(self._parts)

    def _build(self, reader: Reader, cache: Path | None) -> None:
        from ..space import open_or_build

        self.adopt(open_or_build(reader, *self.fresh_parts(), self._pooling(), cache))

    def _take_over(self, reader: Reader) -> None:
        """Build from a reader, unless its files are gone and there is a space."""
        paths = files_of(reader)
        missing = [str(path) for path in paths if not path.exists()]
        if missing and self._space is not None:
            logger.warning(Warnings.LOADER_GONE.format(name=self.name, missing=", ".join(missing)))
            return
        self._build(reader, None)
        self._built_from = [shown(path.name) for path in paths]

    def _pooling(self) -> "Pooling":
        from ..space import Pooling

        return Pooling(names=self.settings.name_pooling, hierarchy=self.settings.pooling)

    def annotate(self, docs: Sequence[Doc]) -> None:
        """Read all mentions, answer them together, then write."""
        self._warn_once("set-up", docs, lambda nlp: problems(nlp, self.name, self.settings, docs))
        settings, group = self.settings, self.settings.spans_key or ""
        reformulator = self.reformulator if self.reformulates else None
        read = [
            (spans, read_requests(doc, spans, settings, self.n_context, self._warn_cut, reformulator is not None))
            for doc in docs
            if (spans := read_spans(doc, group))
        ]
        requests = [item for _, items in read for item in items if isinstance(item, Request)]
        answers = answer(
            self.space,
            requests,
            self.masks,
            k=settings.k,
            weights=settings.weights,
            threshold=settings.threshold,
            reformulator=reformulator,
            composites=settings.composites,
        )
        found, replaced = iter(answers), set[str]()
        for spans, items in read:
            own = [next(found) if isinstance(item, Request) else item for item in items]
            replaced |= write_answers(spans, own, group=group, component=self.name, overwrite=settings.overwrite)
        for other in sorted(replaced):
            # Each on its own, since most often they are nobody's: those that came with the documents.
            kind = f"ids of {other!r} replaced"
            self._warn_once(kind, docs, partial(replaced_by, name=self.name, replaced=other))

    def _warn_once(self, kind: str, docs: Sequence[Doc], problems: Callable[[Language], Iterable[str]]) -> None:
        """Log what is found to be wrong in the pipeline of these documents, the first time that it is asked for."""
        if kind not in self._warned and (nlp := self._pipeline(docs)) is not None:
            self._warned.add(kind)
            for problem in problems(nlp):
                logger.warning(problem)

    def _warn_cut(self, n_tokens: int) -> None:
        """Warn of the first mention that is cut; the rest of a run would say the same."""
        if "cut" not in self._warned:
            self._warned.add("cut")
            logger.warning(Warnings.MENTION_CUT.format(name=self.name, n_tokens=n_tokens, limit=MAX_TOKENS))
