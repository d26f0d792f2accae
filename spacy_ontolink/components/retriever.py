"""``ontolink_retriever``: the factory and its settings."""

# No "from __future__ import annotations" here: spaCy checks the config against this signature, and an annotation that
# it cannot resolve switches off all its checks.
from collections.abc import Callable
from typing import Any

from spacy.language import Language

from .pipe import OntologyRetriever
from .settings import RetrieverSettings

__all__ = ["OntologyRetriever", "make_retriever"]

DEFAULT_CONFIG = {
    "ontology": None,
    "built_from": [],
    "encoder": {
        "@ontolink_encoders": "spacy-ontolink.SynonymEncoder.v1",
        "encoder": {"@ontolink_encoders": "spacy-ontolink.LexicalEncoder.v1"},
    },
    "index": {"@ontolink_indexes": "spacy-ontolink.AutoIndex.v1"},
    "reformulator": None,
    "k": 64,
    "weights": [1.0, 0.0, 0.0],
    "pooling": 0.0,
    "name_pooling": 0.5,
    "spans_key": None,
    "labels": None,
    "labels_discard": [],
    "filters": None,
    "label_filters": {},
    "threshold": None,
    "overwrite": True,
    "batch_size": 128,
    "abbreviations": True,
    "composites": False,
    "n_context": 64,
    "n_sents": None,
    "scorer": {"@scorers": "spacy-ontolink.linking_scorer.v1"},
}
SCORE_WEIGHTS = {
    "nel_micro_f": 1.0,
    "nel_micro_r": None,
    "nel_micro_p": None,
    "nel_recall_at_1": None,
    "nel_recall_at_k": None,
}


@Language.factory(
    "ontolink_retriever",
    assigns=["token.ent_kb_id", "span._.kb_ents", "span._.kb_parts", "span._.ontolink"],
    default_config=DEFAULT_CONFIG,
    default_score_weights=SCORE_WEIGHTS,
)
def make_retriever(
    nlp: Language,
    name: str,
    ontology: str | list[str] | None,
    built_from: list[str],
    encoder: Any,
    index: Any,
    reformulator: Any,
    scorer: Callable[..., Any] | None,
    k: int,
    weights: list[float],
    pooling: float,
    name_pooling: float,
    spans_key: str | None,
    labels: list[str] | None,
    labels_discard: list[str],
    filters: dict[str, list[str]] | None,
    label_filters: dict[str, dict[str, list[str]]],
    threshold: float | None,
    overwrite: bool,
    batch_size: int,
    abbreviations: bool,
    composites: bool,
    n_context: int,
    n_sents: int | None,
) -> OntologyRetriever:
    """Make the component that links mentions to an ontology.

    Args:
        nlp: The pipeline.
        name: The component's name.
        ontology: Ontology file or files, read and built at first use and cached by content. The stored config has the
            file names in ``built_from`` instead, since a saved pipeline holds all it needs.
        built_from: File names of the ontology that was built; for the reader of a saved config.
        encoder: What makes vectors of mentions and entities.
        index: What finds the nearest of them.
        reformulator: What rewrites mentions into a standard name and a hypernym; asked only if these have weight, here
            or in a later stage.
        scorer: The scoring method.
        k: Candidates per mention, counted in entities.
        weights: Of the mention, its standard name and its hypernym in the query (section 3.1 of PILOT); the latter two
            come from the reformulator.
        pooling: Weight of the neighbours in the hierarchy in an entity's vectors (lambda, section 3.1 of PILOT).
        name_pooling: Weight of the entity's other names in the vector of each of its names.
        spans_key: Key of the span group to link; null for ``doc.ents``.
        labels: Link only mentions of these labels and leave the rest alone; null for all.
        labels_discard: Labels whose mentions get "NIL" without being looked up.
        filters: Only entities with one of these ``prefixes``, under one of these ``branches``, of one of these
            ``types`` can be candidates.
        label_filters: Further filters by label of the mention.
        threshold: A best candidate of a lower score gives "NIL"; null for no threshold.
        overwrite: Replace ids that mentions have already.
        batch_size: The most documents whose mentions are looked up together.
        abbreviations: Look up the long forms of abbreviations, too, that the document defines.
        composites: Look up the parts of coordinated mentions ("breast and ovarian cancer"), too; where the ontology
            knows them better than the whole, the best entity of each comes first.
        n_context: Tokens to either side of a mention shown to an encoder that uses context.
        n_sents: Sentences to either side of the mention's own to which that context is confined; null for no limit.

    Source:
        PILOT (arXiv 2608.04144), section 3.1: the query mix and pooling over the hierarchy.
    """
    settings = RetrieverSettings(
        k=k,
        weights=weights,
        pooling=pooling,
        name_pooling=name_pooling,
        spans_key=spans_key,
        labels=labels,
        labels_discard=labels_discard,
        filters=filters,
        label_filters=label_filters,
        threshold=threshold,
        overwrite=overwrite,
        batch_size=batch_size,
        abbreviations=abbreviations,
        composites=composites,
        n_context=n_context,
        n_sents=n_sents,
    )
    return OntologyRetriever(
        name,
        settings,
        encoder=encoder,
        index=index,
        reformulator=reformulator,
        ontology=ontology,
        built_from=built_from,
        scorer=scorer,
        nlp=nlp,
    )
