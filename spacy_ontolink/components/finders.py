"""The components of a pipeline that find what is linked, and the labels that they give."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from .settings import RetrieverSettings

if TYPE_CHECKING:
    from spacy.language import Language


def finders(nlp: Language, group: str) -> list[Any]:
    """Return the components that declare to assign ``doc.ents``, or for a group ``doc.spans``."""
    kind = "doc.spans" if group else "doc.ents"
    return [component for name, component in nlp.pipeline if kind in nlp.get_pipe_meta(name).assigns]


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
