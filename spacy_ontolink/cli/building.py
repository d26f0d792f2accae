"""The steps of ``ontolink build`` on a pipeline that is set up: check parts, read ontologies, fill the retrievers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError, Errors
from .pipelines import retrievers

if TYPE_CHECKING:
    from spacy.language import Language

    from ..kb import KnowledgeBase

Report = Callable[[int, int], None]

_LEXICAL = "spacy-ontolink.LexicalEncoder.v1"
_DENSE = tuple(f"spacy-ontolink.{kind}Encoder.v1" for kind in ("Sentence", "Ngram", "Bi"))
_WRAPPERS = tuple(f"spacy-ontolink.{kind}Encoder.v1" for kind in ("Definition", "Aligned"))
_FAISS, _INVERTED = "spacy-ontolink.FaissIndex.v1", "spacy-ontolink.InvertedIndex.v1"


class _Loaded:
    """A reader of what was read already."""

    def __init__(self, kb: KnowledgeBase, paths: Sequence[str]) -> None:
        self.kb, self.paths = kb, paths

    def __call__(self) -> KnowledgeBase:
        return self.kb


def check_parts(nlp: Language) -> None:
    """Find parts that do not fit each other, before hours of reading and encoding.

    Raises:
        ConfigError: A faiss index on the lexical encoder, or an inverted one on an encoder without a lexical part.
    """
    for name in retrievers(nlp):
        config = nlp.get_pipe_config(name)
        index, encoder = config["index"], config["encoder"]
        while encoder.get("@ontolink_encoders") in _WRAPPERS:
            encoder = encoder["encoder"]
        made, kind = encoder.get("@ontolink_encoders"), index.get("@ontolink_indexes")
        if made == _LEXICAL and kind == _FAISS:
            one, other = f"the index {index.get('kind', 'flat')}", "the lexical encoder"
            reason = "it needs dense vectors. Take the default encoder or a sentence encoder, or leave the index out"
            raise ConfigError(Errors.ONE_OR_OTHER.format(one=one, other=other, reason=reason))
        if made in _DENSE and kind == _INVERTED:
            one, other = "the index inverted", "dense vectors"
            reason = "it needs the lexical encoder, alone or in a --hybrid. Leave --index out, or give hnsw or ivf"
            raise ConfigError(Errors.ONE_OR_OTHER.format(one=one, other=other, reason=reason))


def set_paths(config: dict[str, Any], paths: Sequence[Path]) -> None:
    """Put these paths in place of those of every ``kb_loader`` in a config."""
    for block in config.get("initialize", {}).get("components", {}).values():
        if isinstance(block, dict) and isinstance(block.get("kb_loader"), dict):
            block["kb_loader"]["path"] = str(paths[0]) if len(paths) == 1 else [str(path) for path in paths]


def configured_loaders(nlp: Language, config: Path | None) -> dict[str, Any]:
    """Return by retriever the reader that the config of the pipeline describes, if any.

    Raises:
        ConfigError: The reader cannot be made.
    """
    from spacy.util import registry

    loaders: dict[str, Any] = {}
    made: dict[str, Any] = {}
    if config is None:
        return loaders
    for name in retrievers(nlp):
        try:
            block = nlp.config.interpolate()["initialize"]["components"].get(name, {}).get("kb_loader")
            if not block:
                continue
            key = json.dumps(block, sort_keys=True)
            if key not in made:
                made[key] = registry.resolve({"kb_loader": block})["kb_loader"]
        except ValueError as error:
            reason = f"kb_loader of {name}: {error}"
            raise ConfigError(Errors.BAD_CONFIG.format(path=config, reason=reason)) from error
        loaders[name] = made[key]
    return loaders


def read_all(
    nlp: Language, paths: Sequence[Path], loaders: Mapping[str, Any], settings: Mapping[str, Any]
) -> dict[str, KnowledgeBase]:
    """Read the ontologies for each retriever, once for those that read them in the same way."""
    from ..kb.readers import make_ontology_reader

    default = make_ontology_reader([str(path) for path in paths], **settings)
    readers = {name: loaders.get(name, default) for name in retrievers(nlp)}
    kbs = {key: reader() for key, reader in {id(reader): reader for reader in readers.values()}.items()}
    return {name: kbs[id(reader)] for name, reader in readers.items()}


def fill(nlp: Language, kbs: Mapping[str, KnowledgeBase], paths: Sequence[Path], report: Report) -> None:
    """Build every retriever from its knowledge base, reporting names encoded and names in all where it takes long.

    Raises:
        ConfigError: A filter names a branch that is not there; known before anything is encoded.
    """
    for name, kb in kbs.items():
        settings = nlp.get_pipe(name).settings
        for filter in (settings.filters or {}, *settings.label_filters.values()):
            kb.mask(branches=filter.get("branches", ()))
    for name, kb in kbs.items():
        component: Any = nlp.get_pipe(name)
        component.report_progress(report)
        try:
            component.initialize(list, nlp=nlp, kb_loader=_Loaded(kb, [str(path) for path in paths]))
        finally:
            component.report_progress(None)
