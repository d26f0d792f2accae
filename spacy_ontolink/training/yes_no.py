"""A language model that learns to say yes to right candidates and no to others, by a LoRA adapter (PILOT, 3.2, 4.3)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch

from ..errors import ConfigError, Errors, check_setting, require
from ..files import read_json, replacing, write_json
from ..llms.encoding import PromptError, answer_ids, encode_prompt
from ..llms.prefixes import Tokens
from ..llms.transformers import make_transformers_llm
from ..llms.weights import ADAPTER
from ..models.devices import quiet
from ..models.folder import plain_name
from ..rerankers.yes_no import make_yes_no
from ..types import EntityText, Mention, Reranker
from .hard_negatives import Negatives
from .reranker_data import CandidateSet, Describe, Pool
from .reranker_task import RerankerTask, Tick


@dataclass(frozen=True)
class Lora:
    """The adapter: two narrow matrices beside each linear layer of the transformer.

    Raises:
        ConfigError: A setting makes no sense.
    """

    rank: int = 16
    alpha: float = 32
    dropout: float = 0.0

    def __post_init__(self) -> None:
        check_setting("reranker.rank", self.rank, self.rank > 0, "a positive number")
        check_setting("reranker.alpha", self.alpha, self.alpha > 0, "a positive number")
        check_setting("reranker.dropout", self.dropout, 0 <= self.dropout < 1, "a rate from 0 to below 1")


class Judgement(NamedTuple):
    """A mention, a candidate, and whether it is the right one."""

    mention: Mention
    candidate: EntityText
    right: bool


class YesNoTask(RerankerTask):
    """Trains an adapter by binary cross-entropy on the margin between yes and no where the answer begins.

    Prompts and token ids are those that ``YesNo`` and its language model make.

    Args:
        pools: The mentions.
        describe: Gives the texts of entities.
        negatives: How negatives are chosen.
        seed: Of all that is drawn.
        model: The language model, a folder or hub name; its weights stay as they are.
        lora: The adapter.
        merge: Save the whole model with the adapter merged in, not the adapter alone.
        max_length: The most tokens of a prompt.
        instruction: See ``make_yes_no``.
        yes, no: The same.
        template: The same.
        scoring_batch: Prompts scored at a time when hard negatives are mined.
        device: Where to compute.
        dtype: What to compute in; where that is bfloat16, the model's own weights are held in it, too.
        tick: See ``RerankerTask``.

    Raises:
        ConfigError: The model cannot be loaded, or prompts do not fit into ``max_length``.
        LLMError: An answer is no single token of the model.
    """

    def __init__(
        self,
        pools: Sequence[Pool],
        describe: Describe,
        negatives: Negatives,
        seed: int = 0,
        *,
        model: str,
        lora: Lora = Lora(),
        merge: bool = False,
        max_length: int = 512,
        instruction: str | None = None,
        yes: str = "yes",
        no: str = "no",
        template: Literal["qwen3-reranker", "chat"] = "qwen3-reranker",
        scoring_batch: int = 16,
        device: str = "auto",
        dtype: Literal["auto", "float32", "bfloat16"] = "auto",
        tick: Tick | None = None,
    ) -> None:
        require("peft", "train", "Training a LoRA adapter")
        super().__init__(pools, describe, negatives, seed, tick)
        self._llm = make_transformers_llm(
            model, device=device, dtype=dtype, batch_size=scoring_batch, max_length=max_length, max_new_tokens=1
        )
        self._yes_no = make_yes_no(self._llm, instruction, yes, no, template)
        self._causal, self._coder = self._llm.engine
        self._answers = answer_ids((yes, no), self._coder.tokens, model)
        self._tokens(Judgement(Mention("a"), EntityText("a"), True))  # prompts that do not fit fail now
        self._adapted = _adapt(self._causal.model, lora, seed)
        self._merge = merge

    @property
    def module(self) -> Any:
        """The model with its adapter, which alone is trained."""
        return self._adapted

    @property
    def reranker(self) -> Reranker:
        """Scores with the adapter as it is, sharing what prompts have in common."""
        return self._yes_no

    def items(self, sets: list[CandidateSet]) -> Sequence[Judgement]:
        """Take candidates one by one: they are judged by themselves."""
        return [
            Judgement(item.mention, text, place == 0)
            for item in sets
            for place, text in enumerate(self.describe(item.entities, item.mention.text))
        ]

    def loss(self, items: Sequence[Judgement]) -> Any:
        """Return the mean binary cross-entropy of yes and no."""
        logits = self._causal.logits([self._tokens(item) for item in items], self._answers).float()
        right = torch.tensor([float(item.right) for item in items], device=logits.device)
        return torch.nn.functional.binary_cross_entropy_with_logits(logits[:, 0] - logits[:, 1], right)

    def save(self, path: Path) -> None:
        """Write the adapter for ``Transformers.v1(adapter=…)``, or the merged model; nothing is trained afterwards."""
        with replacing(path) as folder, quiet():
            if self._merge:
                self._adapted.merge_and_unload().save_pretrained(str(folder), safe_serialization=True)
                self._coder.tokenizer.save_pretrained(str(folder))
                return
            # Embeddings are not trained; to find out whether they were, peft would ask the hub.
            self._adapted.save_pretrained(str(folder), safe_serialization=True, save_embedding_layers=False)
            (folder / "README.md").unlink(missing_ok=True)  # a form to fill in
            config = read_json(folder / ADAPTER)
            config["target_modules"].sort()  # equal adapters have equal files
            config["base_model_name_or_path"] = plain_name(self._llm.model)
            write_json(folder / ADAPTER, config)

    def _tokens(self, item: Judgement) -> Tokens:
        try:
            return encode_prompt(self._yes_no.prompt(item.mention, item.candidate), self._coder, self._llm.max_length)[0]
        except PromptError as error:
            length = self._llm.max_length
            raise ConfigError(
                Errors.SETTING_VALUE.format(setting="reranker.max_length", given=length, wanted=f"more: {error}")
            ) from error


def _adapt(model: Any, lora: Lora, seed: int) -> Any:
    """Put a new adapter into a model, in place; it changes nothing until it is trained."""
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(
        r=lora.rank,
        lora_alpha=lora.alpha,
        lora_dropout=lora.dropout,
        target_modules="all-linear",
        task_type="CAUSAL_LM",
    )
    with torch.random.fork_rng(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what one library deprecates in another
        torch.manual_seed(seed)
        return get_peft_model(model, config)
