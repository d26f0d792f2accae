"""Causal language models in torch: loading, next-token log-probabilities with shared prefixes, greedy text."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Sequence
from typing import Any

from ..models.devices import import_torch, pick_device, quiet, runs_low
from ..models.folder import ModelFolder
from ..models.transformer import unloadable
from ..types import Floats2d
from .prefixes import Tokens
from .tally import ITEM_ERRORS


class CausalModel:
    """A loaded model that reads batches of token ids, padded on the left."""

    def __init__(self, model: Any, pad: int) -> None:
        self.model = model
        self.pad = pad
        self.takes = set(inspect.signature(model.forward).parameters)
        self.cache_name = "cache" if "cache" in self.takes else "past_key_values"  # renamed within transformers 5
        config = model.config.get_text_config()
        kinds = set(getattr(config, "layer_types", None) or ())
        windows = [getattr(config, name, None) for name in ("sliding_window", "attention_chunk_size")]
        self.window = min((w for w in windows if w), default=None) if kinds != {"full_attention"} else None
        self.stateful = bool(getattr(model, "_is_stateful", False))
        self._continues: bool | None = None

    def obstacle(self, longest: int) -> str:
        """Say why a cached prefix cannot give right scores for prompts up to this length; "" if it can.

        Recurrent layers cannot continue one prefix in several ways, and the padding between a prefix and its shorter
        suffixes would use up a part of a sliding window.
        """
        if self.stateful or self.cache_name not in self.takes:
            return "the model keeps another state than keys and values"
        if self.window is not None and longest > self.window:
            return f"{longest} tokens are more than the model's attention window of {self.window}"
        if self._continues is None:
            self._continues = self._try_cache()
        return "" if self._continues else "its cache does not continue a prefix as a plain pass does"

    def read(self, prefix: Tokens) -> Any:
        """Return the key-value cache of a prefix."""
        return self._forward([prefix], None, 0, use_cache=True)[self.cache_name]

    def logprobs(self, suffixes: Sequence[Tokens], answers: Sequence[int], cache: Any, shared: int) -> Floats2d:
        """Return the answers' log-probabilities after each suffix, (B, A) float32, behind ``shared`` cached tokens."""
        past = None if cache is None else _for_rows(cache, len(suffixes))
        logits = self._forward(suffixes, past, shared, use_cache=past is not None).logits[:, -1].float()
        chosen = logits[:, list(answers)] - logits.logsumexp(dim=-1, keepdim=True)
        result: Floats2d = chosen.cpu().numpy()
        return result

    def logits(self, prompts: Sequence[Tokens], answers: Sequence[int]) -> Any:
        """Return the answers' logits after each prompt, a tensor (B, A) with gradients, for training."""
        return self._forward(prompts, None, 0, use_cache=False, train=True).logits[:, -1, list(answers)]

    def continue_greedily(self, prompts: Sequence[Tokens], max_new_tokens: int) -> list[Tokens]:
        """Return what greedy decoding adds to each prompt, up to and without the end token."""
        torch = import_torch()
        ids, mask = self._pad(prompts, 0)
        with torch.inference_mode():
            made = self.model.generate(input_ids=ids, attention_mask=mask, max_new_tokens=max_new_tokens)
        return [self._until_end(row) for row in made[:, ids.shape[1] :].tolist()]

    def _try_cache(self) -> bool:
        """Whether a few tokens get the same scores either way: a cache that is not used would go unnoticed."""
        prefix, suffixes, answers = (1, 2, 3, 4), [(5, 6, 7), (8,)], range(10)
        try:
            behind = self.logprobs(suffixes, answers, self.read(prefix), len(prefix))
        except (*ITEM_ERRORS, AttributeError, KeyError, TypeError):  # a cache of another make
            return False
        plain = self.logprobs([prefix + suffix for suffix in suffixes], answers, None, 0)
        return bool(abs(behind - plain).max() < (0.5 if "bfloat16" in str(self.model.dtype) else 0.01))

    def _until_end(self, row: list[int]) -> Tokens:
        ends = set(self.model.generation_config.eos_token_id)
        return tuple(row[: next((place for place, token in enumerate(row) if token in ends), len(row))])

    def _forward(self, rows: Sequence[Tokens], past: Any, shared: int, use_cache: bool, train: bool = False) -> Any:
        torch = import_torch()
        ids, mask = self._pad(rows, shared)
        positions = (mask.cumsum(-1) - 1).clamp(min=0)[:, shared:]
        inputs = {
            "input_ids": ids,
            "attention_mask": mask,
            "position_ids": positions,
            self.cache_name: past,
            "use_cache": use_cache,
            "logits_to_keep": 1,
        }
        with torch.inference_mode(not train):
            return self.model(**{name: value for name, value in inputs.items() if name in self.takes})

    def _pad(self, rows: Sequence[Tokens], shared: int) -> tuple[Any, Any]:
        """Return ids (B, L) and mask (B, shared + L), both padded between the shared tokens and the rows' own."""
        torch = import_torch()
        width = max(map(len, rows))
        ids = torch.full((len(rows), width), self.pad)
        mask = torch.zeros((len(rows), shared + width), dtype=torch.long)
        mask[:, :shared] = 1
        for number, row in enumerate(rows):
            ids[number, width - len(row) :] = torch.tensor(row)
            mask[number, shared + width - len(row) :] = 1
        return ids.to(self.model.device), mask.to(self.model.device)


def _for_rows(cache: Any, n_rows: int) -> Any:
    """Return the cache of one row as that of several; it may be appended to and shares its memory with the first."""
    if not hasattr(cache, "layers"):  # before transformers 4.54
        copied = copy.deepcopy(cache)
        copied.batch_repeat_interleave(n_rows)
        return copied
    shared = copy.copy(cache)
    shared.layers = [copy.copy(layer) for layer in cache.layers]
    for layer in shared.layers:
        layer.keys = layer.keys.expand(n_rows, -1, -1, -1)
        layer.values = layer.values.expand(n_rows, -1, -1, -1)
    return shared


def load_causal(folder: ModelFolder, adapter: ModelFolder | None, device: str, dtype: str) -> tuple[CausalModel, Any]:
    """Load a model, with its adapter merged in, and its tokenizer: offline, without pickles or code of its own.

    Raises:
        ConfigError: Model or adapter cannot be loaded, or lacks weights.
    """
    torch = import_torch()
    device = pick_device(device)
    number_type = torch.bfloat16 if runs_low(dtype, device) else torch.float32
    place, local = folder.path, {"local_files_only": True, "trust_remote_code": False}
    try:
        with quiet():
            from transformers import AutoModelForCausalLM, AutoTokenizer

            # "local" keeps them to the folder, so that there is no revision to pin.
            tokenizer = AutoTokenizer.from_pretrained(str(folder.path), **local)  # nosec B615
            model, loading = AutoModelForCausalLM.from_pretrained(  # nosec B615
                str(folder.path), use_safetensors=True, output_loading_info=True, torch_dtype=number_type, **local
            )
            if missing := sorted(loading["missing_keys"]):
                raise ValueError(f"{len(missing)} weights are missing, the first is {missing[0]}")
            if adapter is not None:
                place = adapter.path
                model = _with_adapter(model, adapter)
    except Exception as error:  # a foreign folder can be wrong in any way; the cause stays chained
        raise unloadable(place, f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}") from error
    _make_greedy(model, tokenizer)
    pad = next((id for id in (tokenizer.pad_token_id, tokenizer.eos_token_id) if id is not None), 0)
    return CausalModel(model.to(device).eval(), pad), tokenizer


def _with_adapter(model: Any, adapter: ModelFolder) -> Any:
    from peft import PeftModel

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what one library deprecates in another
        warnings.filterwarnings("error", message="Found missing adapter keys")
        adapted = PeftModel.from_pretrained(model, str(adapter.path), is_trainable=False)
    return adapted.merge_and_unload()  # one matrix instead of three at every step


def _make_greedy(model: Any, tokenizer: Any) -> None:
    """Forget the sampling and penalties that the folder recommends; keep its end tokens."""
    from transformers import GenerationConfig

    own = getattr(model.generation_config, "eos_token_id", None)
    ends = [*(own if isinstance(own, list) else [own]), tokenizer.eos_token_id]
    pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id
    model.generation_config = GenerationConfig(
        do_sample=False, eos_token_id=sorted({end for end in ends if end is not None}), pad_token_id=pad
    )
