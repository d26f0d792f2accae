"""vLLM in process: continuous batching and prefix caching on a GPU. Wired to its documented interface, see the docs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import ConfigError, Errors, LLMError, check_setting, require
from ..models.folder import ModelFolder
from ..models.transformer import unloadable
from ..types import Floats1d
from .chat import ChatCoder
from .local import LocalLLM
from .prefixes import Tokens
from .tally import in_batches
from .weights import ADAPTER, Weights, check_positions

RANKS = (8, 16, 32, 64, 128, 256, 320, 512)  # the ranks of LoRA that vLLM reserves room for


class VllmLLM(LocalLLM):
    """A causal language model under vLLM, which finds by itself what prompts share."""

    kind = "vllm"

    def __init__(
        self,
        model: str,
        *,
        adapter: str | None = None,
        max_new_tokens: int = 64,
        max_length: int = 1024,
        gpu_memory_utilization: float = 0.9,
        seed: int = 0,
        thinking: bool = False,
    ) -> None:
        require("vllm", "vllm", "The vLLM backend")
        share = gpu_memory_utilization
        check_setting("gpu_memory_utilization", share, 0 < share <= 1, "a share of the GPU's memory, at most 1")
        super().__init__(model, Weights(model, adapter), max_length, max_new_tokens)
        self.gpu_memory_utilization, self.seed, self.thinking = share, seed, thinking

    @property
    def id(self) -> str:
        """Kind and content of the model and its adapter, and the settings that change answers; loads no weights."""
        return super().id + (":thinking" if self.thinking else "")

    @property
    def coder(self) -> ChatCoder:
        """The tokenizer and its chat template."""
        return ChatCoder(self.engine.get_tokenizer(), self.thinking)

    def _load(self) -> Any:
        from vllm import LLM

        folder = self.weights.model
        check_positions(folder, self.max_length, self.max_new_tokens)
        settings: dict[str, Any] = {}
        if adapter := self.weights.adapter:
            settings = {"enable_lora": True, "max_lora_rank": _rank(adapter)}
        try:
            return LLM(
                model=str(folder.path),
                tokenizer=str(folder.path),
                trust_remote_code=False,
                load_format="safetensors",
                generation_config="vllm",  # not the sampling that the folder recommends
                max_model_len=self.max_length + self.max_new_tokens,
                gpu_memory_utilization=self.gpu_memory_utilization,
                seed=self.seed,
                enable_prefix_caching=True,
                logprobs_mode="raw_logprobs",
                **settings,
            )
        except Exception as error:  # foreign folders and GPUs can be wrong in any way; the cause stays chained
            raise unloadable(
                folder.path, f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
            ) from error

    def _continue(self, prompts: list[Tokens]) -> list[str | None]:
        settings = {"max_tokens": self.max_new_tokens, "stop_token_ids": _end_tokens(self.weights.model)}

        def run(batch: Sequence[Tokens]) -> list[str]:
            outputs = self._run(batch, [settings] * len(batch))
            for prompt, output in zip(batch, outputs, strict=True):
                self.tally.answered(len(prompt), len(output.token_ids))
            return [str(output.text) for output in outputs]

        return in_batches(prompts, max(len(prompts), 1), run, self.tally)

    def _score(self, prompts: list[Tokens], answers: list[int]) -> list[Floats1d | None]:
        """Force each answer in turn: a forced token's raw log-probability is always reported, however improbable."""
        forced = [{"max_tokens": 1, "logprobs": 0, "allowed_token_ids": [answer]} for answer in answers]

        def run(batch: Sequence[Tokens]) -> list[Floats1d]:
            asked = [prompt for prompt in batch for _ in answers]
            outputs = self._run(asked, forced * len(batch))
            wanted = answers * len(batch)
            scores = [self._logprob(output, answer) for output, answer in zip(outputs, wanted, strict=True)]
            return [*np.array(scores, np.float32).reshape(len(batch), len(answers))]

        rows = in_batches(prompts, max(len(prompts), 1), run, self.tally)
        for prompt, row in zip(prompts, rows, strict=True):
            if row is not None:
                self.tally.answered(len(prompt))
        return rows

    def _logprob(self, output: Any, answer: int) -> float:
        reported = (output.logprobs or [{}])[0]
        if answer not in reported:
            raise LLMError(Errors.NO_LOGPROB.format(name="vLLM", answer=self.coder.text([answer])))
        return float(reported[answer].logprob)

    def _run(self, prompts: Sequence[Tokens], settings: Sequence[dict[str, Any]]) -> list[Any]:
        from vllm import SamplingParams

        lora = None
        if adapter := self.weights.adapter:
            from vllm.lora.request import LoRARequest

            lora = LoRARequest("adapter", 1, str(adapter.path))
        done = self.engine.generate(
            [{"prompt_token_ids": list(prompt)} for prompt in prompts],
            [SamplingParams(temperature=0.0, seed=self.seed, **setting) for setting in settings],
            use_tqdm=False,
            lora_request=lora,
        )
        return [request.outputs[0] for request in done]


def make_vllm_llm(
    model: str,
    adapter: str | None = None,
    max_new_tokens: int = 64,
    max_length: int = 1024,
    gpu_memory_utilization: float = 0.9,
    seed: int = 0,
    thinking: bool = False,
) -> VllmLLM:
    """Make a ``VllmLLM``, which runs vLLM in this process; loads nothing yet.

    Args:
        model: A folder of safetensors, or a name on the Hugging Face hub.
        adapter: The folder of a LoRA adapter; null for none.
        max_new_tokens: Tokens of an answer.
        max_length: Tokens of a prompt; a longer one loses its end.
        gpu_memory_utilization: Share of the GPU's memory that vLLM may take.
        seed: Given to the engine.
        thinking: Let a model that can think do so before it answers.
    """
    return VllmLLM(
        model,
        adapter=adapter,
        max_new_tokens=max_new_tokens,
        max_length=max_length,
        gpu_memory_utilization=gpu_memory_utilization,
        seed=seed,
        thinking=thinking,
    )


def _end_tokens(folder: ModelFolder) -> list[int]:
    """Return the end tokens that the folder's generation config names beside the tokenizer's."""
    path = folder.path / "generation_config.json"
    ends = json.loads(path.read_text(encoding="utf-8")).get("eos_token_id") if path.is_file() else None
    return list(ends) if isinstance(ends, list) else [] if ends is None else [int(ends)]


def _rank(adapter: ModelFolder) -> int:
    rank = int(json.loads((adapter.path / ADAPTER).read_text(encoding="utf-8")).get("r", RANKS[0]))
    if rank > RANKS[-1]:
        raise ConfigError(Errors.ADAPTER_RANK.format(path=adapter.path, rank=rank, most=RANKS[-1]))
    return next(size for size in RANKS if size >= rank)
