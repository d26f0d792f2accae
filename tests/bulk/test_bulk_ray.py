"""The engine on Ray, on a cluster that is this machine alone."""

import json
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pytest
from bulk_pipeline import failed_of, rows_of, texts
from test_bulk_local import counted, killed_at_random, start

from spacy_ontolink.bulk.journal import Journal
from spacy_ontolink.bulk.ray_data import Actor, _room
from spacy_ontolink.bulk.shards import cut, find_shards

KILLS = ["driver", "worker", "worker"]
needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="needs Ray (extra 'ray')")


def test_as_many_actors_as_there_is_room_for():
    assert _room({"CPU": 8.0, "GPU": 2.0}, 1, 0) == 8
    assert _room({"CPU": 8.0, "GPU": 2.0}, 1, 0.5) == 4
    assert _room({"CPU": 2.0}, 4, 0) == 1
    assert _room({"CPU": 2.0}, 0, 0) == 1


def actor(run, **settings):
    return Actor(run.open, run.job(**settings), name="a1")


def test_an_actor_that_cannot_open_the_pipeline_says_so(run, corpus):
    def open():
        raise OSError(2, "No such file or directory", "gone")

    run.open = open
    own = actor(run)
    (chunk,) = cut(find_shards([str(corpus(a=texts(3)))], run.out)[0], 20, "text")
    (message,) = own({key: [value] for key, value in chunk.to_row().items()})["done"]
    assert json.loads(message) == {"raised": "OSError", "arguments": [2, "No such file or directory", "gone"]}


def test_an_actor_that_dies_while_it_opens_the_pipeline_gives_up(run):
    journal = Journal(run.job().out / "journals" / "opening-a1.jsonl", 0)
    for times in range(2):
        assert actor(run, retries=1)._problem == {}, times
        for _ in range(times + 1):
            journal._write("begin", -3, -3)
    assert "died 2 times while they opened the pipeline" in actor(run, retries=1)._problem["arguments"][0]


@pytest.mark.slow
@needs_ray
def test_openings_that_die_end_the_run(pipeline, corpus, tmp_path):
    driver = start(pipeline, corpus(a=texts(9)), tmp_path / "out", "--engine", "ray", "--retries=1", pause="dies")
    _, errors = driver.communicate(timeout=240)
    assert driver.returncode == 2
    assert "died 2 times while they opened the pipeline" in errors.splitlines()[-1]


@pytest.mark.slow
@needs_ray
def test_documents_that_kill_are_found(pipeline, corpus, tmp_path):
    folder, out = corpus(a=texts(60, at_5="kills", at_30="raises")), tmp_path / "out"
    driver = start(pipeline, folder, out, "--engine", "ray", "--retries", "0")
    _, errors = driver.communicate(timeout=240)
    assert driver.returncode == 0, errors
    assert [row["row"] for row in rows_of(out)] == [n for n in range(60) if n not in (5, 30)]
    assert [(line["row"], line["kind"]) for line in failed_of(out)] == [(5, "Died"), (30, "ValueError")]


@pytest.mark.slow
@needs_ray
def test_a_model_that_does_not_answer_ends_the_run(pipeline, corpus, tmp_path):
    driver = start(pipeline, corpus(a=texts(9, at_5="unanswered")), tmp_path / "out", "--engine", "ray", "--retries=0")
    _, errors = driver.communicate(timeout=240)
    assert driver.returncode == 2
    assert errors.splitlines()[-1] == "ontolink: The model does not answer."


@pytest.mark.slow
@needs_ray
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds the workers in /proc")
def test_kills_at_random_moments_lose_and_double_nothing(pipeline, corpus, tmp_path):
    folder = corpus(a=texts(170, at_20="raises"), b=texts(130))
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    driver = start(pipeline, folder, whole, "--engine", "local")  # both engines write the same
    _, errors = driver.communicate(timeout=240)
    assert driver.returncode == 0, errors
    run = partial(start, pipeline, folder, killed, "--engine", "ray")
    assert killed_at_random(run, b"ray::Map", KILLS, seed=2) == []
    assert rows_of(killed) == rows_of(whole)
    assert failed_of(killed) == failed_of(whole)
    assert counted(killed) == counted(whole)
