"""Processes of our own; each takes seconds to start, so there are few tests here."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from functools import partial
from pathlib import Path

import bulk_pipeline
import pytest
from bulk_pipeline import failed_of, rows_of, texts

from spacy_ontolink.bulk.layout import COUNTS
from spacy_ontolink.bulk.local import run_local
from spacy_ontolink.errors import ConfigError, LLMError, StateError

KILLS = ["driver", "driver", "worker", "worker", "worker"]


def test_documents_that_kill_or_hang_are_found(run, corpus):
    folder = corpus(a=texts(60, at_5="kills", at_30="raises", at_33="hangs"))
    totals = run(folder, engine=partial(run_local, workers=2), retries=0, timeout=2.0)
    assert totals.counts == Counter(documents=60, linked=57, failed=3)
    assert [row["row"] for row in run.rows()] == [n for n in range(60) if n not in (5, 30, 33)]
    assert [(line["row"], line["kind"]) for line in run.failed()] == [(5, "Died"), (30, "ValueError"), (33, "Died")]
    assert list((run.out / "journals").iterdir()) == []


def test_an_error_that_is_no_documents_fault_ends_the_run(run, corpus):
    with pytest.raises(LLMError, match="does not answer"):
        run(corpus(a=texts(30, at_5="unanswered")), engine=partial(run_local, workers=1), retries=0)
    assert run.failed() == []


def die_at_once():
    os._exit(3)


def raise_at_once():
    raise ConfigError("It cannot be opened.")


def test_what_a_worker_raises_while_it_opens_the_pipeline_ends_the_run(run, corpus):
    run.open = raise_at_once
    with pytest.raises(ConfigError, match="cannot be opened"):
        run(corpus(a=texts(5)), engine=partial(run_local, workers=1))


def test_workers_that_cannot_open_the_pipeline_end_the_run(run, corpus):
    run.open = die_at_once
    with pytest.raises(StateError, match=r"died 1 times while they opened the pipeline \(exit code 3\)"):
        run(corpus(a=texts(5)), engine=partial(run_local, workers=1), retries=0)


def children_of(pid):
    """Return the processes that a process has started, and those that these have."""
    try:
        found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:  # it has ended
        return []
    return [other for child in map(int, found) for other in (child, *children_of(child))]


def workers_of(pid, mark):
    def command(child):
        try:
            return Path(f"/proc/{child}/cmdline").read_bytes()
        except OSError:
            return b""

    return [child for child in children_of(pid) if mark in command(child)]


def start(pipeline, folder, out, *options, pause="0.02"):
    command = [
        sys.executable,
        bulk_pipeline.__file__,
        pause,
        pipeline,
        folder,
        out,
        "--workers",
        "2",
        "--chunk-size",
        "30",
    ]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path.cwd()), os.environ.get("PYTHONPATH", "")])}
    return subprocess.Popen(
        [*map(str, command), "--batch-size", "8", *options], stderr=subprocess.PIPE, text=True, env=environment
    )


def killed_at_random(start_driver, mark, kills, seed):
    """Kill drivers and workers, in any order and at random moments, then let the run end; returns those left alive."""
    chance = random.Random(seed)
    left = chance.sample(kills, len(kills))
    while True:
        driver = start_driver()
        while left and driver.poll() is None:
            workers = workers_of(driver.pid, mark)
            if not workers:  # they are still starting
                time.sleep(0.05)
                continue
            time.sleep(chance.uniform(0.0, 1.5))
            try:
                os.kill(driver.pid if left[0] == "driver" else chance.choice(workers), signal.SIGKILL)
            except ProcessLookupError:  # it has been replaced, or was done
                continue
            if left.pop(0) == "driver":
                break
        _, errors = driver.communicate()
        if driver.returncode != -signal.SIGKILL:
            assert driver.returncode == 0, errors
            return left


def counted(out):
    receipts = [json.loads(path.read_text()) for path in (out / "receipts").iterdir()]
    return Counter({name: sum(receipt[name] for receipt in receipts) for name in COUNTS})


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds the workers in /proc")
def test_kills_at_random_moments_lose_and_double_nothing(pipeline, corpus, tmp_path):
    folder = corpus(a=texts(170, at_20="raises"), b=texts(130))
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    driver = start(pipeline, folder, whole, "--engine", "local")
    _, errors = driver.communicate()
    assert driver.returncode == 0, errors
    # As many deaths while the pipeline is opened would end the run with the default.
    run = partial(start, pipeline, folder, killed, "--engine", "local", "--retries", str(len(KILLS)))
    assert killed_at_random(run, b"spawn_main", KILLS, seed=1) == []
    assert len(rows_of(whole)) == 299
    assert rows_of(killed) == rows_of(whole)
    assert failed_of(killed) == failed_of(whole)
    assert counted(killed) == counted(whole) == Counter(documents=300, linked=299, failed=1)
    assert list((killed / "journals").iterdir()) == []
