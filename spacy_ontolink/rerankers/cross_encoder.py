"""BLINK's cross-encoder, and plain ones: a transformer reads mention and candidate together (Sci-ZSEL, A.4)."""

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
from ..models.transformer import check_length, load_transformer, tensors, unloadable
from ..types import EntityText, Floats1d, Mention
from .networks import HEAD, cross_encoder, cross_scores, open_network, start_network
from .pairs import pair_rows

OWN_HEAD = "ForSequenceClassification"


class CrossEncoder(TransformerPart):
    """Scores ``[CLS] left [Ms] mention [Me] right [SEP] name [ENT] description [SEP]`` by a vector on [CLS].

    A folder of transformers' ``…ForSequenceClassification`` with one label, such as MiniLM or BGE rerankers, keeps its
    own head, and reads plain text if its tokenizer has no markers.
    """

    kind = "cross-encoder"
    what = "A cross-encoder"

    @classmethod
    def untrained(cls, base: str, out: Path, seed: int = 0, **settings: Any) -> CrossEncoder:
        """Write a transformer with markers and a random head into the folder ``out``, ready to be trained."""
        start_network(base, Path(out), cross_encoder, seed)
        return make_cross_encoder(str(out), **settings)

    def score(self, mentions: Sequence[Mention], candidates: Sequence[Sequence[EntityText]]) -> list[Floats1d]:
        """Score each mention's candidates one by one, (K_i,): logits, the higher the better."""
        tokenizer: MarkedTokenizer = self.load()[1]
        rows = pair_rows(tokenizer, mentions, candidates)
        flat = in_buckets([row for own in rows for row in own], self.batch_size, self._compute, ())
        return np.split(flat, np.cumsum([len(own) for own in rows])[:-1]) if rows else []

    def _compute(self, rows: list[Row]) -> Floats1d:
        network, tokenizer = self.load()
        inputs = tensors(tokenizer.pad(rows), pick_device(self.device))
        with import_torch().inference_mode():
            blink = HEAD in self.stored.folder.files
            scores = cross_scores(network, inputs) if blink else network(**inputs).logits[:, 0]
            found: Floats1d = scores.float().cpu().numpy()
        return found

    def _open(self, folder: ModelFolder) -> tuple[Any, MarkedTokenizer]:
        if HEAD in folder.files:
            network, tokenizer = open_network(folder.path, cross_encoder)
        else:
            network, tokenizer = load_transformer(folder.path, OWN_HEAD)
            if (labels := network.config.num_labels) != 1:
                raise unloadable(folder.path, f"a cross-encoder has one label, this model has {labels}")
        return self._place(network), MarkedTokenizer(tokenizer, **self.stored.settings, pair=True)

    @staticmethod
    def _complete(folder: ModelFolder, given: Settings) -> Settings:
        check_length(folder, "mention_tokens + entity_tokens", sum(given.values()))
        if HEAD not in folder.files and not folder.architecture.endswith(OWN_HEAD):
            other = f", or a {OWN_HEAD} model with one label"
            raise ConfigError(Errors.NO_HEAD.format(path=folder.path, what="a cross-encoder", other=other))
        return given


def make_cross_encoder(
    model: str,
    mention_tokens: int = 64,
    entity_tokens: int = 128,
    batch_size: int = 32,
    device: str = "auto",
    dtype: Literal["auto", "float32", "bfloat16"] = "auto",
) -> CrossEncoder:
    """Make a ``CrossEncoder`` from a folder or hub name; loads nothing yet.

    Args:
        model: A folder with a trained head, or any ``…ForSequenceClassification`` with one label.
        mention_tokens: The most tokens of the mention and the text around it, special ones and markers included.
        entity_tokens: The most tokens of the candidate, special ones and markers included.
        batch_size: Pairs scored at a time.
        device: "auto", "cpu", "cuda" or the like.
        dtype: "auto" means bfloat16 on a GPU that computes in it, else float32.

    Source:
        BLINK's cross-encoder in Sci-ZSEL (arXiv 2609.00228), appendix A.4, equations 19 and 20.
    """
    return CrossEncoder(model, mention_tokens, entity_tokens, batch_size, device, dtype)
