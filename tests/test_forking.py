import subprocess
import sys
from types import SimpleNamespace

from spacy_ontolink.forking import use_one_thread

SEARCH_THEN_FORK = """
import multiprocessing
import faiss
import numpy as np
from spacy_ontolink.forking import guard_forks

guard_forks()
rows = np.random.default_rng(0).random((20000, 64), np.float32)
index = faiss.IndexFlatIP(64)
index.add(rows)
index.search(rows[:200], 5)
child = multiprocessing.get_context("fork").Process(target=index.search, args=(rows[:200], 5), daemon=True)
child.start()
child.join(60)
print(child.exitcode)
"""


def test_limits_what_is_loaded_and_loads_nothing(monkeypatch):
    calls = []
    monkeypatch.setitem(sys.modules, "faiss", SimpleNamespace(omp_set_num_threads=calls.append))
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    use_one_thread()
    assert calls == [1]
    assert "torch" not in sys.modules
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(set_num_threads=calls.append))
    monkeypatch.setitem(sys.modules, "faiss", None)
    use_one_thread()
    assert calls == [1, 1]


def test_a_forked_child_can_search_after_its_parent_did():
    command = [sys.executable, "-c", SEARCH_THEN_FORK]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.stdout.strip() == "0", done.stderr
