"""Loading sentence-transformers models: pooling, number types, and nothing from the network."""

from __future__ import annotations

from typing import Any

from ..errors import ConfigError, Errors
from ..models.devices import import_torch, pick_device, quiet, runs_low
from ..models.folder import ModelFolder

MODULES = ("Transformer", "Pooling", "Normalize", "Dense", "LayerNorm", "Dropout", "WeightedLayerPooling",
           "StaticEmbedding")  # fmt: skip
"""What a sentence-transformers folder may consist of. Others read names of classes from files, and import them."""


def load_model(folder: ModelFolder, pooling: str | None, max_length: int | None, device: str, dtype: str) -> Any:
    """Load a ``SentenceTransformer`` from a folder: offline, without pickles or code of its own, without chatter.

    Raises:
        ConfigError: The folder cannot be loaded, or names a module that is none of ``MODULES``.
    """
    for module in folder.modules:
        check_module(folder, str(module.get("type", "")))
    import_torch()
    device = pick_device(device)
    try:
        with quiet():
            from sentence_transformers import SentenceTransformer

            model = SentenceTransformer(
                str(folder.path),
                device=device,
                local_files_only=True,
                trust_remote_code=False,
                model_kwargs={"use_safetensors": True},
            )
    except Exception as error:  # a foreign folder can be wrong in any way; the cause stays chained
        reason = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
        raise ConfigError(Errors.MODEL_UNLOADABLE.format(path=folder.path, reason=reason)) from error
    if pooling is not None and pooling != folder.pooling:
        _pool(model, pooling, folder)
    if max_length is not None:
        model.max_seq_length = max_length
    return (model.bfloat16() if runs_low(dtype, device) else model.float()).eval()


def check_module(folder: ModelFolder, name: str) -> None:
    """Refuse a module that would run code: some versions of sentence-transformers import any that a folder names.

    Raises:
        ConfigError: It is none of ``MODULES``.
    """
    package, _, kind = name.rpartition(".")
    if package.partition(".")[0] != "sentence_transformers" or kind not in MODULES:
        reason = Errors.MODULE_REFUSED.format(name=name, known=", ".join(MODULES))
        raise ConfigError(Errors.MODEL_UNLOADABLE.format(path=folder.path, reason=reason))


def _pool(model: Any, pooling: str, folder: ModelFolder) -> None:
    for position, module in enumerate(model):
        if type(module).__name__ == "Pooling":
            width = getattr(module, "embedding_dimension", None) or module.word_embedding_dimension
            model[position] = type(module)(width, pooling_mode=pooling)
            return
    reason = f"it has no pooling of tokens, so pooling = '{pooling}' cannot be applied"
    raise ConfigError(Errors.MODEL_UNLOADABLE.format(path=folder.path, reason=reason))
