"""What a linking component has around it in its pipeline: what finds mentions, and who else gives them ids."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import Warnings
from .settings import RetrieverSettings
from .spans import read_spans

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc


def finders(nlp: Language, group: str) -> list[Any]:
    """Return the components that declare to assign ``doc.ents``, or for a group ``doc.spans``."""
    kind = "doc.spans" if group else "doc.ents"
    return [component for name, component in nlp.pipeline if kind in nlp.get_pipe_meta(name).assigns]


def problems(nlp: Language, name: str, settings: RetrieverSettings, docs: Sequence[Doc]) -> list[str]:
    """Return what is wrong with a retriever's place in a pipeline, as seen when the first documents arrive.

    That is labels that no component gives, and documents without mentions that will never have any.
    """
    found: list[str] = []
    if differing := unknown_labels(nlp, settings):
        unknown, known = map(", ".join, differing)
        found.append(Warnings.UNKNOWN_LABELS.format(name=name, unknown=unknown, known=known))
    group = settings.spans_key or ""
    if not any(read_spans(doc, group) for doc in docs):
        groups = {key for doc in docs for key in doc.spans}
        if reason := why_no_mentions(nlp, name, group, groups):
            found.append(Warnings.NO_MENTIONS.format(name=name, n=len(docs), reason=reason))
    return found


def replaced_by(nlp: Language, name: str, replaced: str) -> list[str]:
    """Return the warning that a component replaces ids of another one before it, if there is one such.

    Args:
        nlp: The pipeline.
        name: The component.
        replaced: Whose ids; "" of those that nothing of this library gave, as ``write_answers`` has it. Ids that came
            with the documents are nobody's, and may be replaced.
    """
    before = nlp.pipe_names[: nlp.pipe_names.index(name)] if name in nlp.pipe_names else []
    others = [other for other in before if other == replaced]
    if not replaced:  # such as spaCy's own entity linker
        metas = [nlp.get_pipe_meta(other) for other in before]
        giving = [not meta.factory.startswith("ontolink_") and "token.ent_kb_id" in meta.assigns for meta in metas]
        others = [other for other, gives in zip(before, giving, strict=True) if gives]
    return [Warnings.IDS_REPLACED.format(name=name, other=other) for other in others[:1]]


def why_no_mentions(nlp: Language, name: str, group: str, groups: Collection[str]) -> str:
    """Return why a component finds no mention in documents that have these span groups, or "" if it may be chance."""
    if group and group in groups:
        return ""
    if group and groups:
        return f"there is no span group {group!r}; the groups are: {', '.join(sorted(groups))}"
    kind = "doc.spans" if group else "doc.ents"
    setters = [other for other in nlp.component_names if kind in nlp.get_pipe_meta(other).assigns]
    place = nlp.component_names.index(name) if name in nlp.component_names else len(nlp.component_names)
    if any(nlp.component_names.index(other) < place for other in setters):
        return ""
    if setters:
        return f"{setters[0]!r} stands after it; what finds mentions must come before"
    # Groups often come with the documents, of which these may have none by chance.
    return "" if group else f"no component before it sets {kind}"


def unknown_labels(nlp: Language, settings: RetrieverSettings) -> tuple[list[str], list[str]] | None:
    """Return the labels of the settings that no component gives, and those given; None if all is well."""
    found = finders(nlp, settings.spans_key or "")
    known = {label for component in found for label in getattr(component, "labels", ())}
    used = {*(settings.labels or ()), *settings.labels_discard, *settings.label_filters}
    return (sorted(used - known), sorted(known)) if known and not used <= known else None
