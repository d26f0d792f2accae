"""Filling a store of aliases: ask for what is missing, keep each answer, count what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ..kb import KnowledgeBase
from ..prompts.cleaning import MOST_WORDS
from ..types import LLM
from .alias_store import AliasStore
from .aliases import (
    BATCH,
    MOST_ALIASES,
    NO_ALIAS,
    NO_ANSWER,
    NO_DEFINITION,
    PROMPT,
    Generated,
    generate_aliases,
    settings_of,
)


@dataclass(slots=True)
class AliasReport:
    """What filling a store came to, in entities unless it says otherwise.

    Attributes:
        entities: Asked for.
        known: Answered before.
        no_definition: Not asked, for want of one.
        failed: The model gave no answer; the next run asks again.
        answered: Answered now.
        no_alias: Among these, answers without an alias.
        aliases: New aliases, in number.
        dropped: Parts of new answers that are no alias, by reason (see ``Generated``).
    """

    entities: int = 0
    known: int = 0
    no_definition: int = 0
    failed: int = 0
    answered: int = 0
    no_alias: int = 0
    aliases: int = 0
    dropped: Counter[str] = field(default_factory=Counter)

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


def fill_store(
    path: str | Path,
    kb: KnowledgeBase,
    entities: Iterable[int],
    llm: LLM,
    *,
    domain: str,
    seed: int = 0,
    max_words: int = MOST_WORDS,
    max_aliases: int = MOST_ALIASES,
    prompt: str = PROMPT,
    batch_size: int = BATCH,
) -> tuple[AliasStore, AliasReport]:
    """Ask for what a store has no answer to; each answer is on disk before the next batch is asked.

    An entity that was answered before is not asked again, unless its name or definition has changed.

    Args:
        path: The store; made if it is not there.
        kb: The ontology.
        entities: Entity numbers; a stream will do.
        llm: Any language model.
        domain: What the ontology is about.
        seed: Chooses the examples.
        max_words: An alias with more words is none.
        max_aliases: How many to keep of one answer.
        prompt: A packaged prompt, or a file.
        batch_size: How many entities to ask at once.

    Raises:
        ConfigError: A setting makes no sense.
        StateError: The store is damaged, or was made with other settings.
        LLMError: The model can answer nothing; what it answered before is kept.
    """
    settings = settings_of(llm, domain=domain, seed=seed, max_words=max_words, max_aliases=max_aliases, prompt=prompt)
    store, report = AliasStore(path, settings), AliasReport()
    generated = generate_aliases(
        kb,
        report.counting(entities),
        llm,
        domain=domain,
        seed=seed,
        max_words=max_words,
        max_aliases=max_aliases,
        prompt=prompt,
        known=store.sources,
        batch_size=batch_size,
    )
    for item in generated:
        store.append([item])
        report.add(item)
    report.known = report.entities - report.no_definition - report.failed - report.answered
    return store, report
