"""The command, in a process of its own where it has to end."""

import importlib.util
import json
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.request

import pytest

SECONDS = 60
INSTALLED = all(importlib.util.find_spec(package) for package in ("fastapi", "uvicorn", "prometheus_client"))
needs_serve = pytest.mark.skipif(not INSTALLED, reason="needs the extra 'serve'")


@pytest.fixture
def start(pipeline):
    """Start the command on a free port; yields the process and its address."""
    processes = []

    def start(*options):
        command = [sys.executable, "-m", "spacy_ontolink", "serve", str(pipeline), "--port", "0", *options]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        processes.append(process)
        lines = []
        for line in process.stderr:
            lines.append(line)
            if address := re.search(r"http://\S+(?=/docs \(Ctrl-C)", line):
                return process, address[0], "".join(lines)
        raise AssertionError("".join(lines))

    yield start
    for process in processes:
        process.kill()
        process.wait()
        process.stderr.close()


def post(address, path, body):
    request = urllib.request.Request(address + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=SECONDS) as response:
        return json.load(response)


@needs_serve
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_requests_end(start, number):
    # The first document of a batch waits for others, so the request still runs when the signal comes.
    process, address, _ = start("--batch-wait", "2000")
    answers = []
    asking = threading.Thread(target=lambda: answers.append(post(address, "/search", {"mentions": ["fat percentage"]})))
    asking.start()
    while not json.load(urllib.request.urlopen(f"{address}/health", timeout=SECONDS))["waiting"]:
        pass
    process.send_signal(number)
    asking.join(SECONDS)
    assert answers[0]["mentions"][0]["kb_id"] == "T:1"
    assert process.wait(SECONDS) == 0
    assert process.stderr.read() == "Stopped.\n"


@needs_serve
def test_a_warning_where_other_machines_can_ask(start):
    _, address, said = start("--host", "0.0.0.0")
    assert "can be reached from other machines" in said
    assert "http://0.0.0.0:" in address


@needs_serve
def test_a_port_that_is_taken(refused, pipeline):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert f"Cannot listen on 127.0.0.1, port {port}" in refused("serve", pipeline, "--port", port)


@needs_serve
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--queue", "10"], "queue = 10"),
        (["--host", "no.such.host.invalid"], "Cannot listen"),
        (["--mentions", "ner"], "no component that finds entities"),
    ],
)
def test_what_cannot_be_served(refused, pipeline, options, words):
    assert words in refused("serve", pipeline, "--port", "0", *options)


def test_without_the_extra(refused, pipeline, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert 'install it with: pip install "spacy-ontolink[serve]"' in refused("serve", pipeline)


def test_nobody_else_loads_the_server():
    code = (
        "import sys\n"
        "sys.modules.update(dict.fromkeys(('fastapi', 'starlette', 'uvicorn', 'prometheus_client')))\n"
        "import spacy, spacy_ontolink.cli\n"
        "spacy.blank('en').add_pipe('ontolink_retriever')\n"
        "try: spacy_ontolink.cli.main(['serve', '--help'])\n"
        "except SystemExit as exit: assert not exit.code\n"
        "assert not [name for name in sys.modules if name.startswith('spacy_ontolink.service')]"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
