"""The server on loopback, asked as its clients ask it."""

import json
import logging
import socket
import time

import pytest

TEXT = "The fat percentage and milk yield."
GIVEN = {"id": "a", "text": TEXT, "mentions": [{"start": 4, "end": 18, "label": "X", "raw_id": 3}]}


def ids(row):
    return [(mention["text"], mention["kb_id"]) for mention in row["mentions"]]


def test_texts_are_searched_for_mentions(serving):
    with serving() as (client, _):
        answer = client.link(TEXT, "Nothing.", k=1)
        assert answer.status == 200
        first, second = answer.body["documents"]
        assert (first["id"], second) == ("1", {"id": "2", "mentions": []})
        assert ids(first) == [("fat percentage", "T:1"), ("milk yield", "T:2")]
        mention = first["mentions"][0]
        assert (mention["name"], mention["matched"], mention["score"]) == ("body fat percentage", "fat percentage", 1.0)
        assert mention["probability"] is None  # the pipeline has no calibration
        assert [candidate["id"] for candidate in mention["candidates"]] == ["T:1"]


def test_given_mentions_are_linked_and_no_others(serving):
    bare = {"text": "BF, half a character: \ud800", "mentions": []}
    with serving() as (client, _):
        first, second = client.ask("/link", {"documents": [GIVEN, bare]}).body["documents"]
        assert ids(first) == [("fat percentage", "T:1")]
        assert (first["mentions"][0]["raw_id"], first["mentions"][0]["label"]) == (3, "X")
        assert second == {"id": "2", "mentions": []}


def test_mentions_of_the_pipeline(serving, nlp):
    ruler = nlp.add_pipe("entity_ruler", first=True)
    ruler.add_patterns([{"label": "TRAIT", "pattern": "milk yield"}])
    with serving() as (client, _):
        documents = client.ask("/link", {"documents": [{"text": TEXT}, GIVEN]}).body["documents"]
        assert [ids(row) for row in documents] == [[("milk yield", "T:2")], [("fat percentage", "T:1")]]
        assert client.ask("/health").body["mentions"] == "ner"


def test_search(serving):
    with serving() as (client, _):
        answer = client.ask("/search", {"mentions": ["yield of milk", "≈≈≈"], "k": 2})
        first, second = answer.body["mentions"]
        assert (first["text"], first["kb_id"]) == ("yield of milk", "T:2")
        assert [candidate["rank"] for candidate in first["candidates"]] == [1, 2]
        assert second == {"text": "≈≈≈", "kb_id": "NIL", "candidates": []}


def test_requests_of_a_batch_get_what_they_would_get_alone(serving, latch):
    texts = [TEXT, "BF and milk yields", "yield trait", TEXT.upper(), "milk yield " * 20]
    with serving(batch_wait=0.0) as (client, _):
        alone = [client.link(text).body for text in texts]
        slow = client.later("/link", {"texts": ["slow"]})
        assert latch.reached.wait(10)
        together = [client.later("/link", {"texts": [text]}) for text in texts]
        while client.count("ontolink_queue_documents") < len(texts):
            time.sleep(0.01)
        latch.opened.set()
        assert [answer().body for answer in together] == alone
        assert slow().status == 200
        assert client.count('ontolink_batch_documents_bucket{le="4.0"}') == len(texts) + 1
        assert client.count("ontolink_batch_documents_count") == len(texts) + 2  # the last batch had all of them


def test_a_poison_document_costs_itself(serving, caplog):
    texts = [TEXT, "poison secret", "fat percentage", "milk yield"]
    with serving() as (client, _):
        answer = client.link(*texts)
        assert answer.status == 200
        error = answer.body["documents"][1]
        assert error["id"] == "2"
        assert (error["error"]["status"], "mentions" in error) == (500, False)
        assert "ValueError" in error["error"]["detail"]
        assert [len(row["mentions"]) for row in answer.body["documents"] if "mentions" in row] == [2, 1, 1]
        alone = client.link("poison secret")
        assert (alone.status, alone.headers["content-type"]) == (500, "application/problem+json")
        assert client.count('ontolink_documents_total{outcome="failed"}') == 2
        assert client.count('ontolink_documents_total{outcome="linked"}') == 3
        assert client.count("ontolink_mentions_total") == 4
    assert "ValueError" in caplog.text
    assert "secret" not in caplog.text + json.dumps(answer.body)


def test_a_language_model_that_does_not_answer(serving):
    with serving() as (client, _):
        answer = client.link("unanswered", "fine")
        assert (answer.status, answer.body["detail"]) == (503, "The model does not answer.")
        assert "retry-after" in answer.headers
        assert client.link("fine").status == 200


def test_an_error_of_ours_is_its_sentence(serving, nlp):
    nlp.max_length = 50
    with serving() as (client, _):
        long, short = client.link("a" * 51, "milk yield").body["documents"]
        assert long["error"]["status"] == 422
        assert "51 characters, more than the pipeline's 50" in long["error"]["detail"]
        assert ids(short) == [("milk yield", "T:2")]


@pytest.mark.parametrize(
    ("path", "body", "status", "words"),
    [
        ("/link", b'{"texts": ["a"', 400, "not JSON"),
        ("/link", b"[" * 5000, 400, "parsing the body"),
        ("/link", b'{"k": ' + b"9" * 5000 + b"}", 400, "parsing the body"),
        ("/link", b'{"texts": ["a"], "k": 1e400}', 422, "k: "),
        ("/link", b'{"texts": ["\xff"]}', 400, "parsing the body"),
        ("/link", b"", 422, "must be a JSON object"),
        ("/link", [1], 422, "must be a JSON object"),
        ("/link", {}, 422, "nothing to link"),
        ("/link", {"texts": ["a"], "documents": [GIVEN]}, 422, "not both"),
        ("/link", {"texts": ["a"], "kk": 3}, 422, "kk: "),
        ("/link", {"texts": "a"}, 422, "texts: "),
        ("/link", {"texts": ["a", 3]}, 422, "texts.1: "),
        ("/link", {"texts": ["a"], "k": "many"}, 422, "k: "),
        ("/link", {"texts": ["a"], "k": 0}, 422, "k: "),
        ("/link", {"texts": ["a"], "k": 65}, 422, "at most 64"),
        ("/link", {"documents": [{"text": "ab", "mentions": [{"start": 1, "end": 3}]}]}, 422, "text of 2 characters"),
        ("/link", {"documents": [{"text": "ab", "mentions": [{"start": True, "end": 2}]}]}, 422, "mentions.0.start"),
        ("/link", {"texts": ["a"] * 4}, 413, "4 documents in one request, at most 3"),
        ("/search", {"mentions": ["a"] * 4}, 413, "4 mentions in one request, at most 3"),
        ("/search", {"mentions": []}, 422, "mentions: "),
        ("/search", {"mentions": ["a", " "]}, 422, "blank"),
        ("/link", {"texts": ["a" * 20_000]}, 413, "more than 10,000 bytes"),
        ("/nowhere", None, 404, "Not Found"),
        ("/link", None, 405, "Method Not Allowed"),
    ],
)
def test_what_is_refused(served, path, body, status, words):
    answer = served.ask(path, body)
    assert answer.status == status == answer.body["status"]
    assert words in answer.body["detail"]
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.fixture
def served(serving):
    with serving(documents=3, queue=3, body=10_000) as (client, _):
        yield client


def test_a_body_without_a_length_is_counted(serving):
    with serving(body=1000) as (client, _):
        connection = socket.create_connection(("127.0.0.1", client.port))
        with connection:
            connection.sendall(b"POST /link HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
            connection.sendall(b"3e8\r\n" + b" " * 1000 + b"\r\n1\r\n \r\n")
            assert connection.recv(100).startswith(b"HTTP/1.1 413 ")


def test_a_body_that_does_not_come(serving):
    with serving(timeout=0.3) as (client, _):
        with socket.create_connection(("127.0.0.1", client.port)) as connection:
            connection.sendall(b"POST /link HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n")
            assert connection.recv(100).startswith(b"HTTP/1.1 408 ")


def test_a_full_queue_says_when_to_come_back(serving, latch):
    with serving(documents=2, queue=3, batch_wait=0.0) as (client, _):
        slow = client.later("/link", {"texts": ["slow"]})
        assert latch.reached.wait(10)
        waiting = client.later("/link", {"texts": ["BF", "BF"]})
        while client.ask("/health").body["waiting"] < 2:
            time.sleep(0.01)
        refused = client.link("a", "b")
        assert refused.status == 429
        assert int(refused.headers["retry-after"]) >= 1
        latch.opened.set()
        assert (slow().status, waiting().status) == (200, 200)
        assert client.link("a", "b").status == 200
        assert client.count('ontolink_requests_total{path="/link",status="429"}') == 1
        assert client.count('ontolink_requests_total{path="/link",status="200"}') == 3
        assert client.count('ontolink_request_seconds_count{path="/link"}') == 4


def test_time_limits(serving, latch):
    with serving(timeout=0.5, batch_wait=0.0) as (client, _):
        slow = client.later("/link", {"texts": ["slow"]})
        assert latch.reached.wait(10)
        waiting = client.link("BF")
        assert (waiting.status, slow().status) == (503, 504)
        assert "retry-after" in waiting.headers
        assert client.ask("/health").body["waiting"] == 0  # nobody waits for it any more
        latch.opened.set()


def test_who_goes_away_leaves_the_queue(serving, latch):
    with serving(batch_wait=0.0) as (client, _):
        slow = client.later("/link", {"texts": ["slow"]})
        assert latch.reached.wait(10)
        body = b'{"texts": ["BF"]}'
        with socket.create_connection(("127.0.0.1", client.port)) as connection:
            head = b"POST /link HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            connection.sendall(head + b"Content-Length: 17\r\n\r\n" + body)
            while client.ask("/health").body["waiting"] < 1:
                time.sleep(0.01)
        while client.ask("/health").body["waiting"]:
            time.sleep(0.01)
        latch.opened.set()
        assert slow().status == 200
        assert client.count('ontolink_requests_total{path="/link",status="499"}') == 1


def test_stopping_lets_requests_end(serving, latch):
    with serving() as (client, server):
        slow = client.later("/link", {"texts": ["slow milk yield"]})
        assert latch.reached.wait(10)
        server.should_exit = True
        with pytest.raises(OSError):
            while True:  # until it takes no more requests
                client.ask("/health")
                time.sleep(0.01)
        latch.opened.set()
        answer = slow()
        assert ids(answer.body["documents"][0]) == [("milk yield", "T:2")]


def test_health_tells_what_is_served(served):
    facts = served.ask("/health").body
    assert facts["status"] == "ready"
    assert facts["pipeline"]["components"] == ["service_mood", "ontolink_retriever"]
    kb = facts["knowledge_bases"]["ontolink_retriever"]
    assert (kb["name"], kb["entities"], len(kb["hash"]), facts["mentions"]) == ("toy", 3, 64, "dictionary")


@pytest.mark.parametrize(
    ("host", "status"),
    [("localhost:9", 200), ("127.0.0.1", 200), ("[::1]:80", 200), ("a.localhost", 200), ("evil.example", 421),
     ("127.0.0.1.evil.example", 421), ("localhost@evil.example", 421), ("10.0.0.1:8000", 421), ("[", 421), ("", 421)],
)  # fmt: skip
def test_only_names_of_this_machine_are_answered_to(served, host, status):
    assert served.ask("/link", {"texts": ["BF"]}, Host=host).status == status


@pytest.mark.parametrize("names", [frozenset({"kb.example"}), None])
def test_names_that_are_added(serving, names):
    with serving(names=names) as (client, _):
        assert client.ask("/link", {"texts": ["BF"]}, Host="kb.example:80").status == 200
        assert client.ask("/link", {"texts": ["BF"]}, Host="other.example").status == (421 if names else 200)


def test_a_page_from_elsewhere_can_neither_send_nor_read(served):
    """A browser asks first before it sends JSON from another site; without CORS headers the answer is no."""
    body = b'{"texts": ["BF"]}'
    plain = served.ask("/link", body, **{"Content-Type": "text/plain", "Origin": "http://evil.example"})
    assert plain.status == 422 and "application/json" in plain.body["detail"]
    answer = served.ask("/link", body, Origin="http://evil.example")
    assert answer.status == 200 and not [name for name in answer.headers if name.startswith("access-control")]


def test_the_root_leads_to_the_page(served):
    answer = served.ask("/")
    assert (answer.status, answer.headers["location"]) == (307, "docs")


def test_the_page_needs_nothing_from_elsewhere(served):
    page = served.ask("/docs").body
    for words in ("POST /link", "POST /search", "GET /health", "LinkedMention", "/metrics"):
        assert words in page
    assert "<script" not in page
    assert "https://" not in page
    api = served.ask("/openapi.json").body
    assert "429" in api["paths"]["/link"]["post"]["responses"]


def test_an_error_of_the_server_is_a_problem_and_its_log_quotes_nothing(served, monkeypatch, caplog):
    def fail(self, items, request):
        raise RuntimeError("secret")

    monkeypatch.setattr("spacy_ontolink.service.app.Service.answer", fail)
    with caplog.at_level(logging.WARNING):
        answer = served.link("secret")
    assert (answer.status, "RuntimeError" in answer.body["detail"]) == (500, True)
    assert "RuntimeError" in caplog.text
    assert "secret" not in caplog.text
