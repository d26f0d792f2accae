"""Rerankers learn, score the same once saved and opened again, and lose nothing when their training is killed."""

import json
import runpy
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tiny_models import save_model

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("peft")

from spacy_ontolink.errors import ConfigError, DataError, LLMError  # noqa: E402
from spacy_ontolink.llms.transformers import make_transformers_llm  # noqa: E402
from spacy_ontolink.rerankers.cross_encoder import make_cross_encoder  # noqa: E402
from spacy_ontolink.rerankers.read_and_select import make_read_and_select  # noqa: E402
from spacy_ontolink.rerankers.yes_no import make_yes_no  # noqa: E402
from spacy_ontolink.training.cross_encoders import CrossEncoderTask, ReadAndSelectTask  # noqa: E402
from spacy_ontolink.training.hard_negatives import Negatives  # noqa: E402
from spacy_ontolink.training.loop import LOG, train  # noqa: E402
from spacy_ontolink.training.reranker_data import CandidateSet, Pool  # noqa: E402
from spacy_ontolink.training.reranker_settings import (  # noqa: E402
    CrossEncoderModel,
    ReadAndSelectModel,
    YesNoModel,
)
from spacy_ontolink.training.settings import LoopSettings  # noqa: E402
from spacy_ontolink.training.yes_no import Judgement, YesNoTask  # noqa: E402
from spacy_ontolink.types import EntityText, Mention  # noqa: E402

TESTS = Path(__file__).parents[1]
TEXTS = [EntityText("egg"), EntityText("milk yield", ("my",)), EntityText("body fat", definition="how fat a body is"),
         EntityText("feed"), EntityText("leg")]  # fmt: skip
MENTIONS = [Mention("eggs", "one of the "), Mention("an egg"), Mention("egg", "", " a day"), Mention("hen's egg")]
KINDS = ["cross-encoder", "read-and-select", "yes-no"]
HARD = Negatives(n=3, n_semi_hard=1)
ASKED = {"instruction": "egg?", "template": "chat"}


def describe(numbers, text):
    return [TEXTS[number] for number in numbers]


def pools():
    """Mentions that all mean the first entity, which is not in every pool."""
    numbers = [np.array(own, np.int32) for own in ([1, 0, 2, 3, 4], [3, 2, 1], [0, 4, 3], [2, 4, 1, 0])]
    gold, gold_surface = np.zeros(1, np.int32), np.array([0.9], np.float32)
    surface = [0.95 - 0.1 * np.arange(len(own), dtype=np.float32) for own in numbers]
    weights = np.ones(1, np.float32)
    return [Pool(*row, gold, gold_surface, weights) for row in zip(MENTIONS, numbers, surface, strict=True)]


@pytest.fixture(scope="module")
def bases(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bases")
    rerankers = runpy.run_path(str(TESTS / "rerankers" / "conftest.py"))

    return {
        "cross-encoder": str(rerankers["save_bert"](folder / "bert")),
        "read-and-select": str(rerankers["save_roberta"](folder / "roberta")),
        "yes-no": str(save_model(folder / "qwen", "Qwen3", num_hidden_layers=2)),
    }


@pytest.fixture
def make(bases):
    """Make a task of a kind, and the part of a pipeline that takes what it saves."""

    def run(kind, negatives=HARD, given=None, tick=None, settings=None, **model):
        data = (given or pools(), describe, negatives, settings or loop(kind), tick)
        if kind == "yes-no":
            return YesNoTask(YesNoModel(bases[kind], max_length=400, **(ASKED | model)), *data)
        lengths = {"mention_tokens": 40, "entity_tokens": 40} | model
        if kind == "cross-encoder":
            return CrossEncoderTask(CrossEncoderModel(bases[kind], **lengths), *data)
        return ReadAndSelectTask(ReadAndSelectModel(bases[kind], **lengths), *data)

    return run


@pytest.fixture
def reopen(bases):
    """Open what was trained as a config would."""

    def run(kind, path, base=None):
        if kind == "yes-no":
            adapter = str(path) if base is None else None
            llm = make_transformers_llm(base or bases[kind], adapter=adapter, device="cpu", max_length=400)
            return make_yes_no(llm, **ASKED)
        factory = make_cross_encoder if kind == "cross-encoder" else make_read_and_select
        return factory(str(path), 40, 40, device="cpu")

    return run


def loop(kind="cross-encoder", **given):
    rate = 5e-3 if kind == "yes-no" else 3e-3
    return LoopSettings(
        **{"epochs": 8, "batch_size": 8 if kind == "yes-no" else 4, "learning_rate": rate, "device": "cpu", **given}
    )


def scored(reranker):
    return np.concatenate(reranker.score(MENTIONS, [TEXTS] * len(MENTIONS)))


@pytest.mark.parametrize("kind", KINDS)
def test_learns_and_scores_the_same_when_opened_again(make, reopen, kind, tmp_path):
    task = make(kind, dropout=0.0)
    untrained = scored(task.reranker)
    done = train(task, loop(kind, epochs=12 if kind == "yes-no" else 30), tmp_path / "out")
    losses = [step.loss for step in done.steps]
    assert np.mean(losses[-3:]) < 0.3 * np.mean(losses[:3])
    trained = scored(task.reranker)
    assert np.abs(trained - untrained).max() > 0.1
    assert (trained.reshape(4, 5).argmax(1) == 0).all()
    np.testing.assert_allclose(scored(reopen(kind, tmp_path / "out")), trained, atol=1e-4)
    written = "".join(path.read_text(errors="ignore") for path in (tmp_path / "out").glob("*.json*"))
    assert str(tmp_path.parent) not in written
    assert "/tmp" not in written


@pytest.mark.parametrize("kind", KINDS)
def test_a_stop_changes_nothing(make, kind, tmp_path):
    settings = loop(kind, epochs=2, batch_size=2, checkpoint_minutes=0)
    straight = train(make(kind), settings, tmp_path / "straight")

    def stop(step):
        if step.epoch == 1 and step.step == len(straight.steps) - 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(make(kind), settings, tmp_path / "stopped", report=stop)
    again = train(make(kind), settings, tmp_path / "stopped")
    assert 0 < again.resumed_after < len(straight.steps)
    assert [step.loss for step in again.steps] == [step.loss for step in straight.steps]
    for path in (tmp_path / "straight").iterdir():
        if path.name != LOG:
            assert path.read_bytes() == (tmp_path / "stopped" / path.name).read_bytes()


@pytest.mark.parametrize("kind", KINDS[:2])
def test_cross_entropy_over_a_set(make, kind):
    task = make(kind, dropout=0.0)
    items = [
        CandidateSet(MENTIONS[0], (0, 1, 2), 0.5),
        CandidateSet(MENTIONS[1], (3, 1), 2.0),
        CandidateSet(MENTIONS[2], (2, 4, 1, 0)),
    ]
    scores = task.reranker.score([item.mention for item in items], [describe(item.entities, "") for item in items])
    by_hand = [np.log(np.exp(own).sum()) - own[0] for own in scores]
    task.module.train()
    assert float(task.loss(items).detach()) == pytest.approx(np.average(by_hand, weights=[0.5, 2, 1]), abs=1e-4)


def test_binary_cross_entropy_of_the_margin(make):
    task = make("yes-no")
    items = [Judgement(MENTIONS[0], TEXTS[0], True, 0.25), Judgement(MENTIONS[1], TEXTS[2], False)]
    (first,), (second,) = task.reranker.score([item.mention for item in items], [[item.candidate] for item in items])
    by_hand = [np.log1p(np.exp(-first)), np.log1p(np.exp(second))]
    assert float(task.loss(items).detach()) == pytest.approx(np.average(by_hand, weights=[0.25, 1]), abs=1e-4)
    judged = task.items([CandidateSet(MENTIONS[0], (0, 1, 2), 0.5)])
    assert [(item.right, item.weight) for item in judged] == [(True, 0.5), (False, 0.5), (False, 0.5)]


@pytest.mark.parametrize("template", ["qwen3-reranker", "chat"])
def test_prompts_are_those_of_the_reranker(make, monkeypatch, template):
    task = make("yes-no", template=template, instruction=None)
    trained, scored = [], []
    logits, score = task._causal.logits, task._llm._score
    monkeypatch.setattr(
        task._causal, "logits", lambda prompts, ids: trained.append((prompts, ids)) or logits(prompts, ids)
    )
    monkeypatch.setattr(task._llm, "_score", lambda prompts, ids: scored.append((prompts, ids)) or score(prompts, ids))
    task.loss([Judgement(MENTIONS[0], text, True) for text in TEXTS])
    task.reranker.score(MENTIONS[:1], [TEXTS])
    assert trained == scored


def test_the_adapter_is_of_the_papers_size_and_begins_as_nothing(make, reopen, bases):
    task = make("yes-no")
    config = task.module.peft_config["default"]
    assert (config.r, config.lora_alpha, config.lora_dropout) == (16, 32, 0)
    adapted = {name.split(".")[-1] for name in config.target_modules}
    assert adapted == {"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"}
    assert all("lora_" in name for name, value in task.module.named_parameters() if value.requires_grad)
    np.testing.assert_allclose(scored(task.reranker), scored(reopen("yes-no", "", bases["yes-no"])), atol=1e-5)


def test_merged_and_adapter_score_the_same(make, reopen, bases, tmp_path):
    for merge in (False, True):
        train(make("yes-no", merge=merge), loop("yes-no", epochs=1), tmp_path / str(merge))
    assert {path.name for path in (tmp_path / "False").iterdir()} == {
        "adapter_config.json",
        "adapter_model.safetensors",
        LOG,
    }
    shutil.move(bases["yes-no"], tmp_path / "gone")  # the merged model needs no other
    try:
        merged = scored(reopen("yes-no", "", str(tmp_path / "True")))
    finally:
        shutil.move(tmp_path / "gone", bases["yes-no"])
    adapted = scored(reopen("yes-no", tmp_path / "False"))
    np.testing.assert_allclose(merged, adapted, atol=1e-4)
    assert np.abs(adapted - scored(reopen("yes-no", "", bases["yes-no"]))).max() > 0.05
    config = json.loads((tmp_path / "False" / "adapter_config.json").read_text())
    assert config["base_model_name_or_path"] == "qwen"


@pytest.mark.parametrize("kind", KINDS)
def test_negatives_are_mined_anew_with_the_weights_as_they_are(make, kind):
    told = []
    task = make(kind, Negatives(n=1, n_semi_hard=0), tick=lambda *numbers: told.append(numbers))
    given = task.pools

    def worst():
        names = {text.name: number for number, text in enumerate(TEXTS)}
        found = {}
        for item in task.start_epoch(1):
            if kind != "yes-no":
                found[item.mention] = item.entities[1]
            elif not item.right:
                found[item.mention] = names[item.candidate.name]
        return found

    def expected():
        scores = task.reranker.score([p.mention for p in given], [describe(p.candidates, "") for p in given])
        return {
            p.mention: max((s, n) for s, n in zip(own, p.candidates.tolist(), strict=True) if n)[1]
            for p, own in zip(given, scores, strict=True)
        }

    assert worst() == expected()
    torch.manual_seed(3)
    with torch.no_grad():
        for parameter in task.module.parameters():
            if parameter.requires_grad:
                parameter += 0.5 * torch.randn_like(parameter)
    assert worst() == expected()
    assert told == [(4, 4)] * 2


@pytest.mark.parametrize("kind", KINDS[:2])
def test_a_head_that_has_learned_nothing_takes_the_errors_of_the_surface(make, kind):
    told = []
    task = make(kind, Negatives(n=1, n_semi_hard=0), tick=lambda *numbers: told.append(numbers))
    first = {p.mention: next(n for n in p.candidates.tolist() if n) for p in task.pools}
    assert {item.mention: item.entities[1] for item in task.start_epoch(0)} == first
    assert not told


def test_out_of_memory_while_mining_names_the_setting(make, monkeypatch):
    task = make("cross-encoder")

    def score(mentions, candidates):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(task.reranker, "score", score)
    with pytest.raises(ConfigError, match=r"Lower model\.scoring_batch"):
        task.start_epoch(1)


@pytest.mark.parametrize("kind", KINDS)
def test_epochs_differ_and_repeat(make, kind):
    task = make(kind, Negatives("random", 2, 0))
    first, again, second = (task.start_epoch(epoch) for epoch in (0, 0, 1))
    assert first == again != second
    assert len(first) == (12 if kind == "yes-no" else 4)
    other = make(kind, Negatives("random", 2, 0), settings=loop(seed=1))
    assert other.start_epoch(0) != first


def test_trained_rerankers_can_be_trained_on(make, bases, tmp_path):
    first = make("cross-encoder")
    train(first, loop(epochs=1), tmp_path / "first")
    model = CrossEncoderModel(str(tmp_path / "first"), mention_tokens=40, entity_tokens=40)
    second = CrossEncoderTask(model, pools(), describe, HARD, loop())
    np.testing.assert_allclose(scored(second.reranker), scored(first.reranker), atol=1e-5)
    with pytest.raises(ConfigError, match="not one of this kind"):
        ReadAndSelectTask(
            ReadAndSelectModel(str(tmp_path / "first"), mention_tokens=40, entity_tokens=40),
            pools(), describe, HARD, loop(),
        )  # fmt: skip


def test_dropout_is_that_of_the_settings(make):
    task = make("cross-encoder", dropout=0.35)
    rates = {module.p for module in task.module.modules() if isinstance(module, torch.nn.Dropout)}
    assert rates == {0.35}


def test_bfloat16_trains_too(make, tmp_path):
    for kind in KINDS:
        settings = loop(kind, epochs=1, dtype="bfloat16")
        task = make(kind, settings=settings)
        train(task, settings, tmp_path / kind)
        trained = {parameter.dtype for parameter in task.module.parameters() if parameter.requires_grad}
        assert trained == {torch.float32}


def test_what_cannot_be_trained(make, bases):
    alone = [replace(pool, candidates=pool.gold, surface=pool.gold_surface) for pool in pools()]
    for kind in KINDS:
        with pytest.raises(DataError, match=r"None of the 4 mention\(s\)"):
            make(kind, given=alone)
    with pytest.raises(ConfigError, match="above the 90 tokens"):
        make("cross-encoder", mention_tokens=80)
    with pytest.raises(ConfigError, match="No model folder"):
        CrossEncoderTask(CrossEncoderModel("/nowhere/at/all"), pools(), describe, HARD, loop())
    with pytest.raises(ConfigError, match=r"model\.max_length = 30 makes no sense; give more: "):
        YesNoTask(YesNoModel(bases["yes-no"], max_length=30), pools(), describe, HARD, loop())
    with pytest.raises(LLMError, match="must be one"):
        YesNoTask(YesNoModel(bases["yes-no"], max_length=400, yes="certainly not"), pools(), describe, HARD, loop())


@pytest.mark.parametrize(
    ("model", "wrong"),
    [(YesNoModel, {"rank": 0}), (YesNoModel, {"alpha": 0}), (YesNoModel, {"dropout": 1}),
     (YesNoModel, {"max_length": 0}), (CrossEncoderModel, {"mention_tokens": 3}),
     (ReadAndSelectModel, {"scoring_batch": 0})],
)  # fmt: skip
def test_senseless_settings(model, wrong):
    with pytest.raises(ConfigError, match=rf"model\.{next(iter(wrong))} = "):
        model("base", **wrong)
