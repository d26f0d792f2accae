"""A key is sent to the server that it is for, and stands nowhere else: not in files, logs, messages, errors."""

import json
import logging
import pickle
import traceback

import pytest
import spacy
from llm_server import FakeServer, Reply, says

from spacy_ontolink.errors import ConfigError, LLMError
from spacy_ontolink.llms.openai import make_openai_llm
from spacy_ontolink.types import Prompt

pytest.importorskip("openai")
KEY = "sk-sentinel-5f2c9d1e7a"


@pytest.fixture
def server(monkeypatch):
    """A server that tells in every answer with which key it was asked."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with FakeServer(lambda request: says(request, f"milk yield {request.headers['authorization']}")) as server:
        yield server


def files_with(folder, key):
    """The files below a folder that hold the key, plain or packed."""
    return [path for path in folder.rglob("*") if path.is_file() and key.encode() in path.read_bytes()]


def test_a_pipeline_that_asks_a_server(tmp_path, ontology, server, caplog):
    caplog.set_level(logging.DEBUG)
    llm = {"@ontolink_llms": "spacy-ontolink.OpenAI.v1", "model": "tiny", "endpoint": server.endpoint}
    cached = {"@ontolink_llms": "spacy-ontolink.CachedLLM.v1", "llm": llm, "path": str(tmp_path / "answers.sqlite")}
    reformulator = {"@ontolink_reformulators": "spacy-ontolink.LLMReformulator.v1", "llm": cached}
    nlp = spacy.blank("en")
    nlp.add_pipe("entity_ruler").add_patterns([{"label": "X", "pattern": "milk yield"}])
    config = {"ontology": str(ontology), "weights": [0.6, 0.2, 0.2], "reformulator": reformulator}
    nlp.add_pipe("ontolink_retriever", config=config)
    doc = nlp("A high milk yield.")
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert doc.ents[0].kb_id_ == "T:2"
    nlp.to_disk(tmp_path / "saved")
    doc.to_disk(tmp_path / "doc")
    nlp.config.to_disk(tmp_path / "config.cfg")
    assert (tmp_path / "answers.sqlite").is_file() and files_with(tmp_path, "milk yield")
    assert files_with(tmp_path, KEY) == []
    told = caplog.text + repr(nlp.get_pipe("ontolink_retriever")) + repr(vars(nlp.get_pipe("ontolink_retriever")))
    assert KEY not in told + repr(nlp.to_bytes()) + repr(pickle.dumps(nlp.get_pipe("ontolink_retriever")))


def test_aliases_from_a_server(tmp_path, ontology, notes, server, run, caplog):
    caplog.set_level(logging.DEBUG)
    assert run("build", ontology, tmp_path / "built")[0] == 0
    llm = f"openai:tiny@{server.endpoint}"
    _, told = run("pairs", tmp_path / "built", notes, tmp_path / "pairs", "--setting", "gen", "--llm", llm)
    assert server.requests and KEY not in told + caplog.text
    assert (tmp_path / "pairs" / "answers.jsonl").is_file(), told
    assert "milk yield" in (tmp_path / "pairs" / "answers.jsonl").read_text("utf-8")
    assert files_with(tmp_path, KEY) == []


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500])
def test_a_server_that_quotes_the_key_when_it_refuses(tmp_path, ontology, notes, server, run, caplog, status):
    caplog.set_level(logging.DEBUG)
    server.answer = lambda request: Reply({"error": {"message": f"Who is {request.headers['authorization']}?"}}, status)
    llm = make_openai_llm("tiny", server.endpoint, max_tries=1)
    told = ""
    try:
        assert llm.generate([Prompt("x")]) == [None]
    except LLMError as error:
        told = "".join(traceback.format_exception(error)) + repr(error)
    assert "Who is" in told + caplog.text
    assert KEY not in told + caplog.text


def test_a_password_in_an_address_is_refused_and_not_repeated(tmp_path, ontology, run):
    address = f"http://me:{KEY}@127.0.0.1:9/v1"
    with pytest.raises(ConfigError) as raised:
        make_openai_llm("tiny", address)
    assert run("build", ontology, tmp_path / "built")[0] == 0
    arguments = ("pairs", tmp_path / "built", tmp_path / "terms.jsonl", tmp_path / "out", "--setting", "gen")
    code, told = run(*arguments, "--llm", f"openai:tiny@{address}")
    assert code == 2 and "without user, password" in told
    assert KEY not in told + str(raised.value)
    assert files_with(tmp_path, KEY) == []


@pytest.mark.parametrize(
    "body",
    [
        {"api_key": KEY},
        {"extra": {"apiKey": KEY}},
        {"tools": [{"headers": {"Authorization": KEY}}]},
        {"access_token": KEY},
        {"hf_token": KEY},
        {"token": KEY},
        {"passwd": KEY},
        {"credential": KEY},
        {"private_key": KEY},
        {"Cookie": KEY},
        {"headers": [f"Authorization: Bearer {KEY}"]},
    ],
)
def test_a_key_in_a_config_is_refused_since_configs_are_saved(body):
    with pytest.raises(ConfigError, match="no keys or passwords") as raised:
        make_openai_llm("tiny", extra_body=body)
    assert KEY not in str(raised.value)


@pytest.mark.parametrize("body", [{"max_tokens": 5}, {"stop_token_ids": [1]}, {"chat_template_kwargs": {"a": 1}}])
def test_settings_that_only_sound_like_keys_are_taken(body):
    assert json.loads(json.dumps(make_openai_llm("tiny", extra_body=body).extra_body)) == body
