"""vLLM was not at hand: a module that behaves as its documentation says stands in for it."""

import importlib.machinery
import json
import math
import sys
import types
from types import SimpleNamespace

import numpy as np
import pytest

from spacy_ontolink.errors import ConfigError, LLMError, MissingExtraError
from spacy_ontolink.llms.vllm import make_vllm_llm
from spacy_ontolink.types import LLM, Prompt, Usage


class Tokenizer:
    """One token a letter."""

    chat_template = None
    bos_token_id = None

    def __call__(self, text, **_):
        return {"input_ids": [ord(letter) for letter in text]}

    def decode(self, tokens, **_):
        return "".join(map(chr, tokens))


class Engine:
    """Says "ok", and finds each token as probable as its number says."""

    made = None
    lost = False

    def __init__(self, **settings):
        if "broken" in settings["model"]:
            raise ValueError("no such architecture")
        self.settings, self.calls = settings, []
        Engine.made = self

    def get_tokenizer(self):
        return Tokenizer()

    def generate(self, prompts, sampling_params, *, use_tqdm, lora_request):
        assert not use_tqdm
        if any(prompt["prompt_token_ids"] == [ord("!")] for prompt in prompts):
            raise ValueError("a prompt that the engine refuses")
        self.calls.append((prompts, sampling_params, lora_request))
        return [SimpleNamespace(outputs=[self.answer(params)]) for params in sampling_params]

    def answer(self, params):
        if params.allowed_token_ids is None:
            return SimpleNamespace(text="ok", token_ids=[1, 2], logprobs=None)
        (token,) = params.allowed_token_ids
        reported = {} if self.lost else {token: SimpleNamespace(logprob=-token / 100)}
        return SimpleNamespace(text=chr(token), token_ids=[token], logprobs=[reported])


class SamplingParams:
    def __init__(self, *, temperature, seed, max_tokens, logprobs=None, allowed_token_ids=None, stop_token_ids=None):
        assert temperature == 0.0
        self.seed, self.max_tokens, self.logprobs = seed, max_tokens, logprobs
        self.allowed_token_ids, self.stop_token_ids = allowed_token_ids, stop_token_ids


@pytest.fixture(autouse=True)
def fake_vllm(monkeypatch):
    lora = SimpleNamespace(LoRARequest=lambda name, number, path: (name, number, path))
    for name, content in {
        "vllm": {"LLM": Engine, "SamplingParams": SamplingParams},
        "vllm.lora": {},
        "vllm.lora.request": vars(lora),
    }.items():
        module = types.ModuleType(name)
        module.__spec__ = importlib.machinery.ModuleSpec(name, None)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(Engine, "lost", False)


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "model"
    made.mkdir()
    (made / "config.json").write_text('{"model_type": "toy", "max_position_embeddings": 2000}')
    (made / "model.safetensors").write_bytes(b"weights")
    (made / "generation_config.json").write_text('{"eos_token_id": [7, 8], "temperature": 0.6}')
    return made


def test_it_is_an_llm_that_generates(folder):
    llm = make_vllm_llm(str(folder), max_new_tokens=5, max_length=100, gpu_memory_utilization=0.5, seed=3)
    assert isinstance(llm, LLM)
    assert llm.generate([Prompt("ab"), Prompt("cd", system="s"), Prompt("ab")]) == ["ok"] * 3
    ((prompts, params, lora),) = Engine.made.calls
    assert [Tokenizer().decode(prompt["prompt_token_ids"]) for prompt in prompts] == ["ab", "s\n\ncd"]
    assert (params[0].seed, params[0].max_tokens, params[0].stop_token_ids, lora) == (3, 5, [7, 8], None)
    assert llm.usage == Usage(calls=2, prompt_tokens=7, completion_tokens=4)
    settings = Engine.made.settings
    assert settings["max_model_len"] == 105
    assert settings["gpu_memory_utilization"] == 0.5
    assert settings["enable_prefix_caching"] is True
    assert settings["logprobs_mode"] == "raw_logprobs"
    assert settings["trust_remote_code"] is False
    assert "enable_lora" not in settings


def test_each_answer_is_forced_so_that_none_is_missing(folder):
    llm = make_vllm_llm(str(folder))
    scores = llm.choose([Prompt("ab", frame=("<", ">")), Prompt("cd", frame=("<", ">"))], ["y", "n"])
    np.testing.assert_allclose(scores, [[-1.21, -1.10]] * 2, rtol=1e-6)
    ((prompts, params, _),) = Engine.made.calls
    assert [Tokenizer().decode(prompt["prompt_token_ids"]) for prompt in prompts] == ["<ab>", "<ab>", "<cd>", "<cd>"]
    assert [chr(param.allowed_token_ids[0]) for param in params] == ["y", "n", "y", "n"]
    assert {(param.max_tokens, param.logprobs) for param in params} == {(1, 0)}
    assert llm.usage.calls == 2


def test_a_missing_answer_is_an_error(folder, monkeypatch):
    monkeypatch.setattr(Engine, "lost", True)
    with pytest.raises(LLMError, match="vLLM did not report a probability for the answer 'y'"):
        make_vllm_llm(str(folder)).choose([Prompt("ab")], ["y"])


def test_a_refused_prompt_costs_itself_only(folder):
    llm = make_vllm_llm(str(folder))
    assert llm.generate([Prompt("ab"), Prompt("!"), Prompt("cd")]) == ["ok", None, "ok"]
    scores = llm.choose([Prompt("!"), Prompt("ab")], ["y"])
    assert [math.isnan(score) for score in scores[:, 0]] == [True, False]
    assert llm.usage.failed == 2


def test_an_adapter(folder, tmp_path):
    lora = tmp_path / "lora"
    lora.mkdir()
    (lora / "adapter_model.safetensors").write_bytes(b"more")
    (lora / "adapter_config.json").write_text(json.dumps({"r": 20}))
    llm = make_vllm_llm(str(folder), adapter=str(lora))
    llm.generate([Prompt("ab")])
    assert Engine.made.settings["enable_lora"] is True
    assert Engine.made.settings["max_lora_rank"] == 32
    assert Engine.made.calls[0][2] == ("adapter", 1, str(lora))
    assert llm.id != make_vllm_llm(str(folder)).id
    (lora / "adapter_config.json").write_text(json.dumps({"r": 1000}))
    with pytest.raises(ConfigError, match="rank 1000"):
        make_vllm_llm(str(folder), adapter=str(lora)).generate([Prompt("ab")])


def test_a_model_that_vllm_cannot_load(folder):
    folder = folder.rename(folder.with_name("broken"))
    with pytest.raises(ConfigError, match="no such architecture"):
        make_vllm_llm(str(folder)).generate([Prompt("ab")])


def test_saved_and_opened(folder, tmp_path):
    llm = make_vllm_llm(str(folder), thinking=True)
    assert llm.id.endswith(":1024:64:thinking")
    llm.to_disk(tmp_path / "saved")
    opened = make_vllm_llm("./model", thinking=True).from_disk(tmp_path / "saved")
    assert opened.id == llm.id
    opened.generate([Prompt("ab")])
    assert Engine.made.settings["model"] == str(tmp_path / "saved" / "model" / "model")


@pytest.mark.parametrize("share", [0, 1.5])
def test_senseless_settings(share):
    with pytest.raises(ConfigError, match="gpu_memory_utilization"):
        make_vllm_llm("model", gpu_memory_utilization=share)


def test_it_needs_vllm(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"spacy-ontolink\[vllm\]"):
        make_vllm_llm("model")
