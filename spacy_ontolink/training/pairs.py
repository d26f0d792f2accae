"""Pseudo-pairs: mentions of an unlabelled corpus that equal a name, a curated synonym or a generated alias.

Sci-ZSEL, sections 5.2.1 to 5.2.3. "Equal" is equal after ``normalise()``.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from ..errors import DataError, Errors
from ..kb import KnowledgeBase
from ..text import in_brief, normalise
from ..types import SCOPES
from .aliases import Alias
from .corpus import CorpusDocument, CorpusMention

Source = Literal["p1", "synonym", "p2"]
"""Where a pair comes from: the entity's name, a curated synonym, a generated alias; the first of these that fits."""

Ambiguous = Literal["keep", "drop", "split"]
"""A mention that fits several entities gives a pair with each, none at all, or one with each that share its weight."""

SOURCES: tuple[Source, ...] = get_args(Source)
BATCH = 256
"""Documents whose mentions are looked up together."""


class Recipe(NamedTuple):
    """What a setting makes pairs of, and whether aliases have to pass the filter."""

    sources: frozenset[Source]
    filtered: bool = True

    @property
    def generates(self) -> bool:
        """Whether it needs generated aliases."""
        return "p2" in self.sources


SETTINGS: dict[str, Recipe] = {
    "none": Recipe(frozenset()),
    "gen-unfiltered": Recipe(frozenset({"p1", "p2"}), filtered=False),
    "gen": Recipe(frozenset({"p1", "p2"})),
    "synonym": Recipe(frozenset({"synonym"})),
    "gen+synonym": Recipe(frozenset({"p1", "p2", "synonym"})),
    "p1+synonym": Recipe(frozenset({"p1", "synonym"})),
    "p2+synonym": Recipe(frozenset({"p2", "synonym"})),
}
"""The paper's settings by name."""


class Match(NamedTuple):
    """An entity that a text fits, the name or alias that it equals, and that name's scope ("ALIAS" for an alias)."""

    entity: str
    source: Source
    matched: str
    scope: str
    alias: Alias | None = None


@dataclass(frozen=True, slots=True)
class Pair:
    """A mention and the entity that it is taken to mean, with all that it takes to judge whether that is right.

    Attributes:
        mention: The mention, with its document, offsets and sentence.
        entity: Id of the entity.
        source: Why: the mention equals the entity's name, a curated synonym, or a generated alias.
        alias: The alias with its provenance, if that is the reason.
        setting: Name of the setting that the pair was made in.
        matched, scope: The name or alias that the mention equals, as it is written there, and its scope.
        fits: How many entities the mention fits in this setting.
        weight: 1, or with ``split`` one part in ``fits``.
    """

    mention: CorpusMention
    entity: str
    source: Source
    alias: Alias | None
    setting: str
    matched: str = ""
    scope: str = ""
    fits: int = 1
    weight: float = 1.0


class Matcher:
    """Finds the entities that texts fit, by some of the three sources; each entity once, names before synonyms."""

    def __init__(self, kb: KnowledgeBase, sources: Collection[Source], aliases: Iterable[Alias] = ()) -> None:
        self.kb, self.sources = kb, frozenset(sources)
        self._aliases: dict[str, list[Alias]] = {}
        for alias in aliases if "p2" in self.sources else ():
            if key := normalise(alias.text):
                self._aliases.setdefault(key, []).append(alias)

    def __call__(self, texts: Sequence[str]) -> list[tuple[Match, ...]]:
        """Return what each text fits: by primary name, then by synonym, then by alias."""
        found: list[dict[str, Match]] = [{} for _ in texts]
        if self.sources & {"p1", "synonym"}:
            for number, match in self._named(texts):
                if match.source in self.sources and normalise(texts[number]):
                    found[number].setdefault(match.entity, match)
        if self._aliases:
            for matches, text in zip(found, texts, strict=True):
                for alias in self._aliases.get(normalise(text), ()):
                    matches.setdefault(alias.entity, Match(alias.entity, "p2", alias.text, "ALIAS", alias))
        return [tuple(matches.values()) for matches in found]

    def _named(self, texts: Sequence[str]) -> Iterator[tuple[int, Match]]:
        numbers, positions = self.kb.exact_names(texts)
        ids = self.kb.ids_of(self.kb.name_owner[positions])
        scopes = [SCOPES[scope] for scope in self.kb.name_scope[positions]]
        for number, id, scope, name in zip(numbers.tolist(), ids, scopes, self.kb.texts_of(positions), strict=True):
            yield number, Match(id, "p1" if scope == "NAME" else "synonym", name, scope)


class Paired(NamedTuple):
    """A document with its pairs, and for each mention what it fits."""

    document: CorpusDocument
    pairs: list[Pair]
    fits: list[tuple[Match, ...]]


def make_pairs(
    documents: Iterable[CorpusDocument], matcher: Matcher, setting: str, ambiguous: Ambiguous = "keep"
) -> Iterator[Paired]:
    """Pair the mentions of documents with entities, a batch of documents at a time.

    Args:
        documents: Any number of them; they are not kept.
        matcher: Finds the entities, by the sources and aliases of the setting.
        setting: Its name, to be written on each pair.
        ambiguous: What becomes of a mention that fits several entities.
    """
    documents = iter(documents)
    while batch := list(islice(documents, BATCH)):
        texts = list(dict.fromkeys(mention.text for document in batch for mention in document.mentions))
        matches = dict(zip(texts, matcher(texts), strict=True))
        for document in batch:
            fits = [matches[mention.text] for mention in document.mentions]
            pairs = [
                pair
                for mention, found in zip(document.mentions, fits, strict=True)
                for pair in _pairs(mention, found, setting, ambiguous)
            ]
            yield Paired(document, pairs, fits)


def _pairs(mention: CorpusMention, found: Sequence[Match], setting: str, ambiguous: Ambiguous) -> Iterator[Pair]:
    if len(found) > 1 and ambiguous == "drop":
        return
    weight = 1.0 / len(found) if found and ambiguous == "split" else 1.0
    for match in found:
        yield Pair(mention, match.entity, match.source, match.alias, setting, match.matched, match.scope,
                   len(found), weight)  # fmt: skip


def to_record(pair: Pair) -> dict[str, Any]:
    """Return a pair as a mention of a JSONL document: its entity is the one id in ``kb_ids``."""
    mention = pair.mention
    record: dict[str, Any] = {
        "start": mention.start, "end": mention.end, "text": mention.text, "label": mention.label,
        "kb_ids": [pair.entity], "setting": pair.setting, "source": pair.source, "matched": pair.matched,
        "scope": pair.scope, "fits": pair.fits, "weight": pair.weight,
        "sentence_start": mention.sentence_start, "sentence": mention.sentence,
    }  # fmt: skip
    if pair.alias:
        record["alias"] = asdict(pair.alias)
    if mention.gold:
        record["gold"] = list(mention.gold)
    return record


def read_pairs(path: Path) -> Iterator[Pair]:
    """Stream the pairs of a ``pairs.jsonl``.

    Raises:
        DataError: There is no such file, or a line of it holds no pairs; the message says which.
    """
    if not path.is_file():
        raise DataError(Errors.INPUT_MISSING.format(path=path))
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                row = json.loads(line)
                pairs = [_from_record(row["id"], record) for record in row["mentions"]]
            except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
                reason = f"no pairs as 'ontolink pairs' writes them ({in_brief(error)})"
                raise DataError(Errors.BAD_LINE.format(path=path, line=number, reason=reason)) from error
            yield from pairs


def _from_record(doc: str, record: dict[str, Any]) -> Pair:
    mention = CorpusMention(doc, record["start"], record["end"], record["text"], record["sentence_start"],
                            record["sentence"], record["label"], tuple(record.get("gold", ())))  # fmt: skip
    alias = Alias(**record["alias"]) if "alias" in record else None
    return Pair(mention, record["kb_ids"][0], record["source"], alias, record["setting"], record["matched"],
                record["scope"], record["fits"], record["weight"])  # fmt: skip
