"""What every request passes on its way in: limits of size, time and queue; on its way out: problems and figures."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..errors import Errors, Warnings
from .metrics import Metrics
from .names import is_known
from .problems import Problem, where
from .settings import Limits

logger = logging.getLogger(__name__)

GONE = 499
"""Status, in the figures alone, of a request whose sender did not wait for the answer."""


class ClientGone(Exception):
    """The client went away."""


class Gate:
    """Wraps the application.

    The body is read here, before anything looks at it, so that one that is too large, too slow or comes too soon costs
    next to nothing.

    Args:
        app: The application.
        limits: Sizes and times.
        metrics: Counts requests.
        busy: Gives the seconds after which to ask again, None if there is room.
        paths: What is counted by name; any other path is "other", so that nobody can make the figures grow.
    """

    def __init__(
        self, app: ASGIApp, *, limits: Limits, metrics: Metrics, busy: Callable[[], int | None], paths: frozenset[str]
    ) -> None:
        self._app, self._limits, self._metrics, self._busy, self._paths = app, limits, metrics, busy, paths
        self._reading = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, status = time.perf_counter(), 0

        async def sending(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            request = Request(scope, receive)
            if not is_known(host := request.headers.get("host"), self._limits.names):
                raise Problem(421, Errors.NOT_OUR_NAME.format(host=host))
            if scope["method"] == "POST":
                receive = await self._admit(request)
            await self._app(scope, receive, sending)
        except ClientGone:
            status = GONE
        except Problem as problem:
            await problem.response()(scope, receive, sending)
        except Exception as error:
            logger.error(Warnings.REQUEST_FAILED.format(where=where(error)))
            if not status:
                failed = Problem(500, Errors.SERVER_FAILED.format(kind=type(error).__name__))
                await failed.response()(scope, receive, sending)
        finally:
            path = scope["path"] if scope["path"] in self._paths else "other"
            self._metrics.request(path, status or GONE, time.perf_counter() - start)

    async def _admit(self, request: Request) -> Receive:
        """Read the body; return what gives it to the application.

        Raises:
            Problem: It is too large, too slow, or there is no room for it.
        """
        too_large = Problem(413, Errors.BODY_TOO_LARGE.format(most=self._limits.body))
        length = request.headers.get("content-length", "0")
        if length.isdigit() and int(length) > self._limits.body:
            raise too_large
        # As many bodies as documents may wait are held at a time: the queue bounds what was read, this what is read.
        if self._reading >= self._limits.queue:
            raise busy(1)
        self._reading += 1
        try:
            body = await asyncio.wait_for(_read(request, self._limits.body), self._limits.timeout)
        except asyncio.TimeoutError:
            raise Problem(408, Errors.BODY_TOO_SLOW.format(seconds=self._limits.timeout)) from None
        finally:
            self._reading -= 1
        if body is None:
            raise too_large
        if seconds := self._busy():
            raise busy(seconds)
        messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> Message:
            return messages.pop() if messages else await request.receive()

        return receive


def busy(seconds: int) -> Problem:
    """Return the problem of a full queue."""
    return Problem(429, Errors.BUSY.format(seconds=seconds), retry_after=seconds)


async def _read(request: Request, most: int) -> bytes | None:
    """Return the body, None if it is too large."""
    parts: list[bytes] = []
    total = 0
    while True:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        parts.append(message.get("body", b""))
        total += len(parts[-1])
        if total > most:
            return None
        if not message.get("more_body"):
            return b"".join(parts)
