"""BLINK's bi-encoder: a mention in its context and an entity with its description, one vector each (Sci-ZSEL, A.3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from ..files import replacing
from ..models.devices import import_torch, pick_device
from ..models.folder import TOWERS, ModelFolder
from ..models.marked import EntityLine, MarkedTokenizer, Row, describe, in_buckets
from ..models.part import TransformerPart
from ..models.stored import Settings
from ..models.transformer import check_length, first_vectors, load_transformer, start_marked, tensors, unloadable
from ..text import normalise
from ..types import EntityRows, Floats2d, Ints1d, Mention
from ..vectors import Vectors
from .names import positions_of
from .progress import Progress

if TYPE_CHECKING:
    from ..kb import KnowledgeBase

BLOCK = 1024  # entities held as Python strings at a time


class Tower(NamedTuple):
    """One side: a transformer, and what cuts and marks its texts."""

    model: Any
    tokenizer: MarkedTokenizer


class BiEncoder(TransformerPart):
    """Encodes ``[CLS] left [Ms] mention [Me] right [SEP]`` and ``[CLS] name [ENT] description [SEP]`` by [CLS] vectors.

    The folder holds two models in ``mention`` and ``entity``, or one for both sides. There is one row per entity.
    Vectors have unit length, as every encoder's, so that the papers' dot products become cosines.
    """

    kind = "bi-encoder"
    what = "A bi-encoder"
    uses_context = True

    def __init__(
        self, model: str, mention_tokens: int, entity_tokens: int, batch_size: int, device: str, dtype: str
    ) -> None:
        super().__init__(model, mention_tokens, entity_tokens, batch_size, device, dtype)
        self.progress: Progress | None = None

    @classmethod
    def untrained(cls, base: str, out: Path, seed: int = 0, **settings: Any) -> BiEncoder:
        """Write two towers, equal until they are trained, with markers into the folder ``out``."""
        with replacing(Path(out)) as folder:
            for tower in TOWERS:
                (folder / tower).mkdir(parents=True)
                start_marked(base, folder / tower, seed)
        return make_bi_encoder(str(out), **settings)

    def fit(self, kb: KnowledgeBase) -> None:
        """Do nothing: the model is pretrained."""

    def encode_mentions(self, mentions: Sequence[Mention]) -> Vectors:
        """Encode mentions in their contexts, (B, D) float32. Blank text gives a zero vector."""
        distinct = [mention for mention in dict.fromkeys(mentions) if normalise(mention.text)]
        tower: Tower = self.load()[0]
        vectors = self._encode(tower, [tower.tokenizer.row(ids) for ids in tower.tokenizer.mentions(distinct)])
        vectors = np.vstack([vectors, np.zeros((1, vectors.shape[1]), np.float32)])
        row = {mention: number for number, mention in enumerate(distinct)}
        return Vectors((vectors[[row.get(mention, len(distinct)) for mention in mentions]],))

    def encode_entities(self, kb: KnowledgeBase, entities: Ints1d | None = None) -> EntityRows:
        """Encode the entities (all by default), one row each, (N, D) float32, streaming over the knowledge base."""
        tower: Tower = self.load()[1]
        numbers = np.arange(len(kb), dtype=np.int32) if entities is None else np.asarray(entities, np.int32)
        vectors, done = np.zeros((len(numbers), tower.model.config.hidden_size), np.float32), 0
        for start in range(0, len(numbers), BLOCK):
            lines = list(entity_lines(kb, numbers[start : start + BLOCK]))
            done = start + len(lines)
            vectors[start:done] = self._encode(tower, [tower.tokenizer.row(i) for i in tower.tokenizer.entities(lines)])
            if self.progress:
                self.progress(done, len(numbers))
        return EntityRows(Vectors((vectors,)), numbers, np.asarray(kb.primary_names()[numbers], np.int32))

    def _encode(self, tower: Tower, rows: list[Row]) -> Floats2d:
        def compute(some: list[Row]) -> Floats2d:
            inputs = tensors(tower.tokenizer.pad(some), pick_device(self.device))
            with import_torch().inference_mode():
                found: Floats2d = first_vectors(tower.model, inputs).float().cpu().numpy()
            found /= np.maximum(np.linalg.norm(found, axis=1, keepdims=True), np.finfo(np.float32).tiny)
            return found

        return in_buckets(rows, self.batch_size, compute, (tower.model.config.hidden_size,))

    def _open(self, folder: ModelFolder) -> tuple[Tower, Tower]:
        paths = [folder.path / tower for tower in TOWERS] if folder.two_towers else [folder.path]
        towers = []
        for path in paths:
            model, tokenizer = load_transformer(path)
            marked = MarkedTokenizer(tokenizer, **self.stored.settings, pair=False)
            if not marked.marked:
                raise unloadable(path, "its tokenizer lacks the markers of a bi-encoder; BiEncoder.untrained adds them")
            towers.append(Tower(self._place(model), marked))
        if (widths := [tower.model.config.hidden_size for tower in towers])[0] != widths[-1]:
            raise unloadable(folder.path, f"its towers give vectors of {widths[0]} and {widths[1]} dimensions")
        return towers[0], towers[-1]

    @staticmethod
    def _complete(folder: ModelFolder, given: Settings) -> Settings:
        for (setting, length), tower in zip(given.items(), TOWERS, strict=True):
            check_length(ModelFolder(folder.path / tower, {}) if folder.two_towers else folder, setting, length)
        return given


def make_bi_encoder(
    model: str,
    mention_tokens: int = 128,
    entity_tokens: int = 128,
    device: str = "auto",
    dtype: Literal["auto", "float32", "bfloat16"] = "auto",
    batch_size: int = 64,
) -> BiEncoder:
    """Make a ``BiEncoder`` from a folder or hub name; loads nothing yet.

    Args:
        model: A folder with the subfolders ``mention`` and ``entity``, or one model for both sides.
        mention_tokens: The most tokens of the mention and the text around it, special ones and markers included.
        entity_tokens: The most tokens of the entity, special ones and markers included.
        device: "auto", "cpu", "cuda" or the like.
        dtype: "auto" means bfloat16 on a GPU that computes in it, else float32.
        batch_size: Texts encoded at a time.

    Source:
        BLINK's bi-encoder in Sci-ZSEL (appendix A.3), with a row for each entity.
    """
    return BiEncoder(model, mention_tokens, entity_tokens, batch_size, device, dtype)


def entity_lines(kb: KnowledgeBase, numbers: Ints1d) -> Iterator[EntityLine]:
    """Yield what is read of each entity; synonyms and parents are looked up where there is no definition."""
    for number, name in zip(numbers.tolist(), kb.names_of(numbers), strict=True):
        definition, synonyms, parents = kb.definition_of(number), [], []
        if not definition:
            names = positions_of(kb, np.array([number], np.int32))
            synonyms = kb.texts_of(names[names != kb.primary_names()[number]])
        if not definition and not synonyms:
            matrix = kb.parent_matrix
            parents = kb.names_of(matrix.indices[matrix.indptr[number] : matrix.indptr[number + 1]])
        yield EntityLine(name, describe(definition, synonyms, parents))
