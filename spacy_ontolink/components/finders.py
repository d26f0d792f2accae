"""The components of a pipeline that find what is linked, and the labels that they give."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .settings import RetrieverSettings

if TYPE_CHECKING:
    from spacy.language import Language


def finders(nlp: Language, group: str) -> list[Any]:
    """Return the components that declare to assign ``doc.ents``, or for a group ``doc.spans``."""
    kind = "doc.spans" if group else "doc.ents"
    return [component for name, component in nlp.pipeline if kind in nlp.get_pipe_meta(name).assigns]


def unknown_labels(nlp: Language, settings: RetrieverSettings) -> tuple[list[str], list[str]] | None:
    """Return the labels of the settings that no component gives, and those given; None if all is well."""
    found = finders(nlp, settings.spans_key or "")
    known = {label for component in found for label in getattr(component, "labels", ())}
    used = {*(settings.labels or ()), *settings.labels_discard, *settings.label_filters}
    return (sorted(used - known), sorted(known)) if known and not used <= known else None
