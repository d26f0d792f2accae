"""One process's way to an OpenAI-compatible server: its address, its key, and single requests in bounded time."""

from __future__ import annotations

import ipaddress
import os
import re
import threading
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from ..errors import ConfigError, Errors
from ..types import Prompt
from .refusals import NO_TIME, explain, redact
from .replies import MALFORMED, joined
from .retrying import GaveUpError

CONNECT = 10.0  # seconds to wait for a connection, at most
_LONG_KEY = 12
_MOST_BYTES = 1 << 24  # of one reply


class Connection:
    """A pool of connections; belongs to the process that made it, as it does not survive a fork.

    Raises:
        ConfigError: The server is not on this machine and there is no key in the environment.
    """

    def __init__(self, model: str, endpoint: str, api_key_env: str) -> None:
        import openai

        key = os.environ.get(api_key_env, "").strip()
        if not key and not is_loopback(endpoint):
            raise ConfigError(Errors.NO_KEY.format(endpoint=endpoint, variable=api_key_env))
        if not (key.isascii() and key.isprintable()):
            raise ConfigError(Errors.BAD_KEY.format(variable=api_key_env))
        self.model, self.endpoint, self.api_key_env = model, endpoint, api_key_env
        self.pid = os.getpid()
        self.lock = threading.Lock()
        self.broken = False
        self._key = key
        self._client = openai.OpenAI(api_key=key or "none", base_url=endpoint, max_retries=0)

    def redact(self, text: str) -> str:
        """Put what a server said on one line, without the key."""
        return redact(text, self._key)

    def send(self, prompt: Prompt, settings: dict[str, Any], seconds: float) -> bytes:
        """Ask once, for at most these seconds; return the body.

        Raises:
            GaveUpError: There is no answer to this prompt, or none yet.
            LLMError: There can be none to any prompt.
        """
        import openai

        deadline = time.monotonic() + seconds
        timeout = openai.Timeout(seconds, connect=min(CONNECT, seconds))
        if prompt.frame is None:
            roles = [("system", prompt.system)] if prompt.system else []
            roles.append(("user", prompt.text))
            messages = [{"role": role, "content": joined(text)} for role, text in roles]
            question: dict[str, Any] = {"messages": messages}
            create = self._client.chat.completions.with_streaming_response.create
        else:
            question = {"prompt": joined(prompt.frame[0] + prompt.text + prompt.frame[1])}
            create = self._client.completions.with_streaming_response.create
        problem: Exception
        try:
            with create(model=self.model, **question, extra_body=settings, timeout=timeout) as response:
                return self._without_key(_read(response.iter_bytes(), deadline))
        except GaveUpError:
            raise
        except Exception as error:  # the client and the transport below it raise many types
            problem = error
        # Outside of the handler, so that no traceback shows what a server may have said of the key.
        raise explain(problem, self.endpoint, self.model, self.api_key_env, self._key)

    def _without_key(self, body: bytes) -> bytes:
        """Take out a key that a server echoes: answers are kept on disk. A short one may be a word of the answer."""
        return body.replace(self._key.encode(), b"***") if len(self._key) >= _LONG_KEY else body


def _read(chunks: Iterator[bytes], deadline: float) -> bytes:
    """Read a reply that must not trickle for ever: the client's own timeout begins anew with every byte."""
    body = bytearray()
    for chunk in chunks:
        body += chunk
        if time.monotonic() > deadline:
            raise GaveUpError(NO_TIME, f"an answer that had not ended after {len(body)} bytes", again=True)
        if len(body) > _MOST_BYTES:
            raise GaveUpError(MALFORMED, f"an answer of more than {_MOST_BYTES} bytes")
    return bytes(body)


def is_loopback(endpoint: str) -> bool:
    """Check an endpoint, and tell whether it is on this machine.

    Raises:
        ConfigError: It is no address of a server, or has a password in it.
    """
    try:
        parts = urlsplit(endpoint)
        host = parts.hostname or ""
        port_is_fine = parts.port != 0
    except ValueError:
        host, port_is_fine = "", False
    fine = port_is_fine and host and parts.scheme in ("http", "https") and not re.search(r"[\s@?#]", endpoint)
    fine = fine and not parts.path.rstrip("/").endswith("/completions")
    shown = re.sub(r"//.*@", "//***@", endpoint.partition("?")[0])  # a password is no use in an error
    if not fine:
        wanted = "http(s)://HOST[:PORT]/v1, without user, password, query or method"
        raise ConfigError(Errors.SETTING_VALUE.format(setting="endpoint", given=shown, wanted=wanted))
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
