import copy
import gzip
import json
import logging
import multiprocessing
import pickle
import socket
import time
import traceback
from email.utils import formatdate

import numpy as np
import pytest
from llm_server import FakeServer, Reply, says

from spacy_ontolink.errors import ConfigError, LLMError, StateError
from spacy_ontolink.llms import retrying
from spacy_ontolink.llms.cached import make_cached_llm
from spacy_ontolink.llms.openai import make_openai_llm
from spacy_ontolink.types import LLM, Prompt, Usage

pytest.importorskip("openai")
KEY = "sk-very/secret+0123456789"
ESCAPED = "".join(f"\\u{ord(letter):04X}" for letter in KEY[:5]) + KEY[5:].replace("/", "\\/")


@pytest.fixture(autouse=True)
def fast(monkeypatch):
    """No key, and short waits."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setattr(retrying, "FIRST_WAIT", 0.01)


@pytest.fixture
def server():
    with FakeServer() as server:
        yield server


def connect(server, **settings):
    return make_openai_llm("tiny", server.endpoint, **{"timeout": 5} | settings)


def prompts(*texts):
    return [Prompt(text) for text in texts]


def test_generate(server):
    llm = connect(server, max_new_tokens=9, seed=3)
    assert isinstance(llm, LLM)
    assert llm.generate([Prompt("one", "be brief"), Prompt("two"), Prompt("3", frame=("<", ">"))]) == [
        "one",
        "two",
        "<3>",
    ]
    assert llm.usage == Usage(calls=3, prompt_tokens=21, completion_tokens=6)
    one, _, raw = sorted(server.requests, key=lambda request: request.text != "one")
    assert one.path == "/v1/chat/completions"
    assert one.body["messages"] == [{"role": "system", "content": "be brief"}, {"role": "user", "content": "one"}]
    assert (one.body["model"], one.body["temperature"], one.body["seed"], one.body["max_tokens"]) == ("tiny", 0, 3, 9)
    raw = next(request for request in server.requests if not request.chat)
    assert raw.path == "/v1/completions" and raw.body["prompt"] == "<3>"
    assert llm.generate([]) == []


@pytest.mark.parametrize("frame", [None, ("<", ">")])
def test_choose(server, frame):
    server.answer = lambda request: says(
        request, "yes", {"yes": -0.5, " yes": -1.5, "Yes": -2.0, "no": -3.0, "\n": -9.0}
    )
    llm = connect(server, top_logprobs=7)
    row = llm.choose([Prompt("is it?", frame=frame)], ["yes", "no"])
    assert row.dtype == np.float32 and row.shape == (1, 2)
    assert row[0] == pytest.approx([np.logaddexp(-0.5, -1.5), -3.0])  # the case counts, white space does not
    body = server.requests[0].body
    assert body["max_tokens"] == 1 and (body["top_logprobs"] if frame is None else body["logprobs"]) == 7
    assert llm.choose([], ["yes"]).shape == (0, 1)


def test_choose_reads_completions_that_answer_in_the_form_of_chats(server):
    def answer(request):
        reply = says(request, "no")
        top = [{"token": "no", "logprob": -0.1}, {"token": "yes", "logprob": -2.5}]
        reply.body["choices"][0]["logprobs"] = {"content": [top[0] | {"top_logprobs": top}]}
        return reply

    server.answer = answer
    row = connect(server).choose([Prompt("?", frame=("", ""))], ["yes", "no"])[0]
    assert row == pytest.approx([-2.5, -0.1])


def test_a_missing_answer_is_no_improbable_one(server):
    server.answer = lambda request: says(request, "yes", {"yes": -0.1, "No": -3.0})
    with pytest.raises(
        LLMError, match=r"'no' is not among the 2 most probable .* 'yes', 'No'.*Raise top_logprobs \(= 20\)"
    ):
        connect(server).choose(prompts("?"), ["yes", "no"])
    server.answer = lambda request: says(request, "yes", {"yes": -0.1, "no": float("-inf")})
    with pytest.raises(LLMError, match="'no' is not among"):
        connect(server).choose(prompts("?"), ["yes", "no"])
    server.answer = lambda request: says(request, "yes")
    with pytest.raises(LLMError, match="reports no log-probabilities for 'tiny'"):
        connect(server).choose(prompts("?"), ["yes", "no"])


def test_a_missing_answer_does_not_cost_the_others_in_a_cache(server, tmp_path):
    def answer(request):
        return says(request, "yes", {"yes": -0.1} if request.text == "3" else {"yes": -0.1, "no": -3.0})

    server.answer = answer
    llm = make_cached_llm(connect(server, concurrency=1), str(tmp_path / "answers.sqlite"))
    with pytest.raises(LLMError, match=r"'no' is not among.*Answers to other prompts stay in the cache"):
        llm.choose(prompts(*"012345"), ["yes", "no"])
    assert np.isfinite(llm.choose(prompts(*"01245"), ["yes", "no"])).all()
    assert sorted(request.text for request in server.requests) == [*"012345"]  # none of them twice


def test_an_item_without_a_token_fails_alone(server):
    top = {"yes": -0.1, "no": -3.0}
    server.answer = lambda request: says(request, "", {} if request.text == "b" else top)
    scores = connect(server).choose(prompts("a", "b"), ["yes", "no"])
    assert np.isfinite(scores[0]).all() and np.isnan(scores[1]).all()


@pytest.mark.parametrize("logprob", ["1e308", "0.01", "-1" + "0" * 400, "1" + "0" * 400, "NaN", '"-1"', "null", "true"])
@pytest.mark.parametrize("frame", [None, ("<", ">")])
def test_what_is_no_log_probability_costs_its_item_only(server, logprob, frame, caplog):
    def answer(request):
        reply = says(request, "yes", {"yes": -0.5, "no": -7.25})
        reply.body = json.dumps(reply.body)
        if request.text.strip("<>") == "bad":
            reply.body = reply.body.replace("-7.25", logprob)
        return Reply(reply.body.encode())

    server.answer = answer
    llm = connect(server)
    rows = llm.choose([Prompt(text, frame=frame) for text in ("a", "bad", "b")], ["yes", "no"])
    assert np.isnan(rows[1]).all() and rows[[0, 2]].tolist() == [[-0.5, -7.25]] * 2
    assert llm.usage[:2] == (2, 1) and "malformed answer" in caplog.text


def test_a_probability_rounded_to_more_than_one_is_one(server):
    server.answer = lambda request: says(request, "yes", {"yes": 1e-6, "no": -20})
    assert connect(server).choose(prompts("?"), ["yes", "no"]).tolist() == [[0, -20]]


BAD = {
    "html": Reply(b"<html>busy</html>"),
    "html with its type": Reply(b"<html>busy</html>", headers={"Content-Type": "text/html"}),
    "nothing": Reply(b""),
    "cut": Reply(b'{"choices": [{"mess'),
    "a list": Reply([1]),
    "deep": Reply(b"[" * 100_000),
    "no choices": Reply({"choices": []}),
    "null choices": Reply({"choices": None}),
    "odd choices": Reply({"choices": [7]}),
    "null content": Reply({"choices": [{"message": {"content": None}, "finish_reason": "length"}]}),
    "odd content": Reply({"choices": [{"message": {"content": ["x"]}}]}),
    "too long a prompt": Reply({"error": {"message": "maximum context length is 512"}}, 400),
    "not to be processed": Reply({"error": "no"}, 422),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_reply_costs_its_item_only(server, kind, caplog):
    server.answer = lambda request: BAD[kind] if request.text == "bad" else says(request, request.text)
    llm = connect(server)
    assert llm.generate(prompts("a", "bad", "b", "bad")) == ["a", None, "b", None]
    assert llm.usage[:2] == (2, 2)
    assert len(server.requests) == 4
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "2 of 4 prompts have no answer" in caplog.text
    caplog.clear()
    assert llm.generate(prompts("bad")) == [None]
    assert not caplog.records


@pytest.mark.parametrize("usage", [{"prompt_tokens": "7"}, {"prompt_tokens": -3, "completion_tokens": True}, [1]])
def test_odd_counts_and_text_are_taken(server, usage):
    def answer(request):
        reply = says(request, "half \ud83d, whole \ud83d\ude00")
        reply.body["usage"] = usage
        return reply

    server.answer = answer
    llm = connect(server)
    assert llm.generate(prompts("x")) == ["half \ufffd, whole \U0001f600"]
    assert llm.usage == Usage(calls=1)


def test_lone_surrogates_are_sent_as_replacement_characters(server):
    server.answer = lambda request: says(request, request.text)
    assert connect(server).generate([Prompt("a\ud83db", "\udc00"), Prompt("\ud83d", frame=("x", "y"))]) == [
        "a\ufffdb", "x\ufffdy"
    ]  # fmt: skip


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503])
def test_passing_trouble_is_waited_out(server, status):
    server.answer = lambda request: Reply({}, status) if len(server.requests) < 3 else says(request, "ok")
    llm = connect(server)
    assert llm.generate(prompts("x")) == ["ok"]
    assert llm.usage[:2] == (1, 0) and len(server.requests) == 3


@pytest.mark.parametrize("in_seconds", [lambda: "1", lambda: formatdate(time.time() + 2)])
def test_a_busy_server_says_how_long_to_wait(server, in_seconds):
    def answer(request):
        busy = len(server.requests) == 1
        return Reply({}, 429, {"Retry-After": in_seconds()}) if busy else says(request, "ok")

    server.answer = answer
    start = time.monotonic()
    assert connect(server).generate(prompts("x")) == ["ok"]
    assert time.monotonic() - start > 0.9


def test_a_wait_beyond_the_items_time_is_not_begun(server, caplog):
    server.answer = lambda request: Reply({"error": {"message": "come back tomorrow"}}, 429, {"Retry-After": "86400"})
    start = time.monotonic()
    assert connect(server).generate(prompts("x")) == [None]
    assert time.monotonic() - start < 60 and len(server.requests) == 1
    assert "status 429" in caplog.text and "come back tomorrow" in caplog.text


def test_a_server_that_always_fails_is_not_asked_for_ever(server, caplog):
    server.answer = lambda request: Reply({"error": {"message": "out of memory"}}, 500)
    llm = connect(server, max_tries=2, concurrency=4)
    assert llm.generate(prompts(*map(str, range(200)))) == [None] * 200
    assert len(server.requests) <= 2 * (retrying.PATIENCE_OTHERWISE + 4)
    assert "200 of 200 prompts have no answer (status 500); the first: 500: out of memory" in caplog.text


@pytest.fixture
def closed_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        yield probe.getsockname()[1]  # bound, but nobody listens


def test_a_dead_endpoint_stops_the_batch_soon(closed_port, caplog, monkeypatch):
    monkeypatch.setattr(retrying, "FIRST_WAIT", 0.1)
    llm = make_openai_llm("tiny", f"http://127.0.0.1:{closed_port}/v1", concurrency=2)
    start = time.monotonic()
    assert llm.generate(prompts(*map(str, range(500)))) == [None] * 500
    first = time.monotonic() - start
    assert first < 60
    assert llm.usage == Usage(failed=500)
    assert "500 of 500 prompts have no answer (no connection)" in caplog.text and "refused" in caplog.text
    start = time.monotonic()  # the next batch does not hope for long
    assert np.isnan(llm.choose(prompts(*"abc"), ["yes"])).all()
    assert time.monotonic() - start < 5


def test_a_server_that_comes_back_is_used_again(server):
    llm = connect(server, max_tries=1)
    server.answer = lambda request: Reply(hang_up=True)
    assert llm.generate(prompts(*"abcdef")) == [None] * 6
    server.answer = lambda request: says(request, request.text)
    assert llm.generate(prompts(*"abcdef")) == list("abcdef")


@pytest.mark.parametrize(
    "reply",
    [Reply({}, delay=30), Reply({"a": "x" * 1000}, slowly=0.05), Reply({"a": "x" * 1000}, 500, slowly=0.05)],
    ids=["hangs", "trickles", "trickles an error"],
)
def test_a_hanging_server_costs_bounded_time(server, reply, caplog):
    server.answer = lambda request: reply
    start = time.monotonic()
    assert connect(server, timeout=0.3, max_tries=2, concurrency=2).generate(prompts(*"abcdefgh")) == [None] * 8
    assert time.monotonic() - start < 60
    assert "no answer in time" in caplog.text


LARGE = b'{"choices": [{"message": {"content": "%s"}}]}' % (b"a" * (1 << 25))


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(LARGE), "an answer of more than 16777216 bytes"),
        (Reply(LARGE, 500), "an answer of more than 16777216 bytes"),
        (Reply(gzip.compress(LARGE), headers={"Content-Encoding": "gzip"}), r"a compressed answer (gzip)"),
    ],
    ids=["large", "large error", "compressed"],
)
def test_an_answer_of_any_size_costs_bounded_memory(server, reply, reason, caplog):
    server.answer = lambda request: reply if request.text == "bad" else says(request, request.text)
    assert connect(server, concurrency=1).generate(prompts("a", "bad", "b")) == ["a", None, "b"]
    assert server.requests[0].headers["accept-encoding"] == "identity"
    assert reason in caplog.text and len(caplog.text) < 1000


def test_a_process_that_was_suspended_gives_an_item_up(monkeypatch):
    tries = retrying.Retrying(max_tries=9, seconds=0.1)
    monkeypatch.setattr(tries._stop, "wait", lambda seconds: time.sleep(0.2))
    left = []

    def attempt(seconds):
        left.append(seconds)
        raise retrying.GaveUpError("status 503", "busy", again=True)

    assert tries.run(attempt) == retrying.Failed("status 503", "busy")
    assert len(left) == 1 and left[0] > 0 and not tries.broken


def test_concurrency_is_bounded_and_used(server):
    def answer(request):
        time.sleep(0.05)
        return says(request, request.text)

    server.answer = answer
    texts = [str(number) for number in range(20)]
    assert connect(server, concurrency=3).generate(prompts(*texts)) == texts
    assert 1 < server.most_at_once <= 3


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (
            Reply({"error": {"message": f"Incorrect key: {KEY}"}}, 401),
            r"401: Incorrect key: \*\*\*\. Set .* OPENAI_API_KEY",
        ),
        (Reply(f"who is {KEY}?".encode(), 403), r"who is \*\*\*\?"),
        (
            Reply({"error": {"message": f"Incorrect key: {KEY[:9]}****6789 ({KEY[:7]})"}}, 401),
            r": \*{7}6789 \(sk-very\)",
        ),
        (Reply(b'{"key": "%s"' % ESCAPED.encode(), 403), r"key\": \"\*\*\*\""),
        (
            Reply({"error": {"message": "no model 'tiny'", "code": "model_not_found"}}, 404),
            "no model 'tiny'.*end in /v1",
        ),
        (Reply({"error": {"message": "no such model", "code": "model_not_found"}}, 400), "no such model"),
        (Reply({"error": {"message": "you are broke", "code": "insufficient_quota"}}, 429), "you are broke"),
        (Reply({"error": {"message": "no max_tokens", "code": "unsupported_parameter"}}, 400), "null in extra_body"),
    ],
)
def test_what_holds_for_all_prompts_raises_at_once(server, reply, message, monkeypatch, caplog):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server.answer = lambda request: reply
    with pytest.raises(LLMError, match=message) as raised:
        connect(server, concurrency=2).generate(prompts(*map(str, range(100))))
    assert len(server.requests) <= 6
    error = raised.value
    assert KEY not in "".join(traceback.format_exception(error)) + caplog.text
    assert error.__cause__ is None and error.__context__ is None


def test_the_key_is_sent_and_nowhere_else(server, monkeypatch, caplog, tmp_path):
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("MY_KEY", f" {KEY}\n")
    llm = connect(server, api_key_env="MY_KEY")
    server.answer = lambda request: Reply(json.dumps({"oops": request.headers["authorization"]})[:-1].encode())
    assert llm.generate(prompts("x")) == [None]
    server.answer = lambda request: says(request, f"you are {request.headers['authorization']}")
    assert llm.generate(prompts("x")) == ["you are Bearer ***"]
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    echo = b'{"choices": [{"message": {"content": "you are %s"}}]%s' % (ESCAPED.encode(), b"}")
    for body, answer in [(echo, "you are ***"), (echo[:-1], None), (b'{"%s": 1' % ESCAPED.encode(), None)]:
        server.answer = lambda request, body=body: Reply(body)
        assert connect(server, api_key_env="MY_KEY").generate(prompts("x")) == [answer]
    llm.to_disk(tmp_path / "llm")
    written = "".join(path.read_text() for path in (tmp_path / "llm").iterdir())
    assert "***" in caplog.text and ESCAPED not in caplog.text
    assert KEY not in caplog.text + repr(llm) + repr(vars(llm)) + llm.id + written + repr(pickle.dumps(llm))


def test_only_a_server_elsewhere_needs_a_key(monkeypatch):
    llm = make_openai_llm("gpt", "https://api.example.org/v1", api_key_env="VENDOR_KEY")
    with pytest.raises(
        ConfigError, match=r"No key for https://api\.example\.org/v1: set the environment variable VENDOR_KEY"
    ):
        llm.generate(prompts("x"))
    monkeypatch.setenv("VENDOR_KEY", "secret-with-\u00e4")
    with pytest.raises(ConfigError, match="VENDOR_KEY has characters") as raised:
        llm.generate(prompts("x"))
    assert "secret-with" not in str(raised.value)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("model", " "), ("timeout", 0), ("max_tries", 0), ("concurrency", 0), ("max_new_tokens", 0),
        ("top_logprobs", 0), ("api_key_env", "sk-s3cret"), ("extra_body", {"api_key": "s3cret"}),
        ("endpoint", "127.0.0.1:8000"), ("endpoint", "ftp://x/v1"), ("endpoint", "http:///v1"),
        ("endpoint", "http://a b/v1"), ("endpoint", "http://h:99999/v1"), ("endpoint", "http://me:s3cret@h/v1"),
        ("endpoint", "http://h/v1/chat/completions"), ("endpoint", "http://h/v1?key=s3cret"),
        ("extra_body", {"messages": []}),
    ],
)  # fmt: skip
def test_bad_settings_are_named_without_secrets(setting, value):
    with pytest.raises(ConfigError, match=f"{setting} = ") as raised:
        make_openai_llm(**{"model": "tiny", setting: value})
    assert "s3cret" not in str(raised.value)


def test_extra_settings_are_sent_and_null_takes_one_away(server):
    server.answer = lambda request: says(request, "yes", {"yes": -0.1})
    llm = connect(
        server, extra_body={"max_tokens": None, "max_completion_tokens": 50, "chat_template_kwargs": {"a": 1}}
    )
    llm.generate(prompts("x"))
    llm.choose(prompts("x"), ["yes"])
    generated, chosen = (request.body for request in server.requests)
    assert generated["max_completion_tokens"] == 50 and chosen["max_completion_tokens"] == 1
    assert "max_tokens" not in generated and "max_tokens" not in chosen
    assert generated["chat_template_kwargs"] == {"a": 1}


def test_the_id_names_what_changes_answers():
    def id_of(**settings):
        return make_openai_llm(**{"model": "tiny", "endpoint": "http://localhost:1/v1"} | settings).id

    assert id_of() == id_of(timeout=3, concurrency=1, max_tries=1, api_key_env="OTHER") == id_of()
    others = [
        {"model": "big"},
        {"max_new_tokens": 1},
        {"seed": 1},
        {"extra_body": {"top_k": 1}},
        {"endpoint": "http://h/v1"},
    ]
    assert len({id_of(), *(id_of(**other) for other in others)}) == 6
    assert id_of().startswith("openai:tiny@localhost:1/v1:")
    assert "/home" not in id_of(model="/home/me/models/tiny")


def test_saving(tmp_path):
    llm = make_openai_llm("tiny")
    llm.to_disk(tmp_path / "llm")
    moved = make_openai_llm("tiny", "https://elsewhere.example/v1")
    assert moved.from_disk(tmp_path / "llm") is moved
    with pytest.raises(StateError, match="the language model tiny, but is opened with big"):
        make_openai_llm("big").from_disk(tmp_path / "llm")
    file = tmp_path / "llm" / "openai.json"
    file.write_text(file.read_text().replace("tiny", "big"))
    with pytest.raises(StateError, match=r"openai\.json is damaged"):
        make_openai_llm("big").from_disk(tmp_path / "llm")


def _answer(llm, queue):
    queue.put(llm.generate([Prompt("child")]))


def test_copies_and_forked_children_connect_anew(server):
    llm = connect(server)
    assert llm.generate(prompts("parent")) == ["parent"]
    assert copy.deepcopy(llm).generate(prompts("copy")) == ["copy"]
    assert pickle.loads(pickle.dumps(llm)).generate(prompts("pickle")) == ["pickle"]
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_answer, args=(llm, queue))
    child.start()
    assert queue.get(timeout=30) == ["child"]
    child.join(30)
    queue.close()
    queue.join_thread()
    assert llm.generate(prompts("parent")) == ["parent"]
