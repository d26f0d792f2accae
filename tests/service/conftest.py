"""A pipeline that can be told to wait or to fail, served on loopback."""

import http.client
import json
import threading
from contextlib import contextmanager
from typing import NamedTuple

import pytest
import spacy
from spacy.language import Language

from spacy_ontolink.errors import LLMError

ROWS = [
    {"id": "T:1", "name": "body fat percentage", "synonyms": ["fat percentage", "BF"]},
    {"id": "T:2", "name": "milk yield"},
    {"id": "T:3", "name": "yield trait"},
]
PATIENCE = 30


class Answer(NamedTuple):
    status: int
    body: object
    headers: dict


class Latch:
    """Holds the pipeline at every document with the word "slow", until it is opened."""

    def __init__(self):
        self.reached, self.opened = threading.Event(), threading.Event()

    def __call__(self):
        self.reached.set()
        assert self.opened.wait(PATIENCE)


class Mood:
    """Waits and fails as documents tell it to."""

    def __call__(self, doc):
        if "slow" in doc.text:
            self.latch()
        if "poison" in doc.text:
            raise ValueError(f"cannot take {doc.text}")
        if "unanswered" in doc.text:
            raise LLMError("The model does not answer.")
        return doc


@Language.factory("service_mood")
def make_mood(nlp, name):
    return Mood()


class Client:
    def __init__(self, port):
        self.port = port

    def ask(self, path, body=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            if body is None:
                connection.request("GET", path)
            else:
                data = body if isinstance(body, bytes) else json.dumps(body).encode()
                connection.request("POST", path, data, {"Content-Type": "application/json"} | headers)
            response = connection.getresponse()
            content = response.read()
        finally:
            connection.close()
        plain = "json" not in response.headers.get("Content-Type", "")
        headers = {name.lower(): value for name, value in response.headers.items()}
        return Answer(response.status, content.decode() if plain else json.loads(content), headers)

    def later(self, path, body):
        """Ask in a thread; the result is called for the answer."""
        answers = []
        thread = threading.Thread(target=lambda: answers.append(self.ask(path, body)))
        thread.start()

        def answer():
            thread.join(PATIENCE)
            return answers[0]

        return answer

    def link(self, *texts, **more):
        return self.ask("/link", {"texts": texts, **more})

    def count(self, metric):
        """Return a figure of /metrics."""
        for line in self.ask("/metrics").body.splitlines():
            if line.startswith(metric + " "):
                return float(line.split()[-1])
        return 0.0


@pytest.fixture
def latch():
    latch = Latch()
    yield latch
    latch.opened.set()


@pytest.fixture
def nlp(tmp_path, latch):
    """A pipeline that waits for "slow", and fails at "poison" and "unanswered"."""

    path = tmp_path / "toy.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), "utf-8")
    nlp = spacy.blank("en")
    nlp.add_pipe("ontolink_retriever", config={"ontology": str(path)})
    mood = nlp.add_pipe("service_mood", first=True)
    mood.latch = latch
    return nlp


@pytest.fixture
def serving(nlp, latch, monkeypatch, tmp_path):
    """Serve the pipeline with some limits; yields a client and the server."""
    for package in ("fastapi", "uvicorn", "prometheus_client"):
        pytest.importorskip(package, reason="needs the extra 'serve'")
    monkeypatch.setenv("ONTOLINK_CACHE", str(tmp_path / "cache"))

    from spacy_ontolink.cli.serve import make_service
    from spacy_ontolink.service.app import make_app
    from spacy_ontolink.service.server import bind, make_server
    from spacy_ontolink.service.settings import Limits

    @contextmanager
    def serve(mentions=None, **limits):
        limits = Limits(**limits)
        bound = bind("127.0.0.1", 0)
        bound.listen()
        server = make_server(make_app(make_service(nlp, "toy", mentions, limits), "toy"), limits.timeout)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
        thread.start()
        try:
            yield Client(bound.getsockname()[1]), server
        finally:
            latch.opened.set()
            server.should_exit = True
            thread.join(PATIENCE)
            bound.close()
        assert not thread.is_alive()

    return serve
