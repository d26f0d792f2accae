"""A language model that learns to say yes to right candidates and no to others, by a LoRA adapter (PILOT, 3.2, 4.3)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch

from ..errors import ConfigError, Errors, require
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
from .reranker_settings import YesNoModel
from .reranker_task import RerankerTask, Tick
from .settings import LoopSettings


class Judgement(NamedTuple):
    """A mention, a candidate, whether it is the right one, and what that counts."""

    mention: Mention
    candidate: EntityText
    right: bool
    weight: float = 1.0


class YesNoTask(RerankerTask):
    """Trains an adapter by binary cross-entropy on the margin between yes and no where the answer begins.

    Prompts and token ids are those that ``YesNo`` and its language model make.

    Args:
        model: The language model and its adapter.
        pools, describe, negatives, settings, tick: See ``RerankerTask``; where the loop computes in bfloat16, the
            model's own weights are held in it, too.

    Raises:
        ConfigError: The model cannot be loaded, or prompts do not fit into ``max_length``.
        LLMError: An answer is no single token of the model.
    """

    def __init__(
        self,
        model: YesNoModel,
        pools: Sequence[Pool],
        describe: Describe,
        negatives: Negatives,
        settings: LoopSettings,
        tick: Tick | None = None,
    ) -> None:
        require("peft", "train", "Training a LoRA adapter")
        super().__init__(pools, describe, negatives, settings, tick)
        self.model = model
        self._llm = make_transformers_llm(
            model.base,
            device=settings.device,
            dtype=settings.dtype,
            batch_size=model.scoring_batch,
            max_length=model.max_length,
            max_new_tokens=1,
        )
        self._yes_no = make_yes_no(self._llm, model.instruction, model.yes, model.no, model.template)
        self._causal, self._coder = self._llm.engine
        self._answers = answer_ids((model.yes, model.no), self._coder.tokens, model.base)
        self._tokens(Judgement(Mention("a"), EntityText("a"), True))  # prompts that do not fit fail now
        self._adapted = _adapt(self._causal.model, model, settings.seed)

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
            Judgement(item.mention, text, place == 0, item.weight)
            for item in sets
            for place, text in enumerate(self.describe(item.entities, item.mention.text))
        ]

    def loss(self, items: Sequence[Judgement]) -> Any:
        """Return the weighted mean of the binary cross-entropy of yes and no."""
        logits = self._causal.logits([self._tokens(item) for item in items], self._answers).float()
        right = torch.tensor([float(item.right) for item in items], device=logits.device)
        weights = torch.tensor([item.weight for item in items], device=logits.device)
        margins, entropy = logits[:, 0] - logits[:, 1], torch.nn.functional.binary_cross_entropy_with_logits
        return entropy(margins, right, weights, reduction="sum") / weights.sum()

    def save(self, path: Path) -> None:
        """Write the adapter for ``Transformers.v1(adapter=…)``, or the merged model; nothing is trained afterwards."""
        with replacing(path) as folder, quiet():
            if self.model.merge:
                self._adapted.merge_and_unload().save_pretrained(str(folder), safe_serialization=True)
                self._coder.tokenizer.save_pretrained(str(folder))
                return
            # Embeddings are not trained; to find out whether they were, peft would ask the hub.
            self._adapted.save_pretrained(str(folder), safe_serialization=True, save_embedding_layers=False)
            (folder / "README.md").unlink(missing_ok=True)  # a form to fill in
            config = read_json(folder / ADAPTER)
            config["target_modules"].sort()  # equal adapters have equal files
            config["base_model_name_or_path"] = plain_name(self.model.base)
            write_json(folder / ADAPTER, config)

    def _tokens(self, item: Judgement) -> Tokens:
        try:
            return encode_prompt(self._yes_no.prompt(item.mention, item.candidate), self._coder, self.model.max_length)[
                0
            ]
        except PromptError as error:
            given = {"setting": "model.max_length", "given": self.model.max_length, "wanted": f"more: {error}"}
            raise ConfigError(Errors.SETTING_VALUE.format(**given)) from error


def _adapt(model: Any, lora: YesNoModel, seed: int) -> Any:
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
