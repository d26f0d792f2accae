"""The tokenizer and chat template of a Hugging Face model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .encoding import render_chat


class ChatCoder:
    """A Hugging Face tokenizer with its chat template; without one, the system text and the text as they are."""

    def __init__(self, tokenizer: Any, thinking: bool) -> None:
        self.tokenizer = tokenizer
        self.thinking = thinking

    def tokens(self, text: str) -> list[int]:
        """Tokenise without adding special tokens."""
        return list(self.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])

    def text(self, tokens: Sequence[int]) -> str:
        """Return the text of tokens, without special ones."""
        return str(self.tokenizer.decode(list(tokens), skip_special_tokens=True))

    def chat(self, system: str, text: str) -> list[int]:
        """Tokenise a conversation up to where the model's answer begins.

        Raises:
            LLMError: The chat template does not work.
        """
        if not self.tokenizer.chat_template:
            begin = self.tokenizer.bos_token_id
            return ([] if begin is None else [begin]) + self.tokens(f"{system}\n\n{text}" if system else text)
        from jinja2 import TemplateError

        return self.tokens(render_chat(system, text, self._render, (TemplateError,)))

    def _render(self, messages: list[dict[str, str]]) -> str:
        return str(
            self.tokenizer.apply_chat_template(
                messages, tokenize=False, add_generation_prompt=True, enable_thinking=self.thinking
            )
        )
