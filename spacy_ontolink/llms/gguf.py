"""GGUF files: finding one, and the tokenizer and chat template that it carries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..errors import ConfigError, Errors
from ..files import sha256
from ..models.folder import ModelFolder
from .encoding import render_chat

MAGIC = b"GGUF"
TEMPLATE = "tokenizer.chat_template"


class GgufCoder:
    """The tokenizer of a loaded GGUF model and its chat template; without one, the texts as they are."""

    def __init__(self, llama: Any) -> None:
        self.llama = llama
        self._format: Any = None
        if template := llama.metadata.get(TEMPLATE):
            from llama_cpp.llama_chat_format import Jinja2ChatFormatter

            begin, end = self._special(llama.token_bos()), self._special(llama.token_eos())
            self._format = Jinja2ChatFormatter(template=template, eos_token=end, bos_token=begin)

    def tokens(self, text: str) -> list[int]:
        """Tokenise without adding special tokens."""
        return list(self.llama.tokenize(text.encode(), add_bos=False, special=True))

    def chat(self, system: str, text: str) -> list[int]:
        """Tokenise a conversation up to where the model's answer begins.

        Raises:
            LLMError: The chat template does not work.
        """
        if self._format is None:
            plain = f"{system}\n\n{text}" if system else text
            return list(self.llama.tokenize(plain.encode(), add_bos=True, special=True))
        return self.tokens(render_chat(system, text, self._render, (ValueError,)))

    def _render(self, messages: list[dict[str, str]]) -> str:
        return str(self._format(messages=messages, enable_thinking=False).prompt)

    def _special(self, token: int) -> str:
        return str(self.llama.detokenize([token], special=True).decode()) if token >= 0 else ""


def gguf_file(path: str) -> ModelFolder:
    """Open a GGUF model.

    Raises:
        ConfigError: There is none.
    """
    file = Path(path).expanduser()
    if not file.is_file():
        raise ConfigError(Errors.GGUF_MISSING.format(path=path, reason=""))
    with file.open("rb") as opened:
        if opened.read(len(MAGIC)) != MAGIC:
            raise ConfigError(Errors.GGUF_MISSING.format(path=path, reason="; this file is none"))
    return ModelFolder(file.parent, {file.name: sha256(file)})
