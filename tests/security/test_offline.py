"""Nothing asks the network unless a config names a hub or an endpoint."""

import subprocess
import sys
import textwrap

import pytest

GUARD = """
import sys
asked = []
def guard(event, arguments):
    reaches = event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto")
    # Pairs of sockets inside this process, such as an event loop has, have names of files or none.
    if reaches and not (event == "socket.connect" and not isinstance(arguments[1], tuple)):
        asked.append((event, arguments[1:]))
        raise ConnectionRefusedError(f"{event} is not allowed here")
sys.addaudithook(guard)
"""
PROOF = """
import socket
assert not asked, asked
for attempt in (lambda: socket.create_connection(("127.0.0.1", 9)), lambda: socket.getaddrinfo("example.org", 80)):
    try:
        attempt()
    except ConnectionRefusedError:
        pass
assert len(asked) == 2, asked  # the guard works
print("offline")
"""
IMPORTS = """
import importlib, pkgutil, spacy_ontolink
for module in pkgutil.walk_packages(spacy_ontolink.__path__, "spacy_ontolink."):
    if not module.name.endswith("__main__"):
        try:
            importlib.import_module(module.name)
        except ImportError as error:  # an extra that is not installed
            assert "spacy_ontolink" not in str(error), error
"""
BUILD = """
from spacy_ontolink.cli import main
def run(*arguments):
    try:
        main(arguments)
    except SystemExit as exit:
        assert exit.code == 0, arguments
run("build", "terms.jsonl", "built", {options})
"""
RENAME = """
from pathlib import Path
config = Path("built/config.cfg")
text = config.read_text("utf-8")
assert 'model = "./bert"' in text
config.write_text(text.replace('model = "./bert"', 'model = "someone/bert"'), "utf-8")
"""
COMMANDS = """
run("search", "built", "milk yields")
run("link", "built", "notes.jsonl", "-o", "links.html")
run("evaluate", "built", "notes.jsonl", "--report", "report.html")
run("explain", "built", "A [[milk yields]].", "-o", "why.html")
run("update", "built", "terms.jsonl", "updated", "--force")
run("info", "built")
import spacy
nlp = spacy.load("built")
nlp.to_disk("copy")
doc = spacy.load("copy")("A high milk yield.")
"""
SERVICE = """
import spacy
from spacy_ontolink.cli.serve import make_service
from spacy_ontolink.service.app import make_app
from spacy_ontolink.service.settings import Limits
service = make_service(spacy.load("built"), "built", None, Limits())
make_app(service, "toy").openapi()
service.batcher.close(1)
"""


def offline(code, folder):
    ended = subprocess.run(
        [sys.executable, "-c", GUARD + textwrap.dedent(code) + PROOF],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 0 and ended.stdout.endswith("offline\n"), ended.stderr


def test_importing_every_module(tmp_path):
    offline(IMPORTS, tmp_path)


def test_building_linking_and_loading(tmp_path, ontology, notes):
    offline(BUILD.format(options="") + COMMANDS, tmp_path)


def test_making_a_server(tmp_path, ontology):
    for package in ("fastapi", "uvicorn", "prometheus_client"):
        pytest.importorskip(package, reason="needs the extra 'serve'")
    offline(BUILD.format(options="") + SERVICE, tmp_path)


def test_a_saved_sentence_encoder_whose_config_has_a_hub_name(tmp_path, ontology, notes, bert):
    """The saved pipeline holds the model, so that the name in its config is not looked up again."""
    pytest.importorskip("sentence_transformers")
    offline(BUILD.format(options=f"'--encoder', {str(bert)!r}") + RENAME + COMMANDS, tmp_path)


def test_an_endpoint_is_asked_only_when_there_is_something_to_ask(tmp_path):
    pytest.importorskip("openai")
    code = """
    from spacy_ontolink.llms.openai import make_openai_llm
    from spacy_ontolink.llms.cached import make_cached_llm
    llm = make_cached_llm(make_openai_llm("tiny", "http://127.0.0.1:9/v1", max_tries=1), "answers.sqlite")
    llm.to_disk("llm"), llm.from_disk("llm"), repr(llm), llm.id, llm.generate([])
    """
    offline(code, tmp_path)
