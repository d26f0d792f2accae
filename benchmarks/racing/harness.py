"""Runs one method of one peer in a process of its own: ``python harness.py PEER METHOD SET OUT LIMIT``.

It stands alone: the environment has the peer's packages and no others. A peer's file has ``METHODS``: by name, what
builds from the entities (``id``, ``name``, ``synonyms``) and a folder to keep files in. What is built is called with
texts and ``k`` and returns ids, best first, for each. A method in ``DOCUMENTS`` gets documents instead, with their
mentions, and answers for all mentions in order; one in ``AFTER`` opens what another one built and left in the folder,
if need be by its search's ``save``. ``PACKAGES`` are those whose versions are told. Reading the files, importing the
libraries (at the top of the file or in ``load_libraries``) and ``save`` are not timed.
"""

import importlib.metadata
import importlib.util
import json
import os
import resource
import signal
import sys
import time
from pathlib import Path

K, REPEATS, ENOUGH = 64, 3, 20.0  # a search is repeated until it took so many CPU-seconds in all; the fastest counts


def lines(path):
    """Read JSON lines."""
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def cpu():
    """CPU-seconds so far: of all threads, and of child processes that have ended."""
    return time.process_time() + sum(os.times()[2:4])


def peak_mb():
    """The most memory held so far, in MB; unlike ``ru_maxrss`` it knows nothing of the parent process."""
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM"))


def limited(seconds, run):
    """Call; the system ends the process if that takes more CPU-seconds."""
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time() + seconds) + 1, resource.RLIM_INFINITY))
    start, result = cpu(), run()
    return cpu() - start, result


def write(path, facts):
    """Write facts, whole or not at all."""
    path.with_suffix(".part").write_text(json.dumps(facts), encoding="utf-8")
    path.with_suffix(".part").replace(path)


def main(peer, method, folder, out, limit):
    """Build, search, and write what was found and what it took."""
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    spec = importlib.util.spec_from_file_location("peer", peer)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    getattr(module, "load_libraries", lambda method: None)(method)
    folder, out, limit = Path(folder), Path(out), float(limit)
    entities = lines(folder / "entities.jsonl")
    own = folder / Path(peer).stem
    own.mkdir(exist_ok=True)
    documents = method in getattr(module, "DOCUMENTS", ())
    queries = lines(folder / ("documents.jsonl" if documents else "texts.jsonl"))
    facts = {
        "after": getattr(module, "AFTER", {}).get(method),
        "documents": documents,
        "before_mb": peak_mb(),
        "versions": {package: importlib.metadata.version(package) for package in module.PACKAGES},
    }
    facts["build_cpu"], search = limited(limit, lambda: module.METHODS[method](entities, own))
    facts["build_mb"] = peak_mb()
    write(out.with_suffix(".built"), facts)
    facts["search_cpu"], spent = float("inf"), 0.0
    for _ in range(REPEATS):
        seconds, found = limited(limit, lambda: search(queries, K))
        facts["search_cpu"], spent = min(facts["search_cpu"], seconds), spent + seconds
        if spent > ENOUGH:
            break
    peak = peak_mb()
    getattr(search, "save", lambda: None)()
    write(out, {**facts, "peak_mb": peak, "found": [list(ids)[:K] for ids in found]})


if __name__ == "__main__":
    main(*sys.argv[1:])
