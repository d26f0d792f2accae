"""Definitions that were filed as synonyms, as real ontologies do now and then."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ...types import Entity
from .report import ReadReport

_WORDS = 12
"""A synonym with a full stop and at least this many words is a sentence; no name in the large ontologies is one."""


def refile_sentences(entities: Iterable[Entity], report: ReadReport) -> Iterator[Entity]:
    """Pass entities on; a synonym that is a sentence is no name, but the definition if there is none."""
    for entity in entities:
        sentences = [s.text for s in entity.synonyms if s.text.endswith(".") and len(s.text.split()) >= _WORDS]
        for text in sentences:
            report.note("definition filed as a synonym", f"{entity.id}: {text}")
        if sentences:
            names = tuple(synonym for synonym in entity.synonyms if synonym.text not in sentences)
            entity = replace(entity, synonyms=names, definition=entity.definition or sentences[0])
        yield entity
