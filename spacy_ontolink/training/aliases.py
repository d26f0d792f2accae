"""Names of entities that a language model makes of their definitions alone (Sci-ZSEL, 5.2.2 and A.1)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np

from ..errors import check_setting
from ..kb import KnowledgeBase
from ..kb.hierarchy import neighbourhoods
from ..prompts.cleaning import MOST_WORDS
from ..prompts.name_lists import Names, read_names
from ..prompts.template import PromptTemplate
from ..registry import check_part
from ..text import normalise
from ..types import LLM, SCOPES, Entity, Ints1d, Prompt
from .examples import draw_examples

PROMPT = "aliases"
MOST_ALIASES = 20
EXAMPLES = 3  # in each prompt, as in the paper
BATCH = 64  # entities asked at once
NO_DEFINITION, NO_ANSWER, NO_ALIAS = "no definition", "no answer", "no alias"
"""Why an entity has no aliases: there is nothing to ask with, the model failed, or its answer holds none."""

_FIELDS = ("domain", "examples", "definition")
_MOST_OF_A_DEFINITION = 300  # words


@dataclass(frozen=True, slots=True)
class Alias:
    """One generated name of an entity, with its provenance.

    Attributes:
        entity: The entity's id.
        text: The name.
        model: The id of the language model.
        prompt: The version of the prompt.
        answer: The hash of the raw answer that the name was taken from.
    """

    entity: str
    text: str
    model: str = ""
    prompt: str = ""
    answer: str = ""


class Generated(NamedTuple):
    """What came of one entity.

    Attributes:
        entity: Its id.
        aliases: Its names, in the order of the answer.
        skipped: Why there are none; "" where there are.
        dropped: How much of the answer was no alias, by reason: those of ``Names``, ``neighbour`` (the name of one) and
            ``cap`` (too many).
        raw: The answer as it came; None where the entity was not asked or the model failed.
        source: A digest of the name and the definition that the answer rests on.
    """

    entity: str
    aliases: tuple[Alias, ...] = ()
    skipped: str = ""
    dropped: Mapping[str, int] = {}
    raw: str | None = None
    source: str = ""


class Settings(NamedTuple):
    """What aliases depend on beside the ontology; a store keeps it, so that answers of two kinds are not mixed."""

    model: str
    prompt: str
    domain: str
    seed: int
    max_words: int
    max_aliases: int


def generate_aliases(
    kb: KnowledgeBase,
    entities: Iterable[int],
    llm: LLM,
    *,
    domain: str,
    seed: int = 0,
    max_words: int = MOST_WORDS,
    max_aliases: int = MOST_ALIASES,
    prompt: str = PROMPT,
    known: Mapping[str, str] | None = None,
    batch_size: int = BATCH,
) -> Iterator[Generated]:
    """Ask for the names of entities by their definitions; yield each entity as soon as its batch is answered.

    Three examples (definition and names) come from the ontology, the same for nearly all entities, but never the entity
    itself nor one of its parents, children and siblings.

    Args:
        kb: The ontology.
        entities: Entity numbers; a stream will do.
        llm: Any language model.
        domain: What the ontology is about, such as "animal science".
        seed: Chooses the examples.
        max_words: An alias with more words is none.
        max_aliases: How many to keep of one answer.
        prompt: A packaged prompt, or a file with the fields ``$definition``, ``$domain`` and ``$examples``.
        known: The ``source`` of entities answered before; they are passed over unless their name or definition changed.
        batch_size: How many entities to ask at once.

    Raises:
        ConfigError: A setting makes no sense, or the prompt is unusable.
        LLMError: The model can answer nothing.
    """
    asker = _Asker(kb, llm, domain, seed, max_words, max_aliases, prompt)
    check_setting("batch_size", batch_size, batch_size > 0, "1 or more")
    numbers = iter(entities)
    while batch := list(islice(numbers, batch_size)):
        yield from asker.ask(np.array(batch, np.int32), known or {})


def settings_of(
    llm: LLM,
    *,
    domain: str,
    seed: int = 0,
    max_words: int = MOST_WORDS,
    max_aliases: int = MOST_ALIASES,
    prompt: str = PROMPT,
) -> Settings:
    """Return what a store of such aliases must say it was made with."""
    return Settings(llm.id, load_prompt(prompt).version, domain, seed, max_words, max_aliases)


def load_prompt(source: str = PROMPT) -> PromptTemplate:
    """Read the prompt; raises as ``PromptTemplate.load`` does."""
    return PromptTemplate.load(source, _FIELDS, ("definition",))


class _Asker:
    """Asks about batches of entities."""

    def __init__(
        self, kb: KnowledgeBase, llm: LLM, domain: str, seed: int, max_words: int, max_aliases: int, prompt: str
    ) -> None:
        check_setting("domain", domain, bool(domain.strip()), 'words such as "animal science"')
        check_setting("max_words", max_words, max_words > 0, "1 or more")
        check_setting("max_aliases", max_aliases, max_aliases > 0, "1 or more")
        self.kb, self.llm = kb, check_part(llm, LLM, "llm")
        self.domain, self.max_words, self.max_aliases = domain, max_words, max_aliases
        self.template = load_prompt(prompt)
        self.model = llm.id
        self.examples = draw_examples(kb, seed, max_words)

    def ask(self, numbers: Ints1d, known: Mapping[str, str]) -> Iterator[Generated]:
        entities = [self.kb[id] for id in self.kb.ids_of(numbers)]
        new = [place for place, entity in enumerate(entities) if known.get(entity.id) != source_of(entity)]
        asked = [place for place in new if _has_definition(entities[place])]
        near = neighbourhoods(self.kb.parent_matrix, self.kb.child_matrix, numbers[asked])
        prompts = [self._prompt(entities[place], numbers[place], near.row(row)) for row, place in enumerate(asked)]
        answers = self.llm.generate(prompts) if prompts else []
        read = [
            read_names(
                answer or "",
                name=entities[place].name,
                definition=entities[place].definition,
                id=entities[place].id,
                max_words=self.max_words,
            )
            for place, answer in zip(asked, answers, strict=True)
        ]
        self._drop_neighbours(read, [near.row(row) for row in range(len(asked))])
        told = {
            place: self._generated(entities[place], answer, names)
            for place, answer, names in zip(asked, answers, read, strict=True)
        }
        for place in new:
            yield told.get(place) or Generated(entities[place].id, skipped=NO_DEFINITION)

    def _prompt(self, entity: Entity, number: int, near: Ints1d) -> Prompt:
        shown = [example for example in self.examples if example.number != number and example.number not in near]
        lines = [line for example in shown[:EXAMPLES] for line in example.lines]
        definition = " ".join(entity.definition.split()[:_MOST_OF_A_DEFINITION])
        return self.template.fill(
            domain=self.domain, examples=["Examples:", *lines] if lines else [], definition=definition
        )

    def _drop_neighbours(self, read: Sequence[Names], near: Sequence[Ints1d]) -> None:
        """Drop the primary names of neighbours."""
        texts = [name for names in read for name in names.names]
        answer = np.repeat(np.arange(len(read)), [len(names.names) for names in read])
        text, position = self.kb.exact_names(texts)
        for place, name in zip(text.tolist(), position.tolist(), strict=True):
            names = read[answer[place]]
            is_name = SCOPES[self.kb.name_scope[name]] == "NAME"
            if is_name and self.kb.name_owner[name] in near[answer[place]] and texts[place] in names.names:
                names.names.remove(texts[place])
                names.dropped["neighbour"] += 1

    def _generated(self, entity: Entity, answer: str | None, names: Names) -> Generated:
        if answer is None:
            return Generated(entity.id, skipped=NO_ANSWER)
        if len(names.names) > self.max_aliases:
            names.dropped["cap"] += len(names.names) - self.max_aliases
        digest = answer_hash(answer)
        kept = names.names[: self.max_aliases]
        aliases = tuple(Alias(entity.id, text, self.model, self.template.version, digest) for text in kept)
        return Generated(
            entity.id, aliases, "" if aliases else NO_ALIAS, dict(names.dropped), answer, source_of(entity)
        )


def answer_hash(answer: str) -> str:
    """Return a short hash of a raw answer."""
    return hashlib.sha256(answer.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def source_of(entity: Entity) -> str:
    """Return a digest of the name and the definition, which tells whether an answer is still about this entity."""
    text = "\0".join((entity.name, entity.definition))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _has_definition(entity: Entity) -> bool:
    """Tell whether there is a definition that says more than the name."""
    key = normalise(entity.definition)
    return bool(key) and key != normalise(entity.name)
