"""One process's way to an OpenAI-compatible server: its address, its key, and single requests in bounded time."""

from __future__ import annotations

import importlib
import ipaddress
import os
import re
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import urlsplit

from ..errors import ConfigError, Errors
from ..types import Prompt
from .refusals import NO_TIME, explain, redact
from .replies import MALFORMED, joined, parse
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
        self._deadline = threading.local()  # of the request that a thread has sent
        http = openai.DefaultHttpxClient(event_hooks={"response": [self._limit]})
        uncompressed = {"Accept-Encoding": "identity"}  # a small reply could unfold to any size
        self._client = openai.OpenAI(
            api_key=key or "none", base_url=endpoint, max_retries=0, http_client=http, default_headers=uncompressed
        )

    def redact(self, text: str) -> str:
        """Put what a server said on one line, without the key."""
        return redact(text, self._key)

    def send(self, prompt: Prompt, settings: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Ask once, for about these seconds; return the reply, without the key, since answers are kept on disk.

        Raises:
            GaveUpError: There is no answer to this prompt, or none yet.
            LLMError: There can be none to any prompt.
        """
        import openai

        self._deadline.value = time.monotonic() + seconds
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
                return parse(b"".join(response.iter_bytes()), self._without_key)
        except GaveUpError:
            raise
        except Exception as error:  # the client and the transport below it raise many types
            problem = error
        # Outside of the handler, so that no traceback shows what a server may have said of the key.
        raise explain(problem, self.endpoint, self.model, self.api_key_env, self._key)

    def _without_key(self, text: str) -> str:
        """Take out a key that a server echoes. A short one, or a beginning, may be a word of the answer."""
        return text.replace(self._key, "***") if len(self._key) >= _LONG_KEY else text

    def _limit(self, response: Any) -> None:
        """Limit the size of a reply, be it an answer or an error, and the time until its end."""
        http = importlib.import_module(type(response).__module__.partition(".")[0])  # httpx, or its successor
        stream, deadline = response.stream, self._deadline.value
        coding = response.headers.get("content-encoding", "identity")

        class Limited(http.SyncByteStream):  # type: ignore[name-defined]
            def __iter__(self) -> Iterator[bytes]:
                if coding != "identity":
                    raise GaveUpError(MALFORMED, f"a compressed answer ({coding[:20]}), though none was asked for")
                return _limited(stream, deadline)

            def close(self) -> None:
                stream.close()

        response.stream = Limited()


def _limited(chunks: Iterable[bytes], deadline: float) -> Iterator[bytes]:
    """Read a reply that must not trickle for ever: the client's own timeout begins anew with every byte."""
    size = 0
    for chunk in chunks:
        size += len(chunk)
        if time.monotonic() > deadline:
            raise GaveUpError(NO_TIME, f"an answer that had not ended after {size} bytes", again=True)
        if size > _MOST_BYTES:
            raise GaveUpError(MALFORMED, f"an answer of more than {_MOST_BYTES} bytes")
        yield chunk


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
