"""Listening, serving, and stopping when asked to."""

from __future__ import annotations

import ipaddress
import signal
import socket
import sys
from collections.abc import Callable

import uvicorn
from starlette.types import ASGIApp

from ..errors import ConfigError, Errors

_SWITCH = 0.0005
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def bind(host: str, port: int) -> socket.socket:
    """Take an address, 0 any free port, without listening yet.

    Raises:
        ConfigError: It cannot be had.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, kind, protocol)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(address)
        except OSError:
            bound.close()
            raise
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(Errors.CANNOT_LISTEN.format(host=host, port=port, reason=reason)) from error
    return bound


def address_of(bound: socket.socket) -> tuple[str, bool]:
    """Return the address to ask at, and whether only this machine can reach it."""
    host, port = bound.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}", ipaddress.ip_address(host).is_loopback


def make_server(app: ASGIApp, grace: float) -> uvicorn.Server:
    """Make a server that writes no log of requests, and gives those that run ``grace`` seconds when it stops."""
    config = uvicorn.Config(
        app,
        http="h11",
        ws="none",
        lifespan="on",
        loop="asyncio",
        log_config=None,
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=max(1, round(grace)),
    )
    return uvicorn.Server(config)


def serve(app: ASGIApp, bound: socket.socket, grace: float, ready: Callable[[], None]) -> None:
    """Serve until SIGTERM or SIGINT: then take no more requests, answer those that run, and return.

    Args:
        app: The application.
        bound: Where to listen.
        grace: Seconds for what runs.
        ready: Is called when requests can come.
    """
    # While the worker computes, the loop waits for the interpreter after every read and write, by default up to 5 ms.
    sys.setswitchinterval(_SWITCH)
    server = make_server(app, grace)
    bound.listen(server.config.backlog)
    # uvicorn raises the signal again when it is done, for whoever had a handler before it: here that is nobody.
    before = {number: signal.signal(number, lambda *_: None) for number in _SIGNALS}
    try:
        ready()
        server.run(sockets=[bound])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
