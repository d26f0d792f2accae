"""The loop: what it logs, how its rate moves, what it says of failures, and that a kill changes nothing."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from spacy_ontolink.errors import ConfigError, StateError  # noqa: E402
from spacy_ontolink.files import write_tensors  # noqa: E402
from spacy_ontolink.training.log import LOG  # noqa: E402
from spacy_ontolink.training.loop import CHECKPOINT, train  # noqa: E402
from spacy_ontolink.training.settings import LoopSettings  # noqa: E402


class Line:
    """Fits a line with noise of the loop's generator; its items depend on the weights, as mined negatives do."""

    def __init__(self, n=24):
        torch.manual_seed(5)
        self.module = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Dropout(0.2), torch.nn.Linear(4, 1))
        self.n, self.epochs = n, []

    def start_epoch(self, epoch):
        self.epochs.append(epoch)
        shift = float(next(self.module.parameters()).detach().sum()) + float(torch.rand(()))
        order = np.random.default_rng(epoch).permutation(self.n)
        return [(number / self.n, shift) for number in order]

    def loss(self, items):
        inputs = torch.tensor(items, dtype=torch.float32)
        wanted = 3 * inputs[:, :1] + inputs[:, 1:] + 0.1 * torch.randn(len(items), 1)
        return torch.nn.functional.mse_loss(self.module(inputs), wanted)

    def save(self, path):
        path.mkdir()
        write_tensors(path / "model.safetensors", {n: p.detach().numpy() for n, p in self.module.named_parameters()})


class Quiet(Line):
    """The same without any noise, so that it makes no difference how items are split."""

    def __init__(self):
        super().__init__()
        self.module[1].p = 0.0

    def loss(self, items):
        return (self.module(torch.tensor(items, dtype=torch.float32)) ** 2).mean()


def settings(**given):
    return LoopSettings(**{"epochs": 3, "batch_size": 4, "learning_rate": 0.05, "device": "cpu", **given})


def test_learns_and_leaves_a_model_and_its_log(tmp_path):
    seen = []
    done = train(Quiet(), settings(epochs=20), tmp_path / "out", report=seen.append)
    assert seen == done.steps
    assert len(done.steps) == 20 * 6
    assert done.steps[-1].loss < 0.2 * done.steps[0].loss
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"model.safetensors", LOG}
    lines = [json.loads(line) for line in (tmp_path / "out" / LOG).read_text().splitlines()]
    assert lines == [step._asdict() for step in done.steps]
    assert (lines[-1]["epoch"], lines[-1]["items"], lines[-1]["progress"]) == (19, 20 * 24, 1.0)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_same_seed_same_curve_other_seed_another(tmp_path):
    first, again, other = (
        [step.loss for step in train(Line(), settings(seed=seed), tmp_path / str(n)).steps]
        for n, seed in enumerate([0, 0, 1])
    )
    assert first == again
    assert first != other


def test_rate_rises_and_falls():
    plan = settings(learning_rate=1.0, warmup=0.2)
    assert [round(plan.rate(at), 3) for at in (0, 0.1, 0.2, 0.6, 1.0)] == [0, 0.5, 1, 0.5, 0]
    assert [settings(learning_rate=1.0, warmup=0.2, schedule=s).rate(0.6) for s in ("linear", "constant")] == [0.5, 1.0]
    assert settings(warmup=0, learning_rate=1.0).rate(0) == 1.0


def test_accumulated_batches_are_one_step(tmp_path):
    one = train(Quiet(), settings(batch_size=10, epochs=1), tmp_path / "whole").steps
    two = train(Quiet(), settings(batch_size=5, accumulate=2, epochs=1), tmp_path / "parts").steps
    assert [step.loss for step in one] == pytest.approx([step.loss for step in two])
    assert len(one) == len(two) == 3


@pytest.mark.slow
def test_two_processes_are_one_training(tmp_path):
    pytest.importorskip("accelerate")
    alone = train(Quiet(), settings(batch_size=10), tmp_path / "alone").steps
    path = [os.path.dirname(__file__), os.getcwd()]
    code = f"""
        import sys; sys.path[:0] = {path!r}
        from pathlib import Path
        from test_loop import Quiet, settings, train
        train(Quiet(), settings(batch_size=5, checkpoint_minutes=0), Path({str(tmp_path / "both")!r}))
    """
    (tmp_path / "script.py").write_text(textwrap.dedent(code))
    launch = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", "2", str(tmp_path / "script.py")]
    done = subprocess.run(launch, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    both = [json.loads(line) for line in (tmp_path / "both" / LOG).read_text().splitlines()]
    assert [step["loss"] for step in both] == pytest.approx([step.loss for step in alone], rel=1e-4)
    assert {path.name for path in (tmp_path / "both").iterdir()} == {"model.safetensors", LOG}


def test_max_steps_shortens_the_schedule(tmp_path):
    steps = train(Line(), settings(max_steps=5), tmp_path / "out").steps
    assert len(steps) == 5
    assert steps[-1].progress == 1.0
    assert steps[-1].learning_rate < 0.2 * steps[0].learning_rate


def test_frozen_parameters_stay(tmp_path):
    line = Line()
    line.module[0].requires_grad_(False)
    before = line.module[0].weight.clone()
    train(line, settings(), tmp_path / "out")
    assert torch.equal(line.module[0].weight, before)


def test_bfloat16_keeps_weights_in_float32(tmp_path):
    line = Line()
    seen = set()
    line.module[0].register_forward_hook(lambda module, given, made: seen.add(made.dtype))
    train(line, settings(dtype="bfloat16"), tmp_path / "out")
    assert seen == {torch.bfloat16}
    assert {parameter.dtype for parameter in line.module.parameters()} == {torch.float32}


SCRIPT = """
    import sys; sys.path[:0] = {path!r}
    from pathlib import Path
    import test_loop
    from spacy_ontolink.training.loop import train

    def report(step):
        if step.step == {stop}:
            import os, signal
            os.kill(os.getpid(), signal.SIGKILL)

    train(test_loop.Line(), test_loop.settings(checkpoint_minutes={minutes}), Path({out!r}), report=report)
"""


def killed(out, stop, minutes):
    path = [os.path.dirname(__file__), os.getcwd()]
    code = textwrap.dedent(SCRIPT.format(path=path, stop=stop, minutes=minutes, out=str(out)))
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == -signal.SIGKILL, run.stderr
    with (out / LOG).open("a") as log:
        log.write('{"step": 99, "ep')  # a line that the kill cut


def interrupted(out, stop=8, minutes=10, **given):
    def report(step):
        if step.step == stop:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(Line(), settings(checkpoint_minutes=minutes, **given), out, report=report)


@pytest.mark.parametrize(
    ("end", "stop", "minutes", "resumed"),
    [
        pytest.param(killed, 9, 0, 8, id="kill -9"),
        pytest.param(interrupted, 4, 0, 3, id="first epoch"),
        pytest.param(interrupted, 9, 0, 8, id="second epoch"),
        pytest.param(interrupted, 9, 10, 6, id="from an epoch's end"),
        pytest.param(interrupted, 5, 10, 0, id="nothing kept"),
        pytest.param(interrupted, 12, 10, 6, id="last of an epoch"),
        pytest.param(interrupted, 13, 0, 12, id="right after one"),
    ],
)
def test_a_stop_changes_nothing(tmp_path, end, stop, minutes, resumed):
    straight = train(Line(), settings(), tmp_path / "straight")
    out = tmp_path / "stopped"
    end(out, stop, minutes)
    assert not (out / "model.safetensors").exists()
    again = train(Line(), settings(), out)
    assert again.resumed_after == resumed
    untimed = [[step._replace(items_per_second=0) for step in run.steps] for run in (straight, again)]
    assert untimed[0] == untimed[1]
    assert (out / "model.safetensors").read_bytes() == (tmp_path / "straight" / "model.safetensors").read_bytes()
    assert not (out / CHECKPOINT).exists()


def test_checkpoint_of_other_settings_is_refused(tmp_path):
    interrupted(tmp_path)
    with pytest.raises(StateError, match=r"learning_rate = 0\.05 then, 0\.01 now"):
        train(Line(), settings(learning_rate=0.01), tmp_path)
    with pytest.raises(StateError, match=r"data = None then, 'other' now"):
        train(Line(), settings(), tmp_path, facts={"data": "other"})
    assert train(Line(), settings(batch_size=2), tmp_path).resumed_after == 6  # what one changes when memory is short


def test_damaged_checkpoint_is_refused(tmp_path):
    interrupted(tmp_path)
    (tmp_path / CHECKPOINT / "epoch" / "weights.safetensors").write_bytes(b"no")
    with pytest.raises(StateError, match="cannot be used"):
        train(Line(), settings(), tmp_path)


def test_failing_to_save_keeps_the_checkpoint(tmp_path):
    line = Line()
    line.save = lambda path: 1 / 0
    with pytest.raises(ZeroDivisionError):
        train(line, settings(), tmp_path)
    assert train(Line(), settings(), tmp_path).resumed_after == 18


def test_out_of_memory_names_the_setting(tmp_path):
    line = Line()

    def loss(items):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")

    line.loss = loss
    with pytest.raises(
        ConfigError, match=r"batch_size = 4\. Set training\.batch_size = 2 and training\.accumulate = 2"
    ):
        train(line, settings(), tmp_path)
    with pytest.raises(ConfigError, match="Shorten the inputs"):
        train(line, settings(batch_size=1), tmp_path)
    line.loss = lambda items: torch.empty(1 << 60)
    with pytest.raises(ConfigError, match="Out of memory"):
        train(line, settings(), tmp_path)


def test_other_errors_pass(tmp_path):
    line = Line()
    line.loss = lambda items: line.module(torch.zeros(3, 3)).sum()
    with pytest.raises(RuntimeError, match="shapes"):
        train(line, settings(), tmp_path)


def test_loss_that_is_no_number(tmp_path):
    line = Line()
    line.loss = lambda items: next(line.module.parameters()).sum() * float("nan")
    with pytest.raises(ConfigError, match=r"step 1 is nan.*Lower training\.learning_rate"):
        train(line, settings(), tmp_path)


@pytest.mark.parametrize(
    "wrong",
    [{"epochs": 0}, {"learning_rate": 0}, {"warmup": 1}, {"schedule": "steps"}, {"clip": -1}, {"dtype": "half"}],
)
def test_senseless_settings(wrong):
    with pytest.raises(ConfigError, match=rf"training\.{next(iter(wrong))} = "):
        LoopSettings(**wrong)


def test_checkpoints_take_their_time(tmp_path, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    there = []

    def report(step):
        clock[0] += 25
        there.append((tmp_path / CHECKPOINT / "step").exists())

    train(Line(), settings(epochs=1, checkpoint_minutes=1), tmp_path, report=report)
    assert there == [False, False, False, True, True, True]
