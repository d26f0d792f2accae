import sys
from types import SimpleNamespace

from spacy_ontolink.components.forking import use_one_thread


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
