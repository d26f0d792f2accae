"""Filling a store of aliases: ask for what is missing, keep each answer, count what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ..kb import KnowledgeBase
from ..types import LLM
from .alias_store import AliasStore
from .aliases import NO_ALIAS, NO_ANSWER, NO_DEFINITION, Generated, generate_aliases


@dataclass(slots=True)
class AliasReport:
    """What filling a store came to, in entities unless it says otherwise.

    Attributes:
        entities: Asked for.
        no_definition: Not asked, for want of one.
        failed: The model gave no answer; the next run asks again.
        answered: Answered now.
        no_alias: Among these, answers without an alias.
        aliases: New aliases, in number.
        dropped: Parts of new answers that are no alias, by reason (see ``Generated``).
    """

    entities: int = 0
    no_definition: int = 0
    failed: int = 0
    answered: int = 0
    no_alias: int = 0
    aliases: int = 0
    dropped: Counter[str] = field(default_factory=Counter)

    @property
    def known(self) -> int:
        """Entities that were answered before, once all are through."""
        return self.entities - self.no_definition - self.failed - self.answered

    def counting(self, entities: Iterable[int]) -> Iterator[int]:
        """Pass entities on, counted."""
        for number in entities:
            self.entities += 1
            yield number

    def add(self, item: Generated) -> None:
        """Count what came of one entity."""
        self.no_definition += item.skipped == NO_DEFINITION
        self.failed += item.skipped == NO_ANSWER
        self.answered += item.raw is not None
        self.no_alias += item.skipped == NO_ALIAS
        self.aliases += len(item.aliases)
        self.dropped.update(item.dropped)


def fill(
    store: AliasStore, report: AliasReport, kb: KnowledgeBase, entities: Iterable[int], llm: LLM, **settings: Any
) -> Iterator[Generated]:
    """Ask for what a store has no answer to; yield what came of each entity once it is kept and counted.

    An entity that was answered before is not asked again, unless its name or definition has changed. A batch of answers
    is on disk before the next one is asked.

    Args:
        store: Made with the same settings.
        report: Counts, also if the model gives up or the run is killed.
        kb: The ontology.
        entities: Entity numbers; a stream will do.
        llm: Any language model.
        settings: Those of ``generate_aliases``.

    Raises:
        ConfigError: A setting makes no sense.
        LLMError: The model can answer nothing; what it answered before is kept.
    """
    for item in generate_aliases(kb, report.counting(entities), llm, known=store.sources, **settings):
        store.append([item])
        report.add(item)
        yield item
