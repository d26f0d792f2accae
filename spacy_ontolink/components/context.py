"""``ontolink_context_rerank``: the factory and its settings (PILOT, section 3.2; Sci-ZSEL, section 4)."""

# No "from __future__ import annotations" here: spaCy checks the config against this signature.
from typing import Any

from spacy.language import Language

from .context_reranker import ContextReranker, ContextSettings
from .listening import ANY

__all__ = ["ContextReranker", "make_context_rerank"]


@Language.factory(
    "ontolink_context_rerank",
    assigns=["token.ent_kb_id", "span._.kb_ents", "span._.ontolink"],
    requires=["span._.ontolink"],
    default_config={
        "upstream": ANY,
        "top_n": None,
        "n_context": 64,
        "n_sents": None,
        "n_synonyms": 8,
        "n_parents": 3,
        "n_children": 5,
        "n_siblings": 5,
        "definition": True,
        "cascade_exact": False,
        "cascade_margin": None,
        "batch_size": 16,
    },
)
def make_context_rerank(
    nlp: Language,
    name: str,
    upstream: str,
    reranker: Any,
    top_n: int | None,
    n_context: int,
    n_sents: int | None,
    n_synonyms: int,
    n_parents: int,
    n_children: int,
    n_siblings: int,
    definition: bool,
    cascade_exact: bool,
    cascade_margin: float | None,
    batch_size: int,
) -> ContextReranker:
    """Make the component that scores candidates by the mention in its context.

    Args:
        nlp: The pipeline.
        name: The component's name.
        upstream: The name of the retriever whose candidates are scored; "*" for the nearest before it.
        reranker: What scores: a block from the catalogue ``ontolink_rerankers``.
        top_n: Score only so many of the candidates, the first ones as ranked so far; null for all.
        n_context: Tokens to either side of a mention that are shown; a model may have room for fewer.
        n_sents: Sentences to either side of the mention's own to which that is confined; null for no limit.
        n_synonyms: Most synonyms shown of a candidate, those closest to the mention first.
        n_parents: Most parents shown.
        n_children: Most children shown.
        n_siblings: Most siblings shown.
        definition: Whether a candidate's definition is shown.
        cascade_exact: Pass over mentions that are the name or an exact synonym of one entity only, ranked first.
        cascade_margin: Pass over mentions whose first candidate leads by this much in the scores so far; null for
            none. Mentions passed over keep their answer, and have no score of this stage.
        batch_size: The most documents whose mentions are scored together.

    Source:
        PILOT (arXiv 2608.04144), section 3.2: the contextual reranker; Sci-ZSEL (arXiv 2609.00228), section 4.
    """
    settings = ContextSettings(
        top_n=top_n,
        n_context=n_context,
        n_sents=n_sents,
        n_synonyms=n_synonyms,
        n_parents=n_parents,
        n_children=n_children,
        n_siblings=n_siblings,
        definition=definition,
        cascade_exact=cascade_exact,
        cascade_margin=cascade_margin,
    )
    return ContextReranker(name, settings, reranker=reranker, upstream=upstream, batch_size=batch_size, nlp=nlp)
