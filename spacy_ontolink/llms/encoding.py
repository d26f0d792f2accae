"""Prompts as token ids: a reranker's frame or the model's chat template, cut to the length that a model may read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from ..errors import Errors, LLMError
from ..types import Prompt
from .prefixes import Tokens

GAP = " … "


class Coder(Protocol):
    """A model's tokenizer and chat template."""

    def tokens(self, text: str) -> list[int]:
        """Tokenise without adding special tokens."""

    def chat(self, system: str, text: str) -> list[int]:
        """Tokenise a conversation that the model is to continue."""


class PromptError(ValueError):
    """A prompt that a model cannot read: what must not be cut is too long, or there is nothing in it."""


def encode_prompt(prompt: Prompt, coder: Coder, limit: int) -> tuple[Tokens, bool]:
    """Return the token ids of a prompt, at most ``limit``, and whether its text was cut.

    With a frame, the text loses its end, as in the reference code of Qwen3-Reranker. In a chat it loses its middle, so
    that instructions at its beginning and a question at its end stay.

    Raises:
        PromptError: Template, system text or frame alone fill ``limit``, or there is no token at all.
    """
    text = _encodable(prompt.text)
    if prompt.frame is not None:
        head, tail = (coder.tokens(_encodable(part)) for part in prompt.frame)
        body, room = coder.tokens(text), limit - len(head) - len(tail)
        if room < bool(body):
            raise _too_long(len(head) + len(tail), limit)
        return _not_empty((*head, *body[:room], *tail)), len(body) > room
    system = _encodable(prompt.system)
    ids = coder.chat(system, text)
    if len(ids) <= limit:
        return _not_empty(tuple(ids)), False
    if (least := len(coder.chat(system, GAP))) > limit:
        raise _too_long(least, limit)
    low, high = 0, len(text)  # so many characters fit, so many do not
    while high - low > 1:
        middle = (low + high) // 2
        fits = len(coder.chat(system, without_middle(text, middle))) <= limit
        low, high = (middle, high) if fits else (low, middle)
    return tuple(coder.chat(system, without_middle(text, low))), True


def without_middle(text: str, kept: int) -> str:
    """Keep so many characters of the text, half of them from its beginning and half from its end."""
    tail = kept // 2
    return text[: kept - tail] + GAP + text[len(text) - tail :]


def answer_ids(answers: Sequence[str], tokens: Callable[[str], list[int]], name: str) -> list[int]:
    """Return the tokens of the answers.

    Raises:
        LLMError: One is not a single token.
    """
    ids = [tokens(answer) for answer in answers]
    for answer, parts in zip(answers, ids, strict=True):
        if len(parts) != 1:
            raise LLMError(Errors.NOT_ONE_TOKEN.format(answer=answer, n_tokens=len(parts), name=name))
    return [parts[0] for parts in ids]


def render_chat(
    system: str, text: str, render: Callable[[list[dict[str, str]]], str], refusals: tuple[type[Exception], ...]
) -> str:
    """Render a chat: with a system turn, or, for models that have none, with all in the user's turn.

    Raises:
        LLMError: The template takes neither.
    """
    user = {"role": "user", "content": text}
    tries = [[user]]
    if system:
        tries = [[{"role": "system", "content": system}, user], [{"role": "user", "content": f"{system}\n\n{text}"}]]
    problem: Exception | None = None
    for messages in tries:
        try:
            rendered = render(messages)
        except refusals as error:  # this is how templates refuse a system turn
            problem = error
            continue
        if system.strip() in rendered:  # others leave it out without a word
            return rendered
    raise LLMError(Errors.CHAT_TEMPLATE.format(reason=problem or "it leaves the system text out")) from problem


def _encodable(text: str) -> str:
    """Replace lone surrogates, which no tokenizer takes."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _not_empty(tokens: Tokens) -> Tokens:
    if not tokens:
        raise PromptError(Errors.PROMPT_EMPTY)
    return tokens


def _too_long(given: int, limit: int) -> PromptError:
    return PromptError(Errors.PROMPT_TOO_LONG.format(given=given, limit=limit))
