"""Tasks that make retrievers: names of one entity aligned, mentions and names, mentions and described entities."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..encoders.bi_encoder import entity_lines
from ..models.devices import quiet
from ..models.folder import TOWERS, ModelFolder, find_model
from ..models.marked import MarkedTokenizer, Row
from ..models.transformer import check_length, first_vectors, load_transformer, start_marked, tensors
from ..text import normalise
from .batches import Example, Relatives, Sampler, draw_names
from .losses import Tensor, best_of_rows, multi_positive_loss

if TYPE_CHECKING:
    from ..kb import KnowledgeBase
    from .name_model import NameModel
    from .ngram_model import NgramModel


class Alignment:
    """Pulls the names of an entity together and pushes those of others away: it takes the ontology alone.

    The loss is that of the pairs (InfoNCE with several positives) over all names of a batch, each against every other.
    So one temperature serves both stages, and there is none of the three margins that a multi-similarity loss (SapBERT)
    would have to be tuned by. Names of entities that share a name are never pushed apart.
    """

    def __init__(self, kb: KnowledgeBase, model: NameModel | NgramModel, pairs_per_entity: int, seed: int) -> None:
        self.kb, self.model, self.most, self.seed = kb, model, pairs_per_entity, seed
        self.relatives = Relatives(kb)
        self.module = model.module

    def start_epoch(self, epoch: int) -> Any:
        """Pair names with another name of their entity at random: positions in the name table, (P, 2)."""
        chance = np.random.default_rng([self.seed, epoch])
        owner, first = np.asarray(self.kb.name_owner), self.kb.primary_names()
        count = np.bincount(owner, minlength=len(self.kb))
        order = np.lexsort((chance.random(len(owner)), owner))  # shuffled within each entity
        names = order[(np.arange(len(order)) - first[owner[order]] < self.most) & (count[owner[order]] > 1)]
        start, size = first[owner[names]], count[owner[names]]
        others = start + (names - start + chance.integers(1, size)) % size
        return chance.permutation(np.stack([names, others], 1))

    def loss(self, items: Any) -> Tensor:
        """Return the loss of a batch of pairs, (B, 2)."""
        names = np.unique(items)
        owner = np.asarray(self.kb.name_owner)[names]
        same = owner[:, None] == owner[None, :]
        spared = same | self._namesakes(owner)
        vectors = self.model.vectors(self.kb.texts_of(names))
        scores = self.model.similarities(vectors, vectors)
        positive = same & ~np.eye(len(names), dtype=np.bool_)
        return multi_positive_loss(scores, _mask(positive, scores), _mask(~spared, scores))

    def save(self, path: Path) -> None:
        """Write the folder of the encoder."""
        self.model.save(path)

    def _namesakes(self, owner: np.ndarray) -> np.ndarray:
        """Mark pairs of names whose entities share a name, (n, n)."""
        found = self.relatives.namesakes(owner.tolist())
        mask = np.zeros((len(owner), len(owner)), np.bool_)
        for entity, others in found.items():
            if others:
                mask[np.ix_(owner == entity, np.isin(owner, list(others)))] = True
        return mask


class MentionsAndNames:
    """Pulls mentions to the names of their entities, by one of the strategies of Table 8.

    An entity is represented in a batch by some of its names; its score is the best of theirs, as in linking. A name
    that is the mention's own text teaches nothing and is passed over while there is another.
    """

    def __init__(
        self,
        kb: KnowledgeBase,
        model: NameModel | NgramModel,
        examples: Sequence[Example],
        sampler: Sampler,
        names: int,
        seed: int,
    ) -> None:
        self.kb, self.model, self.examples, self.sampler = kb, model, examples, sampler
        self.names, self.seed = names, seed
        self.module = model.module

    def start_epoch(self, epoch: int) -> list[Example]:
        """Return the examples in the order of this epoch."""
        return _shuffled(self.examples, self.seed, epoch)

    def loss(self, items: Sequence[Example]) -> Tensor:
        """Return the loss of a batch of examples (equations 16 and 17)."""
        chance = _chance()
        batch = self.sampler(items, chance)
        rows = draw_names(self.kb, batch.columns, self.names, chance)
        mentions = [normalise(example.mention.text) for example in items]
        names = [normalise(name) for name in self.kb.texts_of(rows.names)]
        vectors = self.model.vectors([*mentions, *names])
        scores = self.model.similarities(vectors[: len(items)], vectors[len(items) :])
        unseen = _same_text(mentions, names, rows.column) & batch.positive[:, rows.column]
        column = torch.from_numpy(rows.column).long().to(scores.device)
        scores = best_of_rows(scores, column, len(batch.columns), _mask(unseen, scores))
        return multi_positive_loss(
            scores, _mask(batch.positive, scores), _mask(batch.negative, scores), _weights(items, scores)
        )

    def save(self, path: Path) -> None:
        """Write the folder of the encoder."""
        self.model.save(path)


class MentionsAndEntities:
    """BLINK's bi-encoder: mentions in context and described entities, two towers (Sci-ZSEL, A.3)."""

    def __init__(
        self,
        kb: KnowledgeBase,
        base: str,
        examples: Sequence[Example],
        sampler: Sampler,
        *,
        lengths: tuple[int, int] = (128, 128),
        temperature: float | None = None,
        seed: int = 0,
    ) -> None:
        """Load or start the towers.

        Args:
            kb: The knowledge base.
            base: Folder of a bi-encoder, or of a transformer that both towers start from.
            examples: What to learn.
            sampler: Chooses the candidates of a batch.
            lengths: The most tokens of a mention with its context, and of an entity.
            temperature: None scores by dot products; a number by cosines divided by it.
            seed: Of new markers and of the order of examples.

        Raises:
            ConfigError: There is no such model, it cannot be loaded, or it reads less than these lengths.
        """
        self.kb, self.examples, self.sampler, self.seed = kb, examples, sampler, seed
        self.temperature = temperature
        folder = ModelFolder.open(find_model(base))
        for tower, length in zip(TOWERS, lengths, strict=True):
            path = folder.path / tower if folder.two_towers else folder.path
            check_length(ModelFolder(path, {}), f"{tower}_tokens", length)
        self.tokenizers, models = _towers(folder, seed)
        self.module = torch.nn.ModuleDict(dict(zip(TOWERS, models, strict=True)))
        self._marked = [MarkedTokenizer(tokenizer, *lengths, pair=False) for tokenizer in self.tokenizers]

    def start_epoch(self, epoch: int) -> list[Example]:
        """Return the examples in the order of this epoch."""
        return _shuffled(self.examples, self.seed, epoch)

    def loss(self, items: Sequence[Example]) -> Tensor:
        """Return the loss of a batch of examples (equations 11 to 17)."""
        batch = self.sampler(items, _chance())
        mention, entity = self._marked
        mentions = self._encode(0, [mention.row(ids) for ids in mention.mentions([item.mention for item in items])])
        lines = list(entity_lines(self.kb, batch.columns))
        entities = self._encode(1, [entity.row(ids) for ids in entity.entities(lines)])
        with torch.autocast(mentions.device.type, enabled=False):
            scores = (
                mentions @ entities.T if self.temperature is None else _cosines(mentions, entities) / self.temperature
            )
        return multi_positive_loss(
            scores, _mask(batch.positive, scores), _mask(batch.negative, scores), _weights(items, scores)
        )

    def save(self, path: Path) -> None:
        """Write the folder that ``BiEncoder`` takes."""
        with quiet():
            for tower, tokenizer in zip(TOWERS, self.tokenizers, strict=True):
                self.module[tower].save_pretrained(str(path / tower), safe_serialization=True)
                tokenizer.save_pretrained(str(path / tower))

    def _encode(self, tower: int, rows: list[Row]) -> Tensor:
        model = self.module[TOWERS[tower]]
        return first_vectors(model, tensors(self._marked[tower].pad(rows), str(model.device))).float()


def _towers(folder: ModelFolder, seed: int) -> tuple[list[Any], list[Any]]:
    """Return the tokenizers and models of both sides, equal at first unless the folder has two."""
    if folder.two_towers:
        loaded = [load_transformer(folder.path / tower) for tower in TOWERS]
    else:
        with tempfile.TemporaryDirectory() as scratch:
            loaded = [start_marked(str(folder.path), Path(scratch), seed) for _ in TOWERS]
    return [tokenizer for _, tokenizer in loaded], [model for model, _ in loaded]


def _shuffled(examples: Sequence[Example], seed: int, epoch: int) -> list[Example]:
    return [examples[number] for number in np.random.default_rng([seed, epoch]).permutation(len(examples))]


def _chance() -> np.random.Generator:
    """Take a generator off torch's, whose state is part of a checkpoint."""
    return np.random.default_rng(int(torch.randint(2**62, ())))


def _mask(mask: np.ndarray, like: Tensor) -> Tensor:
    return torch.from_numpy(mask).to(like.device)


def _weights(items: Sequence[Example], like: Tensor) -> Tensor:
    return torch.tensor([item.weight for item in items], device=like.device)


def _cosines(one: Tensor, other: Tensor) -> Tensor:
    return torch.nn.functional.normalize(one, dim=1) @ torch.nn.functional.normalize(other, dim=1).T


def _same_text(mentions: Sequence[str], names: Sequence[str], column: np.ndarray) -> np.ndarray:
    """Mark the names that are the text of a mention, (B, R), unless they are all that their entity has here."""
    same = np.asarray(mentions, object)[:, None] == np.asarray(names, object)[None, :]
    lonely = np.bincount(column)[column] == 1
    return same & ~lonely
