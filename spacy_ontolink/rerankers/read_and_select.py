"""Read-and-select (ReS): candidates are read one by one and scored in view of one another (Sci-ZSEL, A.4)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ..errors import ConfigError, Errors
from ..models.devices import import_torch, pick_device
from ..models.folder import ModelFolder
from ..models.marked import MarkedTokenizer, Row, in_buckets
from ..models.part import TransformerPart
from ..models.stored import Settings
from ..models.transformer import check_length, tensors, unloadable
from ..types import EntityText, Floats1d, Floats2d, Mention
from .networks import HEAD, open_network, read, read_and_select, select, start_network
from .pairs import mark_places, pair_rows


class ReadAndSelect(TransformerPart):
    """Reads each candidate with the mention, then lets the candidates' vectors attend to one another.

    So the score of a candidate depends on which others there are, but not on their order.
    """

    kind = "read-and-select"
    what = "Read-and-select"

    @classmethod
    def untrained(cls, base: str, out: Path, seed: int = 0, **settings: Any) -> ReadAndSelect:
        """Write a transformer with markers and random selecting layers into the folder ``out``, ready to be trained."""
        start_network(base, Path(out), read_and_select, seed)
        return make_read_and_select(str(out), **settings)

    def score(self, mentions: Sequence[Mention], candidates: Sequence[Sequence[EntityText]]) -> list[Floats1d]:
        """Score each mention's candidates in view of one another, (K_i,): logits, the higher the better."""
        network, tokenizer = self.load()
        rows = [tuple(own) for own in pair_rows(tokenizer, mentions, candidates)]
        width = network["base"].config.hidden_size
        flat = in_buckets([row for own in rows for row in own], self.batch_size, self._read, (width,))
        ends = np.cumsum([len(own) for own in rows])
        pools = {own: flat[end - len(own) : end] for own, end in zip(rows, ends, strict=True)}
        pools.pop((), None)
        scores = self._select(list(pools.values()))
        found = dict(zip(pools, scores, strict=True))
        return [found[own] if own else np.zeros(0, np.float32) for own in rows]

    def _read(self, rows: list[Row]) -> Floats2d:
        (network, tokenizer), torch = self.load(), import_torch()
        arrays = tokenizer.pad(rows)
        marks = mark_places(tokenizer, arrays)
        device = pick_device(self.device)
        with torch.inference_mode():
            vectors = read(network, tensors(arrays, device), torch.from_numpy(marks).to(device))
            found: Floats2d = vectors.float().cpu().numpy()
        return found

    def _select(self, pools: list[Floats2d]) -> list[Floats1d]:
        """Score the candidates of each pool, (K_i, D), pools of like size together."""
        scores: list[Floats1d] = [np.zeros(0, np.float32)] * len(pools)
        order = sorted(range(len(pools)), key=lambda number: len(pools[number]))
        for start in range(0, len(order), self.batch_size):
            some = order[start : start + self.batch_size]
            found = self._select_together([pools[number] for number in some])
            for number, own in zip(some, found, strict=True):
                scores[number] = own[: len(pools[number])].copy()
        return scores

    def _select_together(self, pools: list[Floats2d]) -> Floats2d:
        network, torch = self.load()[0], import_torch()
        sizes = np.array([len(pool) for pool in pools])
        vectors = np.zeros((len(pools), sizes.max(), pools[0].shape[1]), np.float32)
        for row, pool in zip(vectors, pools, strict=True):
            row[: len(pool)] = pool
        absent = np.arange(sizes.max()) >= sizes[:, None]
        device, dtype = pick_device(self.device), network["score"].weight.dtype
        with torch.inference_mode():
            scores = select(network, torch.from_numpy(vectors).to(device, dtype), torch.from_numpy(absent).to(device))
            found: Floats2d = scores.float().cpu().numpy()
        return found

    def _open(self, folder: ModelFolder) -> tuple[Any, MarkedTokenizer]:
        network, tokenizer = open_network(folder.path, read_and_select)
        marked = MarkedTokenizer(tokenizer, **self.stored.settings, pair=True)
        if not marked.marked:
            raise unloadable(folder.path, "its tokenizer lacks the markers of mentions")
        return self._place(network), marked

    @staticmethod
    def _complete(folder: ModelFolder, given: Settings) -> Settings:
        check_length(folder, "mention_tokens + entity_tokens", sum(given.values()))
        if HEAD not in folder.files:
            raise ConfigError(Errors.NO_HEAD.format(path=folder.path, what="read-and-select", other=""))
        return given


def make_read_and_select(
    model: str,
    mention_tokens: int = 256,
    entity_tokens: int = 256,
    batch_size: int = 8,
    device: str = "auto",
    dtype: Literal["auto", "float32", "bfloat16"] = "auto",
) -> ReadAndSelect:
    """Make a ``ReadAndSelect`` from a folder or hub name; loads nothing yet.

    Args:
        model: A folder that ``ReadAndSelect.untrained`` or training wrote.
        mention_tokens: The most tokens of the mention and the text around it, special ones and markers included.
        entity_tokens: The most tokens of the candidate, special ones and markers included.
        batch_size: Pairs read, and mentions decided, at a time.
        device: "auto", "cpu", "cuda" or the like.
        dtype: "auto" means bfloat16 on a GPU that computes in it, else float32.

    Source:
        Read-and-select in Sci-ZSEL (arXiv 2609.00228), appendix A.4, equation 21.
    """
    return ReadAndSelect(model, mention_tokens, entity_tokens, batch_size, device, dtype)
