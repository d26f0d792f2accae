"""A server on loopback that speaks as much of OpenAI's protocol as it is told to, well or badly."""

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Reply:
    """What to send: ``body`` as JSON unless it is bytes, after ``delay`` seconds, ``slowly`` a byte at a time."""

    body: object = None
    status: int = 200
    headers: dict = field(default_factory=dict)
    delay: float = 0.0
    slowly: float = 0.0
    hang_up: bool = False


@dataclass
class Request:
    path: str
    headers: dict
    body: dict

    @property
    def text(self):
        """The prompt, be it a chat's last message or raw text."""
        return self.body["prompt"] if "prompt" in self.body else self.body["messages"][-1]["content"]

    @property
    def chat(self):
        return "messages" in self.body


def says(request, text, top=None):
    """A well-formed reply with this text; ``top`` maps the most probable tokens to log-probabilities."""
    choice = {"index": 0, "finish_reason": "stop", "logprobs": None}
    choice |= {"message": {"role": "assistant", "content": text}} if request.chat else {"text": text}
    if top is not None and request.chat:
        tokens = [{"token": token, "logprob": logprob, "bytes": None} for token, logprob in top.items()]
        choice["logprobs"] = {"content": [{**tokens[0], "top_logprobs": tokens}] if tokens else []}
    elif top is not None:
        choice["logprobs"] = {"tokens": list(top)[:1], "top_logprobs": [top]}
    usage = {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}
    return Reply(
        {"id": "x", "object": "completion", "model": request.body["model"], "choices": [choice], "usage": usage}
    )


class FakeServer:
    """Answers with what ``answer(request)`` returns; by default, with the prompt. Remembers the requests."""

    def __init__(self, answer: Callable[[Request], Reply] | None = None):
        self.answer = answer or (lambda request: says(request, request.text))
        self.requests: list[Request] = []
        self.most_at_once = 0
        self._now = 0
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = False
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def endpoint(self):
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._closing.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def _serve(self, handler):
        headers = {name.lower(): value for name, value in handler.headers.items()}
        length = int(headers.get("content-length", 0))
        request = Request(handler.path, headers, json.loads(handler.rfile.read(length)))
        with self._lock:
            self.requests.append(request)
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
        try:
            reply = self.answer(request)
            self._closing.wait(reply.delay) if reply.delay else None
        finally:
            with self._lock:  # before the reply is sent: who has it may ask again at once
                self._now -= 1
        self._send(handler, reply)

    def _send(self, handler, reply):
        if reply.hang_up:
            return
        body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
        handler.send_response(reply.status)
        headers = {"Content-Type": "application/json", "Content-Length": str(len(body)), "Connection": "close"}
        for name, value in (headers | reply.headers).items():
            handler.send_header(name, value)
        handler.end_headers()
        if not reply.slowly:
            handler.wfile.write(body)
            return
        for byte in body:
            if self._closing.is_set():
                return
            handler.wfile.write(bytes([byte]))
            time.sleep(reply.slowly)

    def _handler(self):
        serve = self._serve

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                try:
                    serve(self)
                except (BrokenPipeError, ConnectionResetError):
                    pass  # the client went away, as it should when tired of waiting

            def log_message(self, *args):
                pass

        return Handler
