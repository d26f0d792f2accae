"""A real llama.cpp server on loopback, for tests that ask for it; docs/development.md has the commands."""

import contextlib
import os
import socket
import subprocess
import time

import pytest

PYTHON, MODEL = os.environ.get("ONTOLINK_LLAMA_SERVER_PYTHON"), os.environ.get("ONTOLINK_GGUF")
marks = [
    pytest.mark.weights,
    pytest.mark.skipif(not (PYTHON and MODEL), reason="set ONTOLINK_LLAMA_SERVER_PYTHON and ONTOLINK_GGUF"),
]


@contextlib.contextmanager
def llama_server(folder, n_ctx=512):
    """Run the server while the block runs; yield its endpoint. The model is known as "gemma"."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = {"model": MODEL, "model_alias": "gemma", "host": "127.0.0.1", "port": port, "n_ctx": n_ctx,
                "n_threads": 1, "logits_all": "true", "verbose": "false"}  # fmt: skip
    command = [PYTHON, "-m", "llama_cpp.server", *(f"--{name}={value}" for name, value in settings.items())]
    log = folder / "log"
    with log.open("wb") as file, subprocess.Popen(command, stdout=file, stderr=file) as server:
        try:
            _wait(server, port, log)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            server.terminate()


def _wait(server, port, log):
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and server.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.2)
    pytest.fail(f"the server did not start:\n{log.read_text()[-2000:]}")
