"""``ontolink bulk`` with one and with two workers, and the memory that workers share.

    python benchmarks/bulk.py WORK --data FOLDER

Needs FOLDER/corpora/{ncbi_disease,bc5cdr}, and the extra 'demo'; with the extra 'ray', Ray is measured on the first
ontology. Documents are 1,200 abstracts of both corpora, each once (seed 0), in shards of 400 and chunks of 100;
mentions are names of the ontology. Pipelines are built once and kept in WORK. A rate is counted from the first chunk
of every worker to the last chunk of all, so it leaves the start out; CPU-seconds are the workers' own over the same
time, looked at four times a second. Rounds take turns, medians are kept. Nothing else should run on the machine; if
that cannot be had, Linux shares time out by session first: ``echo -10 > /proc/self/autogroup`` gives this one more.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import json
import random
import shutil
import statistics
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

from common import parser, save
from pyarrow import parquet
from scale import memory

from spacy_ontolink.cli.demo import hpo_file
from spacy_ontolink.files import read_json

ROUNDS, DOCUMENTS, SHARD, CHUNK, SEED = 2, 1200, 400, 100, 0
EVERY = 0.25
"""Seconds between two looks at the workers."""
CASES = ("hpo", "mesh")
"""The Human Phenotype Ontology, and MeSH as the dictionary of BC5CDR has it."""
TICKS = os.sysconf("SC_CLK_TCK")


def write_corpus(data: Path, folder: Path) -> int:
    """Write the abstracts as shards; returns their number."""
    texts = []
    for name in ("ncbi_disease", "bc5cdr"):
        for part in ("train", "dev", "test"):
            with (data / "corpora" / name / f"{part}.jsonl").open(encoding="utf-8") as file:
                texts += [json.loads(line)["text"] for line in file]
    texts = random.Random(SEED).sample(list(dict.fromkeys(texts)), DOCUMENTS)
    folder.mkdir(parents=True, exist_ok=True)
    for first in range(0, len(texts), SHARD):
        rows = [json.dumps({"id": str(n), "text": text}) for n, text in enumerate(texts[first : first + SHARD], first)]
        path = folder / f"{first:05}.jsonl"
        if not path.exists():
            path.write_text("".join(row + "\n" for row in rows), encoding="utf-8")
    return len(texts)


def ontology_of(case: str, data: Path) -> Path:
    """Return the ontology of a case."""
    return hpo_file() if case == "hpo" else data / "corpora" / "bc5cdr" / "dictionary.jsonl.gz"


def pipeline_of(case: str, data: Path, work: Path) -> Path:
    """Build a pipeline with the defaults, if it is not there."""
    if not (work / case).exists():
        command = [sys.executable, "-m", "spacy_ontolink", "build", ontology_of(case, data), work / case]
        subprocess.run(list(map(str, command)), check=True)
    return work / case


def family(pid: int) -> list[int]:
    """Return the processes below a process."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:  # it has ended
        return []
    return [other for child in map(int, children) for other in (child, *family(child))]


def look(pid: int, mark: bytes) -> dict[int, dict[str, float]]:
    """Return CPU-seconds and memory of the workers of a driver."""
    seen = {}
    for worker in family(pid):
        try:
            if mark not in Path(f"/proc/{worker}/cmdline").read_bytes():
                continue
            ticks = Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()
            seen[worker] = {"cpu": (int(ticks[11]) + int(ticks[12])) / TICKS, **memory(str(worker))}
        except OSError:
            continue
    return seen


def one_run(pipeline: Path, corpus: Path, out: Path, engine: str, workers: int) -> dict[str, float]:
    """Run the command and return what was seen of it."""
    shutil.rmtree(out, ignore_errors=True)
    command = [sys.executable, "-m", "spacy_ontolink", "bulk", pipeline, corpus, out, "--engine", engine]
    command += ["--workers", workers, "--chunk-size", CHUNK, "--mentions", "dictionary"]
    looks: list[tuple[float, dict[int, dict[str, float]]]] = []
    load = os.getloadavg()[0]
    with subprocess.Popen(list(map(str, command)), stderr=subprocess.DEVNULL) as driver:
        while driver.poll() is None:
            looks.append((time.time(), look(driver.pid, b"spawn_main" if engine == "local" else b"ray::Map")))
            time.sleep(EVERY)
    assert driver.returncode == 0
    receipts = sorted((out / "receipts").iterdir(), key=lambda path: path.stat().st_mtime_ns)
    ends = [path.stat().st_mtime_ns / 1e9 for path in receipts]
    facts = [read_json(path) for path in receipts]
    first, last = ends[workers - 1], ends[-1]
    documents = sum(fact["documents"] for fact in facts[workers:])
    inside = [(at, seen) for at, seen in looks if first <= at <= last and len(seen) >= workers]
    (start, before), (end, after) = inside[0], inside[-1]
    spent = sum(own["cpu"] - before[pid]["cpu"] for pid, own in after.items() if pid in before)
    of_that = documents * (end - start) / (last - first)
    shared = {name: statistics.mean(own[name] for own in after.values()) for name in ("rss", "pss", "private")}
    whole = out / "whole.parquet"  # small parts have more around their rows
    parquet.write_table(parquet.read_table(out / "mentions"), whole, compression="zstd")
    counted = sum(fact["documents"] for fact in facts)
    return {
        "documents_per_second": documents / (last - first),
        "documents_per_cpu_second": of_that / spent,
        "mentions_per_document": sum(fact["linked"] + fact["nil"] + fact["skipped"] for fact in facts) / counted,
        "bytes_per_document": whole.stat().st_size / counted,
        "load": load,
        **shared,
    }


def main() -> None:
    """Measure and save."""
    options = parser(__doc__)
    options.add_argument("work", type=Path, help="folder for pipelines and runs")
    options.add_argument("--rounds", type=int, default=ROUNDS)
    options.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    arguments = options.parse_args()
    work, corpus = arguments.work, arguments.work / "abstracts"
    n = write_corpus(arguments.data, corpus)
    engines = ["local", "ray"] if find_spec("ray") else ["local"]
    rows = []
    for case in arguments.cases:
        pipeline = pipeline_of(case, arguments.data, work)
        runs: dict[tuple[str, int], list[dict[str, float]]] = {}
        for _ in range(arguments.rounds):
            for engine in engines if case == arguments.cases[0] else engines[:1]:
                for workers in (1, 2):
                    found = one_run(pipeline, corpus, work / "out", engine, workers)
                    runs.setdefault((engine, workers), []).append(found)
                    sys.stderr.write(f"{case} {engine} {workers}: {json.dumps(found)}\n")
        medians = {
            key: {name: statistics.median(run[name] for run in found) for name in found[0]}
            for key, found in runs.items()
        }
        for (engine, workers), found in medians.items():
            ratio = found["documents_per_second"] / medians[engine, 1]["documents_per_second"]
            row = {"case": case, "engine": engine, "workers": workers, "speed_up": ratio, **found}
            rows.append({name: round(value, 3) if isinstance(value, float) else value for name, value in row.items()})
    facts = {"documents": n, "rounds": arguments.rounds, "chunk": CHUNK}
    save("bulk", "python benchmarks/bulk.py WORK --data FOLDER", rows, seed=SEED, **facts)


if __name__ == "__main__":
    main()
