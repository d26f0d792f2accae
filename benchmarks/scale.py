"""Cost against the number of names: ``python benchmarks/scale.py``.

Names are scientific names of the NCBI taxonomy, a random part of them or all, in "doubled" with one derived synonym
each (in turn: its words the other way round, its last word in the plural, its second word dropped, or the first one
abbreviated where there are but two); and the MeSH dictionary of BC5CDR with its development
mentions. Mentions of the taxonomy are names with a word dropped or added, or a letter dropped or changed.
"Dense" is an encoder of 384 dimensions, trained on a part of the names (configs/train_ngrams.cfg), alone.
Every step runs in a process of its own, whose CPU time and largest memory are taken. ``--only CASE`` measures one case
and keeps the rows of the others.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import contextlib
import csv
import gzip
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import spacy
from common import HERE, RESULTS, cpu_seconds, documents, parser, save
from spacy.tokens import Doc

from spacy_ontolink.components.spans import candidate_ids
from spacy_ontolink.files import read_json
from spacy_ontolink.indexes.checking import measure_recall
from spacy_ontolink.indexes.exact import make_exact_index
from spacy_ontolink.types import Mention

SEED, N_MENTIONS, N_EXACT, K, WORKERS, CORES = 0, 2048, 256, 64, 2, 2
SIZES = {"10,000": 10_000, "100,000": 100_000, "300,000": 300_000, "1,000,000": 1_000_000, "all": None}
DOUBLED = {"all, doubled": None}
DENSE = {"300,000, doubled, dense": 300_000, "all, doubled, dense": None}
MESH = "bc5cdr"
CASES = (*SIZES, *DOUBLED, *DENSE, MESH)
A_DOCUMENT = 16  # mentions, where several processes link
TRAINED_ON = 20_000  # entities that the dense encoder learns from
DIMENSIONS = 384
GIB = 1 << 30


def taxa(data: Path) -> Iterator[tuple[str, str]]:
    """Yield id and scientific name."""
    with gzip.open(data / "scale" / "ncbitaxon_scientific_names.tsv.gz", "rt", encoding="utf-8") as file:
        for line in file:
            id, name = line.rstrip("\n").split("\t")
            yield f"NCBITaxon:{id}", name


def derived(name: str, number: int) -> str:
    """Make a synonym of a name: in turn its words the other way round, the last one in the plural, or one less."""
    first, *rest = name.split(" ")
    if not rest:
        return f"{name}s"
    match number % 3:
        case 0:
            return f"{' '.join(rest)}, {first}"
        case 1:
            return f"{name}s"
        case _:
            return f"{first} {' '.join(rest[1:])}" if len(rest) > 1 else f"{first[0]}. {rest[0]}"


def varied(name: str, chance: random.Random) -> str:
    """Write a name as a text might."""
    words = name.split(" ")
    at = chance.randrange(len(words))
    word = words[at]
    letter = chance.randrange(max(1, len(word)))
    match chance.randrange(4):
        case 0 if len(words) > 1:
            del words[at]
        case 1 if len(word) > 3:
            words[at] = word[:letter] + word[letter + 1 :]
        case 2:
            words[at] = word[:letter] + chance.choice("abcdefghijklmnopqrstuvwxyz") + word[letter + 1 :]
        case _:
            words.append(chance.choice(["strain", "gene", "cells", "isolate"]))
    return " ".join(words)


def write_table(path: Path, rows: Sequence[tuple[str, str]], doubled: bool) -> None:
    """Write an ontology of names, and if it is ``doubled`` of a synonym for each."""
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, delimiter="\t")
        table.writerow(["id", "name", "synonyms"])
        for number, (id, name) in enumerate(rows):
            table.writerow([id, name, derived(name, number) if doubled else ""])


def train(ontology: str, out: str) -> dict[str, Any]:
    """Train an encoder of dense vectors, of n-grams and words, on a part of the names."""
    from spacy_ontolink.cli import main as command

    config = HERE.parent / "configs" / "train_ngrams.cfg"
    settings = ["--paths.ontology", ontology, "--model.dimensions", str(DIMENSIONS), "--alignment.epochs", "1",
                "--alignment.pairs_per_entity", "2", "--output", out]  # fmt: skip
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(sys.stderr):
        command(["train", "retriever", str(config), *settings])
    return {"dimensions": DIMENSIONS}


def prepare(case: str, data: Path, scratch: Path) -> Path:
    """Write the ontology of a case and its mentions; return the file of the ontology."""
    chance = random.Random(SEED)
    if case == MESH:
        corpus = data / "corpora" / "bc5cdr"
        with (corpus / "dev.jsonl").open(encoding="utf-8") as file:
            texts = sorted({mention["text"] for line in file for mention in json.loads(line)["mentions"]})
        (scratch / "mentions.json").write_text(json.dumps(texts[:N_MENTIONS]))
        return corpus / "dictionary.jsonl.gz"
    rows = list(taxa(data))
    if size := {**SIZES, **DENSE}.get(case):
        rows = chance.sample(rows, size)
    write_table(scratch / "taxa.tsv", rows, doubled=case not in SIZES)
    if case in DENSE:
        write_table(scratch / "some.tsv", chance.sample(rows, TRAINED_ON), doubled=True)
    texts = [varied(name, chance) for _, name in chance.sample(rows, N_MENTIONS)]
    (scratch / "mentions.json").write_text(json.dumps(texts))
    return scratch / "taxa.tsv"


def build(ontology: str, out: str, encoder: str = "lexical") -> dict[str, Any]:
    """Build a pipeline as the command does."""
    from spacy_ontolink.cli.build import build as command

    seconds, _ = cpu_seconds(lambda: command([Path(ontology)], Path(out), encoder=encoder, overwrite=True))
    manifest = read_json(Path(out) / "ontolink_retriever" / "space" / "manifest.json")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / GIB
    disk = sum(file.stat().st_size for file in Path(out).rglob("*") if file.is_file()) / GIB
    return {
        "names": manifest["kb"]["names"],
        "index": manifest["index"]["kind"],
        "build_cpu_seconds": round(seconds, 1),
        "build_peak_gib": round(peak, 2),
        "disk_gib": round(disk, 2),
    }


def memory(process: str = "self") -> dict[str, float]:
    """Resident, proportional and private memory of a process in GiB."""
    text = Path(f"/proc/{process}/smaps_rollup").read_text()
    kib = {line.split(":")[0]: int(line.split()[1]) for line in text.splitlines()[1:]}
    private = kib["Private_Clean"] + kib["Private_Dirty"]
    return {"rss": kib["Rss"] / (1 << 20), "pss": kib["Pss"] / (1 << 20), "private": private / (1 << 20)}


def link(out: str, mentions: str) -> dict[str, Any]:
    """Open, link the mentions, and compare some of them with exact search."""
    texts = json.loads(Path(mentions).read_text())
    spacy.blank("en")
    start = time.perf_counter()
    nlp = spacy.load(out)
    opened = time.perf_counter() - start
    resident = memory()["rss"]
    docs = documents(nlp, texts)
    seconds, _ = cpu_seconds(lambda: list(nlp.pipe(docs)))
    space = nlp.get_pipe("ontolink_retriever").space
    exact = make_exact_index()
    exact.build(space.rows, len(space.kb))
    queries = space.encoder.encode_mentions([Mention(text) for text in texts[:N_EXACT]])
    exact_seconds, _ = cpu_seconds(lambda: exact.search(queries, K))
    return {
        "open_seconds": round(opened, 2),
        "resident_gib": round(resident, 2),
        "mentions_per_cpu_second": round(len(texts) / seconds, 1),
        "exact_mentions_per_cpu_second": round(N_EXACT / exact_seconds, 1),
        "recall_at_64_against_exact": measure_recall(space.index, exact, queries),
    }


def share(out: str, mentions: str) -> dict[str, Any]:
    """Link with several processes, and look at the memory that they share."""
    from threading import Event, Thread

    nlp = spacy.load(out)
    singly = documents(nlp, json.loads(Path(mentions).read_text())) * 2
    # Documents go from process to process, which costs as much for one mention as for some.
    docs = [Doc.from_docs(singly[at : at + A_DOCUMENT]) for at in range(0, len(singly), A_DOCUMENT)]
    list(nlp.pipe(docs[:4]))
    seen: list[list[dict[str, float]]] = []
    done = Event()

    def watch() -> None:
        while not done.wait(0.2):
            children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
            try:
                seen.append([memory(child) for child in children])
            except OSError:  # it ended just now
                continue

    watcher = Thread(target=watch)
    watcher.start()
    used = time.process_time()
    linked = [ent for doc in nlp.pipe(docs, n_process=WORKERS, batch_size=8) for ent in doc.ents]
    used = time.process_time() - used
    children = resource.getrusage(resource.RUSAGE_CHILDREN)  # of workers alone: nothing else was started
    used += children.ru_utime + children.ru_stime
    done.set()
    watcher.join()
    workers = max((one for one in seen if one), key=lambda one: sum(worker["pss"] for worker in one))
    return {
        "workers": WORKERS,
        "linked": sum(bool(candidate_ids(ent)) for ent in linked),
        "mentions_per_second_on_two_cores": round(len(linked) * CORES / used, 1),
        "worker_rss_gib": round(float(np.mean([one["rss"] for one in workers])), 2),
        "worker_pss_gib": round(float(np.mean([one["pss"] for one in workers])), 2),
        "worker_private_gib": round(float(np.mean([one["private"] for one in workers])), 2),
    }


STEPS = {"train": train, "build": build, "link": link, "share": share}


def in_own_process(step: str, *arguments: Path) -> dict[str, Any]:
    """Run one of ``STEPS`` in a new process."""
    command = [sys.executable, __file__, "--step", step, *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    facts: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return facts


def measured(case: str, data: Path, scratch: Path) -> dict[str, Any]:
    """Measure one case."""
    ontology, out, mentions = prepare(case, data, scratch), scratch / "pipeline", scratch / "mentions.json"
    row: dict[str, Any] = {"case": case}
    encoder = []
    if case in DENSE:
        encoder = [scratch / "encoder"]
        row |= in_own_process("train", scratch / "some.tsv", *encoder)
    row |= in_own_process("build", ontology, out, *encoder)
    row |= in_own_process("link", out, mentions)
    return row | in_own_process("share", out, mentions)


def main() -> None:
    """Measure the cases, smallest first; each is saved as it ends."""
    made = parser(__doc__)
    made.add_argument("--only", choices=CASES, action="append", help="measure this case; may be repeated")
    made.add_argument("--scratch", type=Path, help="folder for the pipelines, some GiB [default: the system's]")
    made.add_argument("--step", nargs="+", help=argparse.SUPPRESS)
    given = made.parse_args()
    if given.step:
        step, *arguments = given.step
        sys.stdout.write(json.dumps(STEPS[step](*arguments)) + "\n")
        return
    file = RESULTS / "scale.json"
    for case in given.only or CASES:
        with tempfile.TemporaryDirectory(dir=given.scratch) as scratch:
            row = measured(case, given.data, Path(scratch))
        sys.stderr.write(f"{row}\n")
        # Read anew, as other cases may have been measured meanwhile.
        rows = {row["case"]: row for row in read_json(file)["rows"]} if file.exists() else {}
        rows[case] = row
        ordered = [rows[name] for name in CASES if name in rows]
        save("scale", "python benchmarks/scale.py", ordered, seed=SEED, k=K, mentions=N_MENTIONS)


if __name__ == "__main__":
    main()
