"""The benchmark for a GPU runs on a CPU with a tiny shape."""

import importlib.util
import json
import random
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "gpu.py"


@pytest.fixture(scope="module")
def gpu():
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("benchmark_gpu", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_scores_are_the_same_with_and_without_sharing(gpu):
    model = gpu.build(gpu.TINY, "cpu", torch.float32)
    (case,) = gpu.cases(1, 5, gpu.TINY["vocab_size"], 0.1)
    plain, shared = gpu.score_plain(model, case, 2), gpu.score_shared(model, case, 2)
    assert plain.shape == (5,)
    assert plain.std() > 0.01
    torch.testing.assert_close(plain, shared, rtol=1e-3, atol=1e-4)


def test_scores_depend_on_what_is_shared(gpu):
    model = gpu.build(gpu.TINY, "cpu", torch.float32)
    (case,) = gpu.cases(1, 5, gpu.TINY["vocab_size"], 0.1)
    other = (random.Random(1).sample(case[0], len(case[0])), case[1])
    assert (gpu.score_shared(model, case, 5) - gpu.score_shared(model, other, 5)).abs().max() > 0.001


def test_it_runs_and_writes_its_rows(gpu, tmp_path, monkeypatch, capsys):
    pytest.importorskip("peft")
    out = tmp_path / "gpu.json"
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(sys, "argv", ["gpu.py", "--tiny", "--output", str(out)])
    gpu.main()
    rows = json.loads(out.read_text("utf-8"))["rows"]
    assert [row["what"] for row in rows] == [
        "loading", "greatest difference of scores", "plain", "prefix shared", "LoRA training",
    ]  # fmt: skip
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == rows
    assert all(row["mentions"] == 3 for row in rows[2:4])
    assert rows[4]["steps"] == 2


def test_without_a_gpu_it_says_so(gpu, monkeypatch, capsys):
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    monkeypatch.setattr(sys, "argv", ["gpu.py"])
    with pytest.raises(SystemExit):
        gpu.main()
    assert "no GPU here" in capsys.readouterr().err


def test_a_part_stops_when_its_time_is_over(gpu):
    assert len(list(gpu.Clock(60).rounds(0.0, 10))) <= 1
    assert not list(gpu.Clock(-1).rounds(5.0, 10))
    assert len(list(gpu.Clock(60).rounds(5.0, 3))) == 3
