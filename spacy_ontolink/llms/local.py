"""What language models that run in this process have in common; each engine adds how it reads and writes tokens."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..errors import Warnings, check_setting
from ..types import Floats1d, Floats2d, Prompt, Usage
from .encoding import Coder, PromptError, answer_ids, encode_prompt
from .prefixes import Tokens
from .tally import Tally
from .weights import Weights

Self = TypeVar("Self", bound="LocalLLM")
Answer = TypeVar("Answer")


class LocalLLM(ABC):
    """A language model in this process, greedy; weights load at first use and are left out of pickles.

    Prompts are encoded here, and each distinct sequence of tokens in a call is answered once.
    """

    kind: str
    """What the engine is called in ids and logs."""

    def __init__(self, model: str, weights: Weights, max_length: int, max_new_tokens: int) -> None:
        check_setting("max_new_tokens", max_new_tokens, max_new_tokens > 0, "a positive number")
        check_setting("max_length", max_length, max_length > 1, "at least 2 tokens")
        self.model = model
        self.max_length, self.max_new_tokens = max_length, max_new_tokens
        self.weights = weights
        self.tally = Tally(self.kind)
        self._engine: Any = None

    @property
    def id(self) -> str:
        """Kind and content of the model and its adapter, and the settings that change answers; loads no weights."""
        return f"{self.kind}:{self.label}@{self.weights.revision}:{self.max_length}:{self.max_new_tokens}"

    @property
    def label(self) -> str:
        """What the model is, in a word made of its content."""
        return self.weights.model.label

    @property
    def usage(self) -> Usage:
        """What was done so far; equal prompts of one call count once."""
        return self.tally.usage

    @property
    def engine(self) -> Any:
        """The loaded model.

        Raises:
            ConfigError: It cannot be loaded.
            StateError: A saved file is damaged or gone.
        """
        if self._engine is None:
            self.weights.check()
            self._engine = self._load()
        return self._engine

    @property
    @abstractmethod
    def coder(self) -> Coder:
        """The loaded model's tokenizer and chat template."""

    @abstractmethod
    def _load(self) -> Any:
        """Load the model."""

    @abstractmethod
    def _continue(self, prompts: list[Tokens]) -> list[str | None]:
        """Continue distinct prompts; None for one that failed."""

    @abstractmethod
    def _score(self, prompts: list[Tokens], answers: list[int]) -> list[Floats1d | None]:
        """Return the answers' log-probabilities after distinct prompts, (A,) each; None for one that failed."""

    def generate(self, prompts: Sequence[Prompt]) -> list[str | None]:
        """Continue each prompt greedily; None for one that failed."""
        return self._answer(prompts, self._continue)

    def choose(self, prompts: Sequence[Prompt], answers: Sequence[str]) -> Floats2d:
        """Return log-probabilities of the answers as the next token, (B, A); NaN for a prompt that failed.

        Raises:
            LLMError: An answer is no single token of the model, or the engine did not report its probability.
        """
        scores = np.full((len(prompts), len(answers)), np.nan, np.float32)
        if scores.size:
            ids = answer_ids(answers, self.coder.tokens, self.model)
            for number, row in enumerate(self._answer(prompts, lambda distinct: self._score(distinct, ids))):
                if row is not None:
                    scores[number] = row
        return scores

    def to_disk(self, path: Path) -> None:
        """Write a self-contained copy of the model and its adapter."""
        self.weights.to_disk(path)

    def from_disk(self: Self, path: Path) -> Self:
        """Take over saved files; they are read and checked at first use, so the folder must stay.

        Raises:
            StateError: A file is missing, or they are another model's.
        """
        self.weights.from_disk(path)
        self._engine = None
        return self

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_engine": None}

    def _answer(
        self, prompts: Sequence[Prompt], answer: Callable[[list[Tokens]], list[Answer | None]]
    ) -> list[Answer | None]:
        if not prompts:
            return []
        encoded: dict[Prompt, Tokens] = {}
        n_cut = 0
        for prompt in dict.fromkeys(prompts):
            try:
                encoded[prompt], cut = encode_prompt(prompt, self.coder, self.max_length)
                n_cut += cut
            except PromptError as error:
                self.tally.failed(error)
        distinct = [*dict.fromkeys(encoded.values())]
        found = dict(zip(distinct, answer(distinct), strict=True))
        if n_cut:
            self.tally.tell(Warnings.PROMPTS_CUT, total=n_cut, limit=self.max_length)
        self.tally.report()
        return [found[encoded[prompt]] if prompt in encoded else None for prompt in prompts]
