"""Mentions and entities as the tokens that BLINK's models read: marked, cut to length, and padded to batches.

Text never acts: what looks like a special token in a document or an ontology is read as the letters it is made of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import ConfigError, Errors
from ..text import one_line
from ..types import Mention

MARKERS = ("[Ms]", "[Me]", "[ENT]")
"""Added tokens: before and after the mention, and between the name and the description of an entity."""

LONG_WORD = 20  # characters; a context of so many times the tokens allowed holds at least as many

Ids = tuple[int, ...]
Arrays = dict[str, npt.NDArray[np.int64]]


class Row(NamedTuple):
    """One input of a model: token ids and their types (0 for the first text, 1 for the second)."""

    ids: Ids
    types: Ids


class EntityLine(NamedTuple):
    """What a model reads of an entity."""

    name: str
    description: str


class Layout(NamedTuple):
    """The special tokens before the first text, after it, and after the second if there is one; the texts' types."""

    before: Row
    between: Row
    after: Row
    types: tuple[int, int]


def describe(definition: str, synonyms: Iterable[str], parents: Iterable[str]) -> str:
    """Return the definition of an entity, or else its synonyms, or else its parents."""
    return definition or "; ".join(synonyms) or "; ".join(parents)


class MarkedTokenizer:
    """Cuts and marks mentions and entities for one model.

    A tokenizer without the markers serves models that were trained on plain text: a mention in context is then named
    first (``BF: … such as BF in …``), and a colon stands between name and description.
    """

    def __init__(self, tokenizer: Any, mention_tokens: int, entity_tokens: int, *, pair: bool) -> None:
        """Take over a fast tokenizer of transformers.

        Args:
            tokenizer: With or without the markers.
            mention_tokens: The most tokens of the mention's side, with markers and special tokens.
            entity_tokens: The same of the entity's side.
            pair: Whether both sides are read together.
        """
        self._tokenizer = tokenizer
        vocabulary = tokenizer.get_vocab()
        self.marked = all(marker in vocabulary for marker in MARKERS)
        start, end, entity = ([vocabulary[marker]] if self.marked else [] for marker in MARKERS)
        self.start, self.end, self._between = start, end, entity or self._ids([":"])[0]
        self.layout = _layout(tokenizer, pair)
        before, between, after = (len(row.ids) for row in self.layout[:3])
        self._mention_room = mention_tokens - before - between
        self._entity_room = entity_tokens - (after if pair else before + between)
        self._pad: int = tokenizer.pad_token_id or 0
        self._types = "token_type_ids" in tokenizer.model_input_names

    def mentions(self, mentions: Sequence[Mention]) -> list[Ids]:
        """Mark mentions and cut the text around them, so that both sides get alike; a mention is never cut for it."""
        size = self._mention_room * LONG_WORD
        left = self._ids([_after("", _end(mention.left, size)) for mention in mentions])
        own = self._ids([_after(mention.left, mention.text[:size]) for mention in mentions])
        right = self._ids([_after(mention.text, _beginning(mention.right, size)) for mention in mentions])
        return [self._window(*parts) for parts in zip(left, own, right, strict=True)]

    def entities(self, entities: Sequence[EntityLine]) -> list[Ids]:
        """Put name, marker and description together; the end of the description is cut, the name if it must be."""
        room, size = self._entity_room, self._entity_room * LONG_WORD
        names = self._ids([_after("", entity.name[:size]) for entity in entities])
        texts = self._ids([_after("", _beginning(entity.description, size)) for entity in entities])
        marker = self._between
        lines = []
        for name, text in zip(names, texts, strict=True):
            name = name[: room - len(marker)]
            lines.append(tuple([*name, *(marker if self.marked or text else []), *text][:room]))
        return lines

    def row(self, first: Ids, second: Ids = ()) -> Row:
        """Put special tokens around the ids of one side, or of both."""
        before, between, after, (one, two) = self.layout
        ids = before.ids + first + between.ids + second + after.ids
        types = before.types + (one,) * len(first) + between.types + (two,) * len(second) + after.types
        return Row(ids, types)

    def pad(self, rows: Sequence[Row]) -> Arrays:
        """Pad rows to the longest and return the arrays that a model takes, (B, T)."""
        shape = (len(rows), max(len(row.ids) for row in rows))
        arrays = {"input_ids": np.full(shape, self._pad), "attention_mask": np.zeros(shape, np.int64)}
        if self._types:
            arrays["token_type_ids"] = np.zeros(shape, np.int64)
        for number, row in enumerate(rows):
            arrays["input_ids"][number, : len(row.ids)] = row.ids
            arrays["attention_mask"][number, : len(row.ids)] = 1
            if self._types:
                arrays["token_type_ids"][number, : len(row.ids)] = row.types
        return arrays

    def _window(self, left: list[int], mention: list[int], right: list[int]) -> Ids:
        room = self._mention_room
        lead = [] if self.marked or not (left or right) else mention + self._between
        if len(lead) + len(mention) > room:
            lead, left, right = [], [], []
        mention = mention[: room - len(self.start) - len(self.end)]
        room -= len(lead) + len(self.start) + len(mention) + len(self.end)
        n_left = min(len(left), max(room // 2, room - len(right)))
        return tuple([*lead, *left[len(left) - n_left :], *self.start, *mention, *self.end, *right[: room - n_left]])

    def _ids(self, texts: list[str]) -> list[list[int]]:
        if not texts:
            return []
        encoded = self._tokenizer(
            texts,
            add_special_tokens=False,
            split_special_tokens=True,
            return_attention_mask=False,
            return_token_type_ids=False,
            verbose=False,
        )
        ids: list[list[int]] = encoded["input_ids"]
        return ids


def in_buckets(
    rows: Sequence[Row],
    batch_size: int,
    compute: Callable[[list[Row]], npt.NDArray[np.float32]],
    width: tuple[int, ...],
) -> npt.NDArray[np.float32]:
    """Compute something of every row, (B, *width), each distinct row once and rows of like length together."""
    distinct = sorted(set(rows), key=lambda row: (len(row.ids), row))
    results = np.zeros((len(distinct), *width), np.float32)
    for start in range(0, len(distinct), batch_size):
        results[start : start + batch_size] = compute(distinct[start : start + batch_size])
    place = {row: number for number, row in enumerate(distinct)}
    return results[[place[row] for row in rows]]


def _layout(tokenizer: Any, pair: bool) -> Layout:
    """Read off an example which special tokens a model expects around its texts."""
    if not tokenizer.is_fast:
        reason = "its tokenizer has no fast form (tokenizer.json)"
        raise ConfigError(Errors.MODEL_UNLOADABLE.format(path=tokenizer.name_or_path, reason=reason))
    example = tokenizer("a", "a") if pair else tokenizer("a")
    ids, texts = example["input_ids"], example.sequence_ids(0)
    types = example.get("token_type_ids") or [0] * len(ids)
    last = len(texts) - 1 - texts[::-1].index(0)
    second = texts.index(1) if pair else len(texts)
    end = len(texts) - texts[::-1].index(1) if pair else len(texts)
    parts = [slice(0, texts.index(0)), slice(last + 1, second), slice(end, len(texts))]
    before, between, after = (Row(tuple(ids[part]), tuple(types[part])) for part in parts)
    return Layout(before, between, after, (types[last], types[second] if pair else 0))


def _after(before: str, text: str) -> str:
    """Put text on one line, with a space before it unless it goes on within a word of the text before."""
    within = before and not before[-1].isspace() and not text[:1].isspace()
    line = one_line(text)
    return line if within or not line else f" {line}"


def _end(text: str, size: int) -> str:
    """Return the last words of a text, of about so many characters."""
    if len(text) <= size:
        return text
    kept = text[-size:]
    return kept.partition(" ")[2] or kept


def _beginning(text: str, size: int) -> str:
    return text if len(text) <= size else text[:size].rpartition(" ")[0] or text[:size]
