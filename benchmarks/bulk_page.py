"""Write docs/bulk.md from what bulk.py measured; ``python benchmarks/report.py`` calls it."""

from __future__ import annotations

import math
from typing import Any

from common import HERE

INTRO = """# Corpora of any size

`ontolink bulk` links what no one process can: it cuts shards into chunks, has many workers link them, and writes
Parquet. Run it again after a crash, and it goes on where it was.

```bash
ontolink bulk my-linker/ abstracts/ linked/                      # all cores of this machine
ontolink bulk my-linker/ 'in/*.parquet' extra.jsonl.gz more/ --text-column abstract --id-column pmid
```

## In and out

Inputs are files, folders and (quoted) patterns: `.parquet` with a column of text and, if there are any, of ids and of
`mentions` (a list of structs with `start`, `end`, `label`); `.jsonl`, gzipped or not, and `.spacy`, as for
`ontolink link`. `ontolink convert` makes JSONL of other formats. Mentions come from where `--mentions` says; by default
that is decided once, by the first 64 documents of the first shard that has any, and noted in `run.json`. Folders are
read with their subfolders, also those that are links. A `.jsonl.gz` shard can only be unpacked from its beginning, and
is so for every chunk of it: cut large ones into several, or give a larger `--chunk-size`.

| in the output folder | what |
|---|---|
| `mentions/*.parquet` | one row per mention, one file per chunk |
| `failed/*.jsonl` | documents that were set aside, with their text, `shard`, `row`, `kind` and `error` |
| `receipts/*.json` | for each finished chunk: shard with size and time of change, rows, counts, pipeline, settings |
| `run.json`, `shards/` | what the run was started with, and how its shards were cut |
| `journals/` | what is being worked on; empty in the end |

Columns of `mentions`: `shard`, `row` (from 0; with `shard` the key, since ids of documents may repeat), `document` (its
id), `start`, `end`, `mention`, `label`, `kb_id` (an id, `NIL`, or empty where nobody looked), `name`, `score`,
`probability` (of a tuned pipeline), and `candidates`, a list of structs `id`, `name`, `matched`, `score`. Any reader of
Parquet takes the folder as one table: `duckdb -c "select kb_id, count(*) from 'linked/mentions/*.parquet' group by 1"`.

A chunk has `--chunk-size` rows, 2,000 by default: what is lost when a worker dies, and what a file of the output holds.
For tens of millions of documents take 20,000, so that there are fewer files.

## One machine

`--engine local` starts `--workers` processes, by default one per core. The pipeline is memory-mapped, so they share its
pages. Each uses as many threads as there are cores for it. Several workers on one GPU each load the models onto it.

## A Ray cluster

<!-- not run: needs another package -->
```bash
pip install "spacy-ontolink[ray]"       # on every node, with the same version of everything
ray start --head                        # on the first node; the others: ray start --address=FIRST:6379
ontolink bulk /shared/my-linker /shared/abstracts /shared/linked --engine ray --workers 64
```

Run on the head node, the command finds the cluster; elsewhere set `RAY_ADDRESS`, or hand it to `ray job submit`.
Without a cluster it starts one of this machine. Pipeline, input and output must have the same paths on all nodes.
`--engine ray` is the default where Ray is installed. Without `--workers` there are as many as the cluster has room for:
`--cpus-per-worker` (1) and `--gpus-per-worker` (0; 0.5 lets two share one) say what each takes.

Ray Data runs a pool of actors that each open the pipeline once. What goes through Ray are names of chunks and receipts;
a worker reads its rows and writes its part itself, with the very code of the local engine, so a run may be begun with
one engine and ended with the other. An actor that dies is started again by Ray, on whichever node there is.

## Going on

Every part is written under another name, brought to the disk, renamed, and only then gets its receipt, brought to the
disk as well. So a chunk is either done or not begun, and a run that goes on does the chunks without receipt: after
Ctrl-C, `kill -9` of the driver or of any worker, or the end of a machine. It is refused, in one sentence that names the
ways out, if

- the pipeline is another one (a digest of all its files), or a setting that decides the output has changed;
  `--workers`, `--engine`, `--batch-size`, `--retries` and `--timeout` may;
- a shard has another size or time of change, or is no longer among the inputs. New shards are welcome;
- a part is missing or was cut short, or another `ontolink bulk` is writing to the folder.

`--overwrite` begins anew, once all inputs have been read; a folder without a `run.json` of ours is left alone.

## Documents that fail

A document that cannot be read, or that the pipeline raises an error on, is set aside in `failed/`; its batch is halved
until it is alone, and the others come through. One that *kills* its worker (a crash in native code, too little memory)
is found by the journal, in which a worker notes what it begins and ends: a batch of which more than `--retries` (2)
workers died is worked on one by one, and a document of which as many died alone is set aside as `Died`. With
`--timeout 60`, a batch that takes more than a minute counts as a death, too. Nothing is tried for ever: every document
is linked or set aside, and the summary counts both; if not one is linked, the exit code is 2. From a damaged page of a
Parquet file on, the rows of its chunk are set aside. `failed/` can be an input of another run, once the cause is
mended. What is no document's fault ends the run instead: a setting that makes no sense, a missing package or file, a
damaged pipeline, a full disk or memory, workers that die while they open the pipeline or read a chunk.

## With a language model

A pipeline carries the address of its language model, so there is nothing to set. For a stage that asks one, start a
server on the GPUs and let many workers without any ask it:

<!-- not run: needs a language model -->
```bash
vllm serve Qwen/Qwen3-Reranker-0.6B --port 8000          # on the GPU node; more of them behind a load balancer
ontolink bulk /shared/my-linker /shared/abstracts /shared/linked --engine ray --workers 32
```

where the pipeline was built with `spacy-ontolink.OpenAI.v1` and `endpoint = "http://gpu-node:8000/v1"`
([language models](language-models.md)). The key, if there is one, comes from the environment of every node. The server
batches across workers; raise `--workers` until it is busy. If none of a batch's prompts is answered, workers ask again
`--retries` times, ever later, and then the run ends: no document is blamed, none is linked without the model, and the
next run goes on. Single prompts that stay without an answer are counted in the summary; their mentions are decided by
the other stages. With a `CachedLLM` around it, not even the answers of unfinished chunks are lost.
"""
NOTE = """Documents are {documents:,} abstracts of the NCBI disease and BC5CDR corpora, mentions are names of the
ontology, found in the text and then linked; medians of {rounds} rounds that take turns. Rates leave the start out.
"Load" is the system's load average when a run began: the machine had other work, over which these runs had precedence.
Where the ratio is below 2, that work and the last chunk, which one worker does while the other has none left, have
their part in it; they were not told apart. "Per CPU-s" counts the workers' own CPU-seconds, looked at four times a
second, so it is rough. PSS counts a shared page in proportion to who shares it; "private" is what one more worker
costs."""
COLUMNS = {
    "case": "ontology",
    "engine": "engine",
    "workers": "workers",
    "documents_per_second": "documents/s",
    "speed_up": "ratio to 1 worker",
    "documents_per_cpu_second": "documents per CPU-s",
    "mentions_per_document": "mentions per document",
    "load": "load",
    "rss": "a worker's RSS, GiB",
    "pss": "its PSS",
    "private": "private",
}
CASES = {"hpo": "HPO", "mesh": "MeSH (dictionary of BC5CDR)"}
ABSTRACTS, CORES = 37_000_000, 32
PLAN = """## Plan: all of PubMed

{abstracts:,} abstracts at the measured rate per core, which is that of two local workers, halved. Core-hours are
abstracts / rate / 3,600; machines have {cores} cores and are to be done in a day, so it takes core-hours / ({cores} x
24) of them, rounded up; the output is abstracts x bytes per document, with 5 candidates a mention; memory is the
private one of {cores} workers and, once, what they share. Chunks know nothing of each other, so that rates add up as
long as storage keeps up; this was measured for two workers, and is an assumption beyond.

| ontology | documents/s per core | core-hours | machines | bytes per document | output, GB | memory of a machine, GiB |
|---|--:|--:|--:|--:|--:|--:|"""


def bulk_page(result: dict[str, Any], about: str) -> None:
    """Write the page."""
    rows = result["rows"]
    note = NOTE.format(documents=result["documents"], rounds=result["rounds"])
    lines = [INTRO, "## Measured\n", about, note, "", f"| {' | '.join(COLUMNS.values())} |"]
    lines.append("|---|---|" + "--:|" * (len(COLUMNS) - 2))
    for row in rows:
        cells = [CASES[row["case"]] if key == "case" else _cell(row[key]) for key in COLUMNS]
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", PLAN.format(abstracts=ABSTRACTS, cores=CORES)]
    lines += [_plan(row) for row in rows if (row["engine"], row["workers"]) == ("local", 2)]
    (HERE.parent / "docs" / "bulk.md").write_text("\n".join([*lines, ""]), encoding="utf-8")


def _plan(row: dict[str, Any]) -> str:
    rate, size = row["documents_per_second"] / row["workers"], row["bytes_per_document"]
    hours = ABSTRACTS / rate / 3600
    shared = row["rss"] - row["private"]
    cells = [CASES[row["case"]], _cell(rate), f"{hours:,.0f}", str(math.ceil(hours / CORES / 24)), f"{size:,.0f}",
             f"{ABSTRACTS * size / 1e9:,.1f}", f"{CORES * row['private'] + shared:,.0f}"]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _cell(value: Any) -> str:
    return (
        f"{value:.2f}"
        if isinstance(value, float) and value < 10
        else f"{value:.1f}"
        if isinstance(value, float)
        else str(value)
    )
