"""Transformers from folders: loading without network, pickles or chatter, and new folders with markers in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import ConfigError, Errors
from .devices import import_torch, quiet
from .folder import ModelFolder, find_model
from .marked import MARKERS

_RATES = ("hidden_dropout_prob", "attention_probs_dropout_prob", "dropout", "attention_dropout")


def check_length(folder: ModelFolder, setting: str, length: int) -> None:
    """Check that the model in a folder reads inputs of so many tokens.

    Raises:
        ConfigError: It does not.
    """
    if folder.positions and length > folder.positions:
        raise ConfigError(
            Errors.MODEL_TOO_SHORT.format(setting=setting, given=length, own=folder.positions, path=folder.path)
        )


def load_transformer(path: Path, head: str = "", dropout: float | None = None) -> tuple[Any, Any]:
    """Load a model, in float32 on the CPU and in evaluation mode, and its tokenizer.

    Args:
        path: A folder with safetensors weights.
        head: Which of transformers' heads it has, such as ``ForSequenceClassification``; none by default.
        dropout: Replaces the dropout rates of the model's config, for training.

    Raises:
        ConfigError: The folder cannot be loaded, or lacks some of the weights.
    """
    import_torch()
    import transformers

    options = {"local_files_only": True, "trust_remote_code": False}
    try:
        with quiet():
            # "options" keep it to the folder, so that there is no revision to pin.
            config = transformers.AutoConfig.from_pretrained(str(path), **options)  # nosec B615
            for rate in _RATES if dropout is not None else ():
                if hasattr(config, rate):
                    setattr(config, rate, dropout)
            tokenizer = transformers.AutoTokenizer.from_pretrained(str(path), **options)  # nosec B615
            auto = getattr(transformers, f"AutoModel{head}")
            model, report = auto.from_pretrained(
                str(path), config=config, use_safetensors=True, output_loading_info=True, **options
            )
    except Exception as error:  # a foreign folder can be wrong in any way; the cause stays chained
        raise unloadable(path, f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}") from error
    # Models are often saved without the layer on top of [CLS], which is of no use without a head of its own.
    missing = sorted(name for name in report["missing_keys"] if head or not name.startswith("pooler."))
    if missing:
        raise unloadable(path, f"it lacks {len(missing)} of its weights, such as {missing[0]}")
    return model.float().eval(), tokenizer


def start_marked(base: str, out: Path, seed: int) -> tuple[Any, Any]:
    """Write a model and its tokenizer into the folder ``out`` with the markers added, untrained; return both.

    Raises:
        ConfigError: ``base`` is no model that can be loaded.
    """
    torch = import_torch()
    from tokenizers import AddedToken

    path = ModelFolder.open(find_model(base)).path
    with torch.random.fork_rng(devices=[]), quiet():
        torch.manual_seed(seed)  # for the markers, and for the layer on top of [CLS] if the folder lacks it
        model, tokenizer = load_transformer(path)
        tokenizer.add_tokens([AddedToken(marker, special=True, normalized=False) for marker in MARKERS], True)
        if len(tokenizer) > model.get_input_embeddings().num_embeddings:
            model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
        model.save_pretrained(str(out), safe_serialization=True)
        tokenizer.save_pretrained(str(out))
    return model, tokenizer


def tensors(arrays: dict[str, npt.NDArray[np.int64]], device: str) -> dict[str, Any]:
    """Move a batch to a device."""
    torch = import_torch()
    return {name: torch.from_numpy(array).to(device) for name, array in arrays.items()}


def first_vectors(model: Any, inputs: dict[str, Any]) -> Any:
    """Return the last hidden states of the first token ([CLS]), (B, D), of inputs (B, T)."""
    return model(**inputs).last_hidden_state[:, 0]


def unloadable(path: Path, reason: object) -> ConfigError:
    """Say why a folder cannot be used."""
    return ConfigError(Errors.MODEL_UNLOADABLE.format(path=path, reason=reason))
