"""Several threads, processes, builds and runs at once give what each gives alone."""

import json
import multiprocessing
import os
import subprocess
import sys
import threading

import pytest
import spacy
from signs import KINDS, ROOT, TEXT, answers, make_pipeline

from spacy_ontolink.registry import registry
from spacy_ontolink.types import Usage

TEXTS = [TEXT, "", "OH", "a swollen heart (OH)", "ear ache and liver aches", "nothing"] * 4


def alone(nlp):
    return [answers(nlp(text)) for text in TEXTS]


@pytest.mark.parametrize("kind", KINDS)
def test_threads_share_a_pipeline(saved, kind):
    expected = alone(spacy.load(saved(kind)))
    assert any(kb_ids for row in expected for _, _, _, _, kb_ids, _ in row)
    nlp = spacy.load(saved(kind))  # fresh: its first use is that of all threads at once
    ready, found = threading.Barrier(4), {}

    def work(number):
        ready.wait()
        order = TEXTS[number:] + TEXTS[:number]
        docs = nlp.pipe(order, batch_size=1 + 3 * number) if number % 2 else map(nlp, order)
        rows = [answers(doc) for doc in docs]
        found[number] = rows[len(TEXTS) - number :] + rows[: len(TEXTS) - number]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [found.get(number) for number in range(4)] == [expected] * 4


@pytest.mark.parametrize("kind", KINDS)
def test_forked_processes_after_use_in_the_parent(saved, kind):
    nlp = spacy.load(saved(kind))
    expected = alone(nlp)
    context = multiprocessing.get_start_method(allow_none=True)
    if context not in (None, "fork"):
        pytest.skip("this system does not fork")
    assert [answers(doc) for doc in nlp.pipe(TEXTS, n_process=2, batch_size=5)] == expected


def test_spawned_processes(saved, tmp_path):
    """With all stages, in processes that have nothing of their parent's."""
    code = """
import json, multiprocessing, sys, spacy
from signs import answers
if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    texts = json.loads(sys.argv[1])
    for path in sys.argv[2:]:
        nlp = spacy.load(path)
        expected = [answers(nlp(text)) for text in texts]
        assert [answers(doc) for doc in nlp.pipe(texts, n_process=2, batch_size=5)] == expected
    print("equal")
"""
    (tmp_path / "script.py").write_text(code)
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests" / "trust")])}
    command = [sys.executable, tmp_path / "script.py", json.dumps(TEXTS), saved()]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=200)
    assert done.stdout.strip() == "equal", done.stderr


def at_once(work, n=3):
    """Run a function in forked processes at the same moment; return what they return."""
    context = multiprocessing.get_context("fork")
    ready, queue = context.Barrier(n), context.Queue()

    def child(number):
        ready.wait()
        queue.put((number, work(number)))

    children = [context.Process(target=child, args=(number,)) for number in range(n)]
    for each in children:
        each.start()
    found = dict(queue.get(timeout=100) for _ in children)
    for each in children:
        each.join(60)
    assert [each.exitcode for each in children] == [0] * n
    return [found[number] for number in range(n)]


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("state", ["absent", "damaged"])
def test_builds_into_one_cache(files, cache, state):
    expected = alone(make_pipeline(files / "signs.obo"))
    (entry,) = cache.iterdir()
    if state == "damaged":
        (entry / "rows.safetensors").write_bytes(b"")
    else:
        cache.rename(cache.with_name("other"))
    assert at_once(lambda number: alone(make_pipeline(files / "signs.obo"))) == [expected] * 3
    assert [path.name for path in cache.iterdir()] == [entry.name]
    assert alone(make_pipeline(files / "signs.obo")) == expected


class Shouting:
    """Answers with what it was asked last; writes down each question."""

    id = "shouting"
    usage = Usage()

    def __init__(self, log):
        self.log = log

    def generate(self, prompts):
        with open(self.log, "a", encoding="utf-8") as log:
            log.writelines(f"{json.dumps(prompt.text)}\n" for prompt in prompts)
        return [f"{prompt.text.split()[-1]} ache" for prompt in prompts]

    def choose(self, prompts, answers):
        raise NotImplementedError

    def to_disk(self, path):
        path.mkdir(parents=True, exist_ok=True)

    def from_disk(self, path):
        return self


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_runs_on_one_cache_of_answers(files, tmp_path):
    registry.ontolink_llms.register("test.Shouting.v1", func=Shouting)

    def linked(place):
        log = tmp_path / f"{place}.log"
        llm = {"@ontolink_llms": "test.Shouting.v1", "log": str(log)}
        cached = {"@ontolink_llms": "spacy-ontolink.CachedLLM.v1", "llm": llm, "path": str(tmp_path / place)}
        reformulator = {"@ontolink_reformulators": "spacy-ontolink.LLMReformulator.v1", "llm": cached}
        nlp = make_pipeline(files / "signs.obo", reformulator=reformulator, weights=[0.6, 0.2, 0.2])
        return alone(nlp), set(log.read_text("utf-8").splitlines()) if log.exists() else set()

    expected, asked = linked("alone.sqlite")
    assert asked
    found = at_once(lambda number: linked("shared.sqlite"))
    assert [rows for rows, _ in found] == [expected] * 3
    again, _ = linked("shared.sqlite")
    assert again == expected
    lines = (tmp_path / "shared.sqlite.log").read_text("utf-8").splitlines()
    assert set(lines) == asked
    assert len(lines) <= 3 * len(asked)  # the runs had one another's answers, or asked at the same moment
