import logging
import os
import pickle
import shutil
import subprocess
import sys

import numpy as np
import pytest
from tiny_models import NEEDS_TORCH

from spacy_ontolink import errors
from spacy_ontolink.errors import ConfigError, LLMError, MissingExtraError, StateError
from spacy_ontolink.llms.transformers import make_transformers_llm
from spacy_ontolink.types import LLM, Prompt, Usage

FRAME = (
    "<|im_start|>system\njudge with yes or no<|im_end|>\n<|im_start|>user\n",
    "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n",
)
PROMPTS = [
    Prompt(
        f"mention {'milk yield ' * (12 + mention)}is the candidate {'egg ' * candidate}number {candidate}", frame=FRAME
    )
    for mention in range(3)
    for candidate in range(6)
]
ANSWERS = ["yes", "no"]


def make(folder, **settings):
    return make_transformers_llm(str(folder), **({"device": "cpu", "max_length": 300, "max_new_tokens": 8} | settings))


@pytest.fixture(scope="module")
def llm(qwen):
    return make(qwen)


@pytest.fixture(scope="module")
def plain(qwen):
    return make(qwen, share_prefix=False)


def reference(folder, prompts, max_length):
    """Qwen3-Reranker's way: three parts tokenised apart, the body cut, padding on the left, one forward pass."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="left")
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    prefix, suffix = (tokenizer.encode(part, add_special_tokens=False) for part in FRAME)
    bodies = tokenizer(
        [prompt.text for prompt in prompts],
        padding=False,
        truncation="longest_first",
        return_attention_mask=False,
        max_length=max_length - len(prefix) - len(suffix),
    )
    ids = [prefix + body + suffix for body in bodies["input_ids"]]
    inputs = tokenizer.pad({"input_ids": ids}, padding=True, return_tensors="pt")
    with torch.no_grad():
        logits = model(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"]).logits[:, -1]
    yes, no = (tokenizer.convert_tokens_to_ids(answer) for answer in ANSWERS)
    return ids, torch.log_softmax(logits, -1)[:, [yes, no]].numpy()


@pytest.mark.parametrize("share_prefix", [True, False])
@pytest.mark.parametrize("max_length", [300, 60])
def test_scores_are_those_of_the_reference_code(qwen, share_prefix, max_length, monkeypatch):
    llm = make(qwen, share_prefix=share_prefix, max_length=max_length)
    ids, expected = reference(qwen, PROMPTS, max_length)
    seen = []
    score = llm._score
    monkeypatch.setattr(llm, "_score", lambda prompts, answers: seen.extend(prompts) or score(prompts, answers))
    scores = llm.choose(PROMPTS, ANSWERS)
    assert set(seen) == set(map(tuple, ids))
    np.testing.assert_allclose(scores, expected, atol=1e-4)
    np.testing.assert_allclose(scores[:, 0] - scores[:, 1], expected[:, 0] - expected[:, 1], atol=1e-4)


def test_it_is_an_llm(llm):
    assert isinstance(llm, LLM)


@pytest.mark.parametrize(
    ("kind", "settings", "told"),
    [
        ("Llama", {}, ""),
        ("Mistral", {"sliding_window": 512}, ""),
        ("Mistral", {"sliding_window": 64}, "attention window of 64"),
        ("Gemma3Text", {"sliding_window": 512}, ""),
        ("Gemma3Text", {"sliding_window": 64}, "attention window of 64"),
        ("Gemma3Text", {"sliding_window": 64, "layer_types": ["full_attention"] * 3}, ""),
        ("GPT2", {}, ""),
        ("Mamba", {"state_size": 4, "expand": 2, "conv_kernel": 2}, "another state than keys and values"),
    ],
)
def test_other_models_score_the_same_with_and_without_sharing(kind, settings, told, tmp_path, caplog, save_model):
    folder = save_model(tmp_path, kind, **settings)
    with caplog.at_level(logging.WARNING, "spacy_ontolink"):
        shared = make(folder).choose(PROMPTS, ANSWERS)
    alone = make(folder, share_prefix=False, batch_size=1).choose(PROMPTS, ANSWERS)
    np.testing.assert_allclose(shared, alone, atol=1e-3)
    assert np.unique(shared[:, 0]).size > 1
    warnings = [record.message for record in caplog.records if "without sharing" in record.message]
    assert len(warnings) == bool(told)
    assert all(told in warning for warning in warnings)


def test_prefixes_are_computed_once(qwen, monkeypatch):
    llm = make(qwen)
    model = llm.engine[0]
    widths = []
    forward = model._forward
    monkeypatch.setattr(
        model, "_forward", lambda rows, *rest, **more: widths.extend(map(len, rows)) or forward(rows, *rest, **more)
    )
    llm.choose(PROMPTS, ANSWERS)
    tried = 4 + 3 + 1 + 7 + 5  # the model's cache is tried once
    whole = llm.usage.prompt_tokens
    assert sum(widths) - tried < whole / 2
    widths.clear()
    llm.choose(PROMPTS, ANSWERS)
    assert sum(widths) < whole / 2


def test_a_cache_that_is_not_used_is_noticed(qwen, plain, monkeypatch, caplog):
    llm = make(qwen)
    monkeypatch.setattr(llm.engine[0], "read", lambda prefix: None)  # no cache: suffixes alone
    with caplog.at_level(logging.WARNING, "spacy_ontolink"):
        scores = llm.choose(PROMPTS, ANSWERS)
    assert "does not continue a prefix" in caplog.text
    np.testing.assert_allclose(scores, plain.choose(PROMPTS, ANSWERS), atol=1e-4)


def test_order_batches_and_repetition_change_nothing(qwen, llm):
    scores = llm.choose(PROMPTS, ANSWERS)
    order = np.random.default_rng(0).permutation(len(PROMPTS))
    np.testing.assert_allclose(llm.choose([PROMPTS[place] for place in order], ANSWERS), scores[order], atol=1e-4)
    np.testing.assert_allclose(make(qwen, batch_size=2).choose(PROMPTS, ANSWERS), scores, atol=1e-4)
    np.testing.assert_allclose([llm.choose([prompt], ANSWERS)[0] for prompt in PROMPTS[:3]], scores[:3], atol=1e-4)


def test_equal_prompts_are_computed_once(qwen):
    llm = make(qwen)
    scores = llm.choose([PROMPTS[0]] * 50 + [PROMPTS[1]], ANSWERS)
    assert llm.usage.calls == 2
    assert (scores[:50] == scores[0]).all()
    assert llm.generate([Prompt("egg")] * 9)[0] is not None
    assert llm.usage.calls == 3


def test_a_chat_can_be_asked_to_choose(llm):
    scores = llm.choose([Prompt("milk", system="answer with yes or no"), Prompt("milk")], ANSWERS)
    assert (scores < 0).all()
    assert (scores[0] != scores[1]).all()


@NEEDS_TORCH
def test_nothing_to_do_loads_nothing(tmp_path):
    llm = make(tmp_path / "none")
    assert llm.generate([]) == []
    assert llm.choose([], ANSWERS).shape == (0, 2)
    assert llm.usage == Usage()


def test_an_answer_must_be_a_single_token(llm):
    with pytest.raises(LLMError, match="'perhaps so' is"):
        llm.choose(PROMPTS, ["yes", "perhaps so"])


def test_greedy_text_is_that_of_transformers(qwen, llm):
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(qwen)
    model = AutoModelForCausalLM.from_pretrained(qwen).eval()
    prompts = [Prompt("milk", system="answer"), Prompt("egg number is the level"), Prompt("milk yield", frame=FRAME)]
    texts = [
        "<|im_start|>system\nanswer<|im_end|>\n<|im_start|>user\nmilk<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n",
        "<|im_start|>user\negg number is the level<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n",
        FRAME[0] + "milk yield" + FRAME[1],
    ]
    for text, made in zip(texts, llm.generate(prompts), strict=True):
        ids = tokenizer(text, return_tensors="pt")["input_ids"]
        with torch.no_grad():
            expected = model.generate(ids, max_new_tokens=8, do_sample=False)[0, ids.shape[1] :]
        assert made == tokenizer.decode(expected, skip_special_tokens=True)


def test_it_stops_at_the_end_token(qwen, monkeypatch):
    llm = make(qwen)
    model = llm.engine[0]
    ((first, *_),) = model.continue_greedily([tuple(llm.coder.chat("", "egg"))], 8)
    monkeypatch.setattr(model.model.generation_config, "eos_token_id", [first])
    assert llm.generate([Prompt("egg"), Prompt("milk yield is the level")])[0] == ""
    assert llm.usage.completion_tokens <= 8


def test_recommended_sampling_is_ignored(qwen, llm, tmp_path):
    shutil.copytree(qwen, tmp_path / "copy")
    (tmp_path / "copy" / "generation_config.json").write_text(
        '{"do_sample": true, "temperature": 5.0, "top_k": 50, "repetition_penalty": 9.0, "eos_token_id": [2, 0]}'
    )
    sampling = make(tmp_path / "copy")
    assert sampling.generate([Prompt("egg")]) == llm.generate([Prompt("egg")])
    assert sampling.engine[0].model.generation_config.eos_token_id == [0, 2]


def test_thinking_is_asked_of_the_template(qwen, llm):
    thinking = make(qwen, thinking=True)
    assert thinking.id == f"{llm.id}:thinking"
    assert "<think>" not in thinking.coder.text(thinking.coder.chat("", "egg"))
    assert "<think>" in llm.coder.text(llm.coder.chat("", "egg"))


def test_without_a_chat_template_texts_are_read_as_they_are(tmp_path, save_model):
    llm = make(save_model(tmp_path, "Qwen3", chat=None))
    assert llm.coder.text(llm.coder.chat("answer", "milk")) == "answer\n\nmilk"
    assert llm.coder.chat("", "milk") == llm.coder.tokens("milk")
    assert isinstance(llm.generate([Prompt("milk", system="answer")])[0], str)


def test_a_template_without_a_system_turn(tmp_path, save_model):
    chat = (
        "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
        "{{ m.role }}:{{ m.content }};{% endfor %}"
    )
    llm = make(save_model(tmp_path, "Qwen3", chat=chat))
    assert llm.coder.text(llm.coder.chat("answer", "milk")) == "user:answer\n\nmilk;"


def test_long_prompts_are_cut_and_it_is_said_once(qwen, caplog):
    llm = make(qwen, max_length=60)
    long = Prompt("what is the level " + "milk yield " * 100 + "answer with yes")
    with caplog.at_level(logging.WARNING, "spacy_ontolink"):
        assert None not in llm.generate([long])
        assert np.isfinite(llm.choose([long, Prompt("egg " * 100, frame=FRAME)], ANSWERS)).all()
    assert caplog.text.count("cut to 60 tokens") == 1


def test_a_prompt_that_cannot_fit_costs_itself_only(qwen, caplog):
    llm = make(qwen, max_length=60)
    prompts = [Prompt("egg"), Prompt("egg", system="milk " * 200), Prompt("egg", frame=("milk " * 200, ""))]
    with caplog.at_level(logging.WARNING, "spacy_ontolink"):
        assert [text is None for text in llm.generate(prompts)] == [False, True, True]
        assert np.isnan(llm.choose(prompts, ANSWERS)).tolist() == [[False] * 2, [True] * 2, [True] * 2]
    assert caplog.text.count("2 prompt(s) failed (PromptError") == 1
    assert llm.usage.failed == 4


def test_an_empty_prompt_and_lone_surrogates(llm):
    empty, odd = Prompt("", frame=("", "")), Prompt("egg \ud83d", frame=FRAME)
    scores = llm.choose([empty, odd, PROMPTS[0]], ANSWERS)
    assert np.isnan(scores[0]).all()
    assert np.isfinite(scores[1:]).all()
    assert [text is None for text in llm.generate([empty, odd])] == [True, False]


def test_short_memory_makes_batches_smaller(qwen, llm, monkeypatch):
    small = make(qwen)
    model = small.engine[0]
    forward = model._forward

    def starved(rows, *rest, **more):
        if len(rows) > 2:
            raise MemoryError
        return forward(rows, *rest, **more)

    monkeypatch.setattr(model, "_forward", starved)
    np.testing.assert_allclose(small.choose(PROMPTS, ANSWERS), llm.choose(PROMPTS, ANSWERS), atol=1e-4)
    assert small.usage.failed == 0


def test_a_prefix_without_memory_is_not_shared(qwen, llm, monkeypatch, caplog):
    small = make(qwen)
    model = small.engine[0]
    assert model.obstacle(10) == ""

    def starved(prefix):
        raise RuntimeError("out of memory")

    monkeypatch.setattr(model, "read", starved)
    with caplog.at_level(logging.WARNING, "spacy_ontolink"):
        np.testing.assert_allclose(small.choose(PROMPTS, ANSWERS), llm.choose(PROMPTS, ANSWERS), atol=1e-4)
    assert caplog.text.count("RuntimeError: out of memory") == 1


def test_scores_that_are_not_numbers_are_failures(qwen, monkeypatch, caplog):
    llm = make(qwen)
    logprobs = llm.engine[0].logprobs

    def spoiled(suffixes, answers, cache, shared):
        scores = logprobs(suffixes, answers, cache, shared)
        scores[0] = np.nan
        return scores

    monkeypatch.setattr(llm.engine[0], "logprobs", spoiled)
    monkeypatch.setattr(llm.engine[0], "_continues", True)
    with caplog.at_level(logging.WARNING, "spacy_ontolink"):
        scores = llm.choose(PROMPTS[:6], ANSWERS)
    assert np.isnan(scores).any(1).sum() == 1
    assert llm.usage.failed == 1
    assert "not numbers" in caplog.text


def test_usage_counts_tokens(qwen):
    llm = make(qwen)
    llm.choose(PROMPTS[:2], ANSWERS)
    lengths = [len(llm.coder.tokens(FRAME[0] + prompt.text + FRAME[1])) for prompt in PROMPTS[:2]]
    assert llm.usage == Usage(calls=2, prompt_tokens=sum(lengths))
    llm.generate([Prompt("egg")])
    assert llm.usage.calls == 3
    assert 0 < llm.usage.completion_tokens <= 8


@pytest.mark.filterwarnings("ignore::FutureWarning")  # peft uses what this version of transformers deprecates
def test_an_adapter_changes_the_answers_and_the_id(qwen, adapter, llm):
    adapted = make(qwen, adapter=str(adapter))
    assert adapted.id != llm.id
    scores = adapted.choose(PROMPTS, ANSWERS)
    assert abs(scores - llm.choose(PROMPTS, ANSWERS)).max() > 0.1

    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    model = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(qwen), adapter).eval()
    ids = torch.tensor([adapted.coder.tokens(FRAME[0] + PROMPTS[0].text + FRAME[1])])
    with torch.no_grad():
        expected = torch.log_softmax(model(input_ids=ids).logits[0, -1], -1)
    np.testing.assert_allclose(scores[0, 0], expected[adapted.coder.tokens("yes")[0]], atol=1e-4)


def test_an_adapter_of_another_model_is_refused(adapter, tmp_path, save_model):
    other = save_model(tmp_path, "Qwen3", num_hidden_layers=4)
    with pytest.raises(ConfigError, match="adapter"):
        make(other, adapter=str(adapter)).choose(PROMPTS, ANSWERS)


def test_an_adapter_needs_peft(qwen, monkeypatch):
    find_spec = errors.importlib.util.find_spec
    monkeypatch.setattr(errors.importlib.util, "find_spec", lambda name: None if name == "peft" else find_spec(name))
    make(qwen)
    with pytest.raises(MissingExtraError, match=r'pip install "spacy-ontolink\[train\]"'):
        make(qwen, adapter="lora")


@NEEDS_TORCH
@pytest.mark.parametrize(
    "setting", [{"batch_size": 0}, {"max_length": 1}, {"max_new_tokens": 0}, {"dtype": "int8"}, {"device": "gpu"}]
)
def test_senseless_settings(setting):
    with pytest.raises(ConfigError, match=next(iter(setting))):
        make("model", **setting)


def test_more_than_the_model_reads(qwen):
    with pytest.raises(ConfigError, match=r"max_length = 510 and max_new_tokens = 8 .* the 512 tokens"):
        make(qwen, max_length=510).choose(PROMPTS, ANSWERS)


def test_a_folder_without_the_models_head(qwen, tmp_path):
    from transformers import AutoModel

    shutil.copytree(qwen, tmp_path / "copy")
    AutoModel.from_pretrained(qwen).save_pretrained(tmp_path / "copy")
    with pytest.raises(ConfigError, match=r"weights are missing, the first is lm_head"):
        make(tmp_path / "copy").choose(PROMPTS, ANSWERS)


def test_bfloat16_is_close(qwen, llm):
    import torch

    low = make(qwen, dtype="bfloat16")
    assert low.engine[0].model.dtype == torch.bfloat16
    np.testing.assert_allclose(low.choose(PROMPTS, ANSWERS), llm.choose(PROMPTS, ANSWERS), atol=0.5)


def test_the_id_needs_no_torch_and_names_no_folder(qwen):
    code = (
        "import sys\nfrom spacy_ontolink.llms.transformers import make_transformers_llm\n"
        "print(make_transformers_llm(sys.argv[1]).id)\nsys.exit('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(qwen)], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("transformers:qwen3-3x32@")
    assert qwen.name not in done.stdout.partition("@")[2]


def test_saved_and_opened(qwen, adapter, tmp_path):
    shutil.copytree(qwen, tmp_path / "model")
    llm = make(tmp_path / "model", adapter=str(adapter))
    scores, id = llm.choose(PROMPTS, ANSWERS), llm.id
    llm.to_disk(tmp_path / "saved")
    shutil.rmtree(tmp_path / "model")
    opened = make("./model", adapter="./adapter").from_disk(tmp_path / "saved")
    assert opened.id == id
    np.testing.assert_array_equal(opened.choose(PROMPTS, ANSWERS), scores)
    opened.to_disk(tmp_path / "again")
    assert make("./model", adapter="./adapter").from_disk(tmp_path / "again").id == id


def test_a_saved_model_is_not_passed_off_as_another(qwen, adapter, tmp_path, save_model):
    make(qwen).to_disk(tmp_path / "saved")
    other = save_model(tmp_path / "other", "Qwen3", seed=1)
    with pytest.raises(StateError, match="the model"):
        make(other).from_disk(tmp_path / "saved")
    with pytest.raises(StateError, match="the parts"):
        make(qwen, adapter=str(adapter)).from_disk(tmp_path / "saved")


def test_a_pickle_holds_no_weights(qwen, llm):
    scores = llm.choose(PROMPTS, ANSWERS)
    stored = pickle.dumps(llm)
    assert len(stored) < 20_000
    np.testing.assert_array_equal(pickle.loads(stored).choose(PROMPTS, ANSWERS), scores)


FORKED = """
import os, sys
import numpy as np
from spacy_ontolink.llms.transformers import make_transformers_llm
from spacy_ontolink.types import Prompt
llm = make_transformers_llm(sys.argv[1], device="cpu", max_length=300)
prompts = [Prompt("milk yield " * 20 + name, frame=("", " answer")) for name in ("egg", "level", "trait")]
expected = llm.choose(prompts, ["yes", "no"])
child = os.fork()
if not child:
    os._exit(0 if np.allclose(llm.choose(prompts, ["yes", "no"]), expected, atol=1e-3) else 3)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_scores_after_its_parent_did(qwen):
    command = [sys.executable, "-W", "ignore", "-c", FORKED, str(qwen)]
    assert subprocess.run(command, timeout=120, check=False).returncode == 0
