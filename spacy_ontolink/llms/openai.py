"""Language models behind any server that speaks OpenAI's protocol: vLLM, llama.cpp, Ollama, vendors."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..errors import Errors, LLMError, StateError, Warnings, check_setting, require
from ..files import read_checked_json, replacing, write_checked_json
from ..models.folder import plain_name
from ..registry import saves
from ..types import Floats2d, Prompt, Usage
from . import replies
from .connection import Connection, is_loopback
from .retrying import Failed, Retrying

SETTINGS = "openai.json"
_OURS = {"model", "messages", "prompt", "stream", "n", "logprobs"}
_SECRET = re.compile(
    r"(?:api|private|access|^)[-_]?key$|authori[sz]ation|x-auth|secret|passw(?:or)?d|^pwd$|credential|cookie|bearer"
    r"|(?:access|auth|id|hf|^)[-_]?token$",
    re.IGNORECASE,
)
_SECRET_TEXT = re.compile(r"\b(?:bearer|basic)\s+\S{8}|^sk-\S{8}", re.IGNORECASE)
_log = logging.getLogger(__name__)
Answer = TypeVar("Answer")


class OpenAILLM:
    """Asks a server, several prompts side by side; a chat through its chat endpoint, a framed prompt as raw text.

    The server cuts nothing: a prompt that is too long for it fails. The key is read from the environment variable at
    first use and kept out of everything that is written.
    """

    def __init__(
        self,
        model: str,
        *,
        endpoint: str = "http://127.0.0.1:8000/v1",
        api_key_env: str = "OPENAI_API_KEY",
        timeout: float = 60,
        max_tries: int = 4,
        concurrency: int = 8,
        max_new_tokens: int = 64,
        seed: int = 0,
        top_logprobs: int = 20,
        extra_body: dict[str, Any] | None = None,
    ) -> None:
        require("openai", "llm", "A language model behind a server")
        extra = dict(extra_body or {})
        check_setting("model", model, bool(model.strip()), "the name that the server knows it by")
        is_loopback(endpoint)  # checks it, too
        variable = bool(re.fullmatch(r"[A-Za-z_]\w*", api_key_env))
        check_setting("api_key_env", "…", variable, "the name of an environment variable, never a key itself")
        check_setting("timeout", timeout, timeout > 0, "seconds, more than 0")
        for name, value in [("max_tries", max_tries), ("concurrency", concurrency), ("max_new_tokens", max_new_tokens),
                            ("top_logprobs", top_logprobs)]:  # fmt: skip
            check_setting(name, value, value >= 1, "1 or more")
        check_setting("extra_body", sorted(extra), not _OURS & extra.keys(), f"no key of {', '.join(sorted(_OURS))}")
        secret = sorted(_secrets(extra))
        check_setting(
            "extra_body", secret, not secret, "no keys or passwords: they come from the environment (api_key_env)"
        )
        self.model, self.endpoint, self.api_key_env = model, endpoint.rstrip("/"), api_key_env
        self.timeout, self.max_tries, self.concurrency = timeout, max_tries, concurrency
        self.max_new_tokens, self.seed, self.top_logprobs, self.extra_body = max_new_tokens, seed, top_logprobs, extra
        self._usage = Usage()
        self._told: set[str] = set()
        self._connection: Connection | None = None

    @property
    def id(self) -> str:
        """The model, the server, and a hash of the settings that change answers."""
        settings = [self.model, self.max_new_tokens, self.seed, self.extra_body]
        digest = hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode()).hexdigest()[:8]
        return f"openai:{plain_name(self.model)}@{self.endpoint.partition('://')[2]}:{digest}"

    @property
    def usage(self) -> Usage:
        """What was asked since this object was made, by this process."""
        return self._usage

    def __repr__(self) -> str:
        return f"<OpenAILLM {self.model!r} at {self.endpoint}>"

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_connection": None}

    def generate(self, prompts: Sequence[Prompt]) -> list[str | None]:
        """Continue each prompt, at temperature 0; None for an item that failed."""
        answers = self._ask(prompts, replies.text_of)
        return [None if isinstance(answer, Failed) else answer for answer in answers]

    def choose(self, prompts: Sequence[Prompt], answers: Sequence[str]) -> Floats2d:
        """Read the answers' log-probabilities from those of the most probable next tokens, (B, A).

        Spellings of an answer that differ in white space count together.

        Raises:
            LLMError: The server reports no log-probabilities, or an answer is not among them; has the rows of others.
        """

        def read(choice: dict[str, Any]) -> list[float]:
            tokens = replies.top_tokens(choice)
            if tokens is None:
                raise LLMError(Errors.SERVER_NO_LOGPROBS.format(endpoint=self.endpoint, model=self.model))
            return [self._logprob(answer, tokens) for answer in answers]

        rows = np.full((len(prompts), len(answers)), np.nan, np.float32)
        for row, found in zip(rows, self._ask(prompts, read, choosing=True), strict=True):
            if not isinstance(found, Failed):
                row[:] = found
        return rows

    def to_disk(self, path: Path) -> None:
        """Write which model answered; there is nothing else of a server to keep."""
        with replacing(Path(path)) as folder:
            folder.mkdir()
            write_checked_json(folder / SETTINGS, {"model": plain_name(self.model)})

    def from_disk(self, path: Path) -> OpenAILLM:
        """Check that the model is the one of the saved pipeline; it may be behind another server.

        Raises:
            StateError: It is another one.
        """
        saved = read_checked_json(Path(path) / SETTINGS)
        name, given = saved.get("model"), plain_name(self.model)
        if name != given:
            raise StateError(Errors.MISMATCH.format(path=path, what="the language model", saved=name, given=given))
        return self

    def _logprob(self, answer: str, tokens: list[tuple[str, float]]) -> float:
        found = replies.logprob_of(answer, tokens)
        if found is None:
            shown = ", ".join(repr(token) for token, _ in tokens[:8])
            raise LLMError(Errors.SERVER_NO_LOGPROB.format(
                answer=answer, n=len(tokens), endpoint=self.endpoint, model=self.model, tokens=shown or "none",
                asked=self.top_logprobs))  # fmt: skip
        return found

    # Asking

    def _ask(
        self, prompts: Sequence[Prompt], read: Callable[[dict[str, Any]], Answer], choosing: bool = False
    ) -> list[Answer | Failed]:
        """Ask for all prompts, some side by side, and count and tell what failed."""
        server = self._connect()
        retrying = Retrying(self.max_tries, self.max_tries * self.timeout, doubtful=server.broken)

        def ask(prompt: Prompt) -> Answer | Failed:
            settings = self._settings(prompt.frame is None, choosing)

            def attempt(seconds: float) -> Answer:
                reply = server.send(prompt, settings, min(seconds, self.timeout))
                self._add(server, Usage(0, 0, 0, *replies.token_counts(reply)))
                return read(replies.first_choice(reply))

            answer = retrying.run(attempt)
            self._add(server, Usage(failed=1) if isinstance(answer, Failed) else Usage(calls=1))
            if not isinstance(answer, Failed):
                answered[prompt] = answer
            return answer

        pool = ThreadPoolExecutor(max(1, min(self.concurrency, len(prompts))))
        answers: list[Answer | Failed] = []
        answered: dict[Prompt, Answer] = {}
        try:
            answers.extend(pool.map(ask, prompts))
        except LLMError as error:
            error.answered = answered  # along with what is still on its way
            raise
        finally:  # an error, or an interruption by the user, ends the rest
            if len(answers) < len(prompts):
                retrying.stop(Failed("stopped", "the batch was stopped"))
            pool.shutdown(cancel_futures=True)
        server.broken = retrying.broken
        self._tell([answer for answer in answers if isinstance(answer, Failed)], len(prompts), server)
        return answers

    def _settings(self, chat: bool, choosing: bool) -> dict[str, Any]:
        """Return the settings of a request; null in ``extra_body`` takes one away."""
        settings: dict[str, Any] = {"temperature": 0, "seed": self.seed, "max_tokens": self.max_new_tokens}
        settings = {key: value for key, value in (settings | self.extra_body).items() if value is not None}
        if choosing:
            settings |= {key: 1 for key in settings if re.fullmatch(r"max_\w*tokens", key)}
            settings |= {"logprobs": True if chat else self.top_logprobs}
            settings |= {"top_logprobs": self.top_logprobs} if chat else {}
        return settings

    def _connect(self) -> Connection:
        """Return the connections of this process, made at first use: they do not survive a fork."""
        if self._connection is None or self._connection.pid != os.getpid():
            self._connection = Connection(self.model, self.endpoint, self.api_key_env)
        return self._connection

    def _add(self, server: Connection, more: Usage) -> None:
        with server.lock:
            self._usage = Usage(*(old + new for old, new in zip(self._usage, more, strict=True)))

    def _tell(self, failures: list[Failed], total: int, server: Connection) -> None:
        """Log each kind of failure the first time it is met."""
        for kind, number in Counter(failed.kind for failed in failures).items():
            if kind not in self._told:
                self._told.add(kind)
                reason = server.redact(next(failed.reason for failed in failures if failed.kind == kind))
                _log.warning(Warnings.LLM_FAILED.format(
                    llm=self.id, failed=number, total=total, kind=kind, reason=reason))  # fmt: skip


def _secrets(value: object) -> Iterator[str]:
    """Yield, at any depth, keys that look as if a secret stood behind them, and "…" for texts that look like one."""
    if isinstance(value, str) and _SECRET_TEXT.search(value):
        yield "…"
    if isinstance(value, Mapping):
        yield from (key for key in value if isinstance(key, str) and _SECRET.search(key))
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    for one in inner:
        yield from _secrets(one)


@saves(as_given=("model",))
def make_openai_llm(
    model: str,
    endpoint: str = "http://127.0.0.1:8000/v1",
    api_key_env: str = "OPENAI_API_KEY",
    timeout: float = 60,
    max_tries: int = 4,
    concurrency: int = 8,
    max_new_tokens: int = 64,
    seed: int = 0,
    top_logprobs: int = 20,
    extra_body: dict[str, Any] | None = None,
) -> OpenAILLM:
    """Make an ``OpenAILLM``; connects to nothing yet.

    Args:
        model: The name that the server knows the model by.
        endpoint: Where the server listens, mostly with ``/v1`` at the end.
        api_key_env: The environment variable that holds the key; a server on this machine needs none.
        timeout: Seconds for one try; an item takes at most ``timeout * max_tries`` with all tries and waits.
        max_tries: How often an item is asked when the server is busy, broken or out of reach.
        concurrency: How many prompts are asked side by side.
        max_new_tokens: Tokens of an answer.
        seed: Sent to the server.
        top_logprobs: Tokens whose probability the server is asked for; OpenAI and vLLM give up to 20.
        extra_body: More settings of the request, as ``{"chat_template_kwargs": {"enable_thinking": false}}``; null
            takes a setting away that the server does not know.
    """
    return OpenAILLM(
        model, endpoint=endpoint, api_key_env=api_key_env, timeout=timeout, max_tries=max_tries,
        concurrency=concurrency, max_new_tokens=max_new_tokens, seed=seed, top_logprobs=top_logprobs,
        extra_body=extra_body,
    )  # fmt: skip
