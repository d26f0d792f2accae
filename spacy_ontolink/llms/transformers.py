"""Causal language models of Hugging Face's transformers, in process, with LoRA adapters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from ..errors import Errors, Warnings, check_setting, require
from ..models.devices import check_device, require_torch
from ..types import Floats1d
from .causal import CausalModel, load_causal
from .chat import ChatCoder
from .local import LocalLLM
from .prefixes import Group, Tokens, group_by_prefix
from .tally import ITEM_ERRORS, in_batches
from .weights import Weights, check_positions


class TransformersLLM(LocalLLM):
    """A causal language model that computes once what prompts share.

    The ``id`` leaves out ``share_prefix``, number type and device, which change the last digits only.
    """

    kind = "transformers"

    def __init__(
        self,
        model: str,
        *,
        adapter: str | None = None,
        device: str = "auto",
        dtype: Literal["auto", "float32", "bfloat16"] = "auto",
        batch_size: int = 16,
        max_new_tokens: int = 64,
        max_length: int = 1024,
        share_prefix: bool = True,
        thinking: bool = False,
    ) -> None:
        require_torch("A transformers language model")
        if adapter is not None:
            require("peft", "train", "A LoRA adapter")
        check_device(device)
        check_setting("dtype", dtype, dtype in ("auto", "float32", "bfloat16"), '"auto", "float32" or "bfloat16"')
        check_setting("batch_size", batch_size, batch_size > 0, "a positive number")
        super().__init__(model, Weights(model, adapter), max_length, max_new_tokens)
        self.device, self.dtype, self.batch_size = device, dtype, batch_size
        self.share_prefix, self.thinking = share_prefix, thinking

    @property
    def id(self) -> str:
        """Kind and content of the model and its adapter, and the settings that change answers; loads no weights."""
        return super().id + (":thinking" if self.thinking else "")

    @property
    def coder(self) -> ChatCoder:
        """The tokenizer and its chat template."""
        coder: ChatCoder = self.engine[1]
        return coder

    def _load(self) -> tuple[CausalModel, ChatCoder]:
        folder = self.weights.model
        check_positions(folder, self.max_length, self.max_new_tokens)
        model, tokenizer = load_causal(folder, self.weights.adapter, self.device, self.dtype)
        return model, ChatCoder(tokenizer, self.thinking)

    def _continue(self, prompts: list[Tokens]) -> list[str | None]:
        model: CausalModel = self.engine[0]

        def run(batch: Sequence[Tokens]) -> list[str]:
            made = model.continue_greedily(batch, self.max_new_tokens)
            for prompt, new in zip(batch, made, strict=True):
                self.tally.answered(len(prompt), len(new))
            return [self.coder.text(new) for new in made]

        return self._by_length(prompts, run)

    def _score(self, prompts: list[Tokens], answers: list[int]) -> list[Floats1d | None]:
        groups = group_by_prefix(prompts) if self.share_prefix else [Group(0, tuple(prompts))]
        alone = tuple(prompt for group in groups if not group.shared for prompt in group.prompts)
        found: dict[Tokens, Floats1d | None] = {}
        for group in (*(group for group in groups if group.shared), Group(0, alone)):
            rows = self._score_group(group, answers)
            found |= zip(group.prompts, rows, strict=True)
        return [found[prompt] for prompt in prompts]

    def _score_group(self, group: Group, answers: list[int]) -> list[Floats1d | None]:
        """Score prompts behind the cache of what they share; plainly where that cannot be."""
        model: CausalModel = self.engine[0]
        cache, shared = self._read_prefix(group)

        def run(batch: Sequence[Tokens]) -> list[Floats1d]:
            return [*model.logprobs([prompt[shared:] for prompt in batch], answers, cache, shared)]

        rows = self._by_length(group.prompts, run)
        for place, row in enumerate(rows):
            if row is not None and np.isnan(row).any():
                self.tally.failed(ArithmeticError(Errors.NOT_A_NUMBER))
                rows[place] = None
            elif row is not None:
                self.tally.answered(len(group.prompts[place]))
        return rows

    def _read_prefix(self, group: Group) -> tuple[Any, int]:
        """Return the cache of a group's prefix and its length; none, where it cannot be shared."""
        model: CausalModel = self.engine[0]
        if not group.shared:
            return None, 0
        if obstacle := model.obstacle(max(map(len, group.prompts))):
            self.tally.tell(Warnings.PREFIX_NOT_SHARED, reason=obstacle)
            return None, 0
        try:
            return model.read(group.prompts[0][: group.shared]), group.shared
        except ITEM_ERRORS as error:  # most often memory; without a cache, batches can shrink to what there is
            self.tally.tell(Warnings.PREFIX_NOT_SHARED, reason=f"{type(error).__name__}: {error}")
            return None, 0

    def _by_length(self, prompts: Sequence[Tokens], run: Any) -> list[Any]:
        """Run batches of similar length, the longest first: if memory is short, that shows at once."""
        order = sorted(range(len(prompts)), key=lambda place: -len(prompts[place]))
        done = in_batches([prompts[place] for place in order], self.batch_size, run, self.tally)
        results: list[Any] = [None] * len(prompts)
        for place, result in zip(order, done, strict=True):
            results[place] = result
        return results


def make_transformers_llm(
    model: str,
    adapter: str | None = None,
    device: str = "auto",
    dtype: Literal["auto", "float32", "bfloat16"] = "auto",
    batch_size: int = 16,
    max_new_tokens: int = 64,
    max_length: int = 1024,
    share_prefix: bool = True,
    thinking: bool = False,
) -> TransformersLLM:
    """Make a ``TransformersLLM``, which runs in this process; loads nothing yet.

    Args:
        model: A folder of safetensors, or a name on the Hugging Face hub.
        adapter: The folder of a LoRA adapter, which is merged into the weights; null for none.
        device: "auto", "cpu", "cuda" or the like.
        dtype: "auto" means bfloat16 on a GPU that computes in it, else float32.
        batch_size: Prompts read at a time; one that does not fit into memory is halved.
        max_new_tokens: Tokens of an answer.
        max_length: Tokens of a prompt; a longer one loses its end.
        share_prefix: Read only once what prompts share at their beginning.
        thinking: Let a model that can think do so before it answers.
    """
    return TransformersLLM(
        model,
        adapter=adapter,
        device=device,
        dtype=dtype,
        batch_size=batch_size,
        max_new_tokens=max_new_tokens,
        max_length=max_length,
        share_prefix=share_prefix,
        thinking=thinking,
    )
