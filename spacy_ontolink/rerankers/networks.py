"""The cross-encoders of Sci-ZSEL (appendix A.4) as torch modules, for scoring here and for training elsewhere.

A network is a ``torch.nn.ModuleDict`` and the functions below are its forward passes, so that this file needs no torch
to be imported. Shapes: ``P`` mention-candidate pairs, ``T`` tokens, ``B`` mentions, ``K`` candidates, ``D`` dimensions.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import StateError
from ..files import open_tensors, replacing, write_tensors
from ..models.devices import import_torch, quiet
from ..models.transformer import first_vectors, load_transformer, start_marked, unloadable

HEAD = "head.safetensors"
LAYERS = 2  # of the selecting transformer
DROPOUT = 0.2  # of the head, in training

Network = Any
"""A ``torch.nn.ModuleDict`` with the transformer as ``base`` and the layers of its head."""

Tensor = Any
Make = Callable[..., Network]


def cross_encoder(base: Any, dropout: float = DROPOUT, seed: int = 0) -> Network:
    """Put BLINK's scoring vector on a transformer: ``score`` (D to 1, no bias), drawn anew."""
    return _network(base, dropout, seed, lambda torch, width: {})


def cross_scores(network: Network, inputs: dict[str, Tensor]) -> Tensor:
    """Score pairs, (P,), by ``w · h[CLS]`` (equations 19 and 20); ``inputs`` are (P, T) each."""
    return network["score"](network["dropout"](first_vectors(network["base"], inputs))).squeeze(-1)


def read_and_select(base: Any, dropout: float = DROPOUT, seed: int = 0) -> Network:
    """Put a selecting transformer (``select``) and a scoring vector (``score``) on a reading one, drawn anew."""

    def selecting(torch: Any, width: int) -> dict[str, Any]:
        config = base.config
        layer = torch.nn.TransformerEncoderLayer(
            width, config.num_attention_heads, 4 * width, dropout, batch_first=True
        )
        encoder = torch.nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        for weight in encoder.parameters():  # the layers begin as copies of one another
            if weight.dim() > 1:
                torch.nn.init.xavier_uniform_(weight)
        return {"select": encoder}

    return _network(base, dropout, seed, selecting)


def read(network: Network, inputs: dict[str, Tensor], marks: Tensor) -> Tensor:
    """Read each candidate with its mention: the mention's vector in the light of that candidate, (P, D).

    Args:
        network: Of ``read_and_select``.
        inputs: What the tokenizer gives, (P, T) each.
        marks: The positions of the two mention markers, (P, 2); the vector is the mean of their hidden states.
    """
    states = network["base"](**inputs).last_hidden_state
    index = marks.unsqueeze(-1).expand(-1, -1, states.shape[-1])
    return states.gather(1, index).mean(1)


def select(network: Network, vectors: Tensor, absent: Tensor) -> Tensor:
    """Score candidates in view of one another, (B, K); their order has no meaning (equation 21).

    Args:
        network: Of ``read_and_select``.
        vectors: What ``read`` gives, padded, (B, K, D).
        absent: True where there is no candidate, (B, K); every mention has at least one. Their scores mean nothing.
    """
    seen = network["select"](network["dropout"](vectors), src_key_padding_mask=absent)
    return network["score"](network["dropout"](seen)).squeeze(-1)


def open_network(path: Path, make: Make, dropout: float | None = None) -> tuple[Network, Any]:
    """Load a network of ``make`` from its folder, in float32 on the CPU; return it and its tokenizer.

    Args:
        path: A folder that ``save_network`` wrote.
        make: ``cross_encoder`` or ``read_and_select``.
        dropout: Replaces the rates of base and head, for training; those saved or usual stay by default.

    Raises:
        ConfigError: The folder cannot be loaded, or is of another kind.
    """
    torch = import_torch()
    base, tokenizer = load_transformer(path, dropout=dropout)
    network = make(base, dropout=DROPOUT if dropout is None else dropout)
    try:
        saved = open_tensors(path / HEAD)
        head = {name: torch.from_numpy(np.array(array)) for name, array in saved.items()}
        _head(network).load_state_dict(head)
    except (StateError, RuntimeError) as error:  # torch says in many lines what does not fit
        reason = " ".join(str(error).split())[:300]
        raise unloadable(path, f"{HEAD} is not one of this kind of reranker: {reason}") from error
    return network.eval(), tokenizer


def save_network(path: Path, network: Network, tokenizer: Any) -> None:
    """Write a network and its tokenizer as one folder, whole or not at all."""
    with replacing(path) as folder, quiet():
        folder.mkdir()
        network["base"].save_pretrained(str(folder), safe_serialization=True)
        tokenizer.save_pretrained(str(folder))
        _write_head(folder, network)


def start_network(base: str, path: Path, make: Make, seed: int) -> None:
    """Write a new, untrained network as a folder: a transformer with added markers, and a random head.

    Raises:
        ConfigError: ``base`` is no model that can be loaded.
    """
    with replacing(path) as folder:
        folder.mkdir()
        model, _ = start_marked(base, folder, seed)
        _write_head(folder, make(model, seed=seed))


def _network(base: Any, dropout: float, seed: int, layers: Callable[[Any, int], dict[str, Any]]) -> Network:
    torch = import_torch()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        width = base.config.hidden_size
        score = torch.nn.Linear(width, 1, bias=False)
        torch.nn.init.normal_(score.weight, std=width**-0.5)
        head = {"dropout": torch.nn.Dropout(dropout), "score": score, **layers(torch, width)}
        return torch.nn.ModuleDict({"base": base, **head}).eval()


def _head(network: Network) -> Network:
    torch = import_torch()
    return torch.nn.ModuleDict({name: module for name, module in network.items() if name != "base"})


def _write_head(folder: Path, network: Network) -> None:
    head = _head(network).state_dict()
    write_tensors(folder / HEAD, {name: value.detach().float().cpu().numpy() for name, value in head.items()})
