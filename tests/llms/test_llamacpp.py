import ctypes
import importlib.machinery
import os
import pickle
import subprocess
import sys
import types
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

from spacy_ontolink.errors import ConfigError, LLMError, MissingExtraError
from spacy_ontolink.llms.llamacpp import BLOCK, make_llamacpp_llm
from spacy_ontolink.types import LLM, Prompt, Usage

VOCABULARY, END = 128, 3
TEMPLATE = "a template"


class Llama:
    """One token a letter; the next token is the successor of the last one, until "e", which ends."""

    made: ClassVar = []
    recurrent = False

    def __init__(self, **settings):
        if "broken" in settings["model_path"]:
            raise ValueError("Failed to load model")
        self.settings = settings
        self.metadata = {"tokenizer.chat_template": TEMPLATE} if "chat" in settings["model_path"] else {}
        self.input_ids, self.n_tokens, self.read = np.zeros(settings["n_ctx"], np.intc), 0, []
        self.ctx, self.model = self, None
        Llama.made.append(self)

    def tokenize(self, text, add_bos, special):
        assert special
        return [1] * add_bos + list(text)

    def detokenize(self, tokens, special=False):
        return bytes(tokens)

    def token_bos(self):
        return 1

    def token_eos(self):
        return END

    def n_vocab(self):
        return VOCABULARY

    def reset(self):
        self.n_tokens = 0

    def eval(self, tokens):
        if ord("!") in tokens:
            raise RuntimeError("llama_decode returned 1")
        self.input_ids[self.n_tokens : self.n_tokens + len(tokens)] = tokens
        self.n_tokens += len(tokens)
        self.read.append(len(tokens))

    def logits(self):
        last = int(self.input_ids[self.n_tokens - 1])
        scores = np.full(VOCABULARY, -last / 50, np.float32)
        scores[END if last == ord("e") else (last + 1) % VOCABULARY] = 5.0
        if last == ord("?"):
            scores[:] = np.nan
        self.kept = np.ascontiguousarray(scores)
        return self.kept.ctypes.data_as(ctypes.POINTER(ctypes.c_float))


def remove(llama, sequence, first, last):
    assert (sequence, last) == (-1, -1)
    assert first <= llama.n_tokens
    return not Llama.recurrent


class Formatter:
    def __init__(self, *, template, eos_token, bos_token):
        assert template == TEMPLATE
        self.begin, self.end = bos_token, eos_token

    def __call__(self, *, messages, enable_thinking):
        assert enable_thinking is False
        if messages[0]["role"] == "system":
            raise ValueError("System role not supported")
        return SimpleNamespace(prompt="".join(f"{self.begin}{m['role']}:{m['content']}{self.end}" for m in messages))


@pytest.fixture
def fake_llama(monkeypatch):
    module = types.ModuleType("llama_cpp")
    module.__spec__ = importlib.machinery.ModuleSpec("llama_cpp", None)
    module.Llama = Llama
    module.llama_model_get_vocab = lambda model: None
    module.llama_vocab_is_eog = lambda vocabulary, token: token == END
    module.llama_get_memory = lambda context: context
    module.llama_memory_seq_rm = remove
    module.llama_get_logits_ith = lambda context, place: context.logits()
    chat = types.ModuleType("llama_cpp.llama_chat_format")
    chat.Jinja2ChatFormatter = Formatter
    monkeypatch.setitem(sys.modules, "llama_cpp", module)
    monkeypatch.setitem(sys.modules, "llama_cpp.llama_chat_format", chat)
    monkeypatch.setattr(Llama, "made", [])
    monkeypatch.setattr(Llama, "recurrent", False)


@pytest.fixture
def file(tmp_path, fake_llama):
    made = tmp_path / "tiny.gguf"
    made.write_bytes(b"GGUF weights")
    return made


def by_hand(last, answer):
    llama = Llama(model_path="", n_ctx=1)
    llama.input_ids[0], llama.n_tokens = ord(last), 1
    logits = np.ctypeslib.as_array(llama.logits(), (VOCABULARY,)).astype(float)
    return logits[ord(answer)] - np.log(np.exp(logits).sum())


def test_it_is_a_greedy_llm(file):
    llm = make_llamacpp_llm(str(file), n_ctx=100, n_threads=2, max_new_tokens=3, seed=5, n_gpu_layers=-1)
    assert isinstance(llm, LLM)
    assert llm.generate([Prompt("a"), Prompt("xc", frame=("", "")), Prompt("a"), Prompt("m", system="s")]) == [
        "bcd",
        "de",
        "bcd",
        "nop",
    ]
    (llama,) = Llama.made
    settings = {name: llama.settings[name] for name in ("n_ctx", "n_threads", "seed", "n_gpu_layers", "verbose")}
    assert settings == {"n_ctx": 100, "n_threads": 2, "seed": 5, "n_gpu_layers": -1, "verbose": False}
    assert llama.settings["swa_full"] is True
    assert llm.usage == Usage(calls=3, prompt_tokens=2 + 2 + 5, completion_tokens=3 + 2 + 3)


def test_choose_is_a_softmax_over_the_vocabulary(file):
    scores = make_llamacpp_llm(str(file)).choose([Prompt("xa", frame=("", "")), Prompt("e")], ["b", "z"])
    np.testing.assert_allclose(
        scores, [[by_hand("a", "b"), by_hand("a", "z")], [by_hand("e", "b"), by_hand("e", "z")]], rtol=1e-5
    )


def test_what_prompts_share_is_read_once_in_whole_blocks(file):
    llm = make_llamacpp_llm(str(file))
    prompts = [Prompt("c" * 80 + last, frame=("", "")) for last in "zabz"]
    scores = llm.choose(prompts, ["d"])
    (llama,) = Llama.made
    kept = 80 - 80 % BLOCK
    assert llama.read == [81, 81 - kept, 81 - kept]
    np.testing.assert_allclose(scores[:, 0], [by_hand(last, "d") for last in "zabz"], rtol=1e-5)
    assert llm.usage.calls == 3


def test_a_recurrent_model_reads_all_anew(file, monkeypatch):
    monkeypatch.setattr(Llama, "recurrent", True)
    llm = make_llamacpp_llm(str(file))
    scores = llm.choose([Prompt("c" * 80 + last, frame=("", "")) for last in "ab"], ["d"])
    assert Llama.made[0].read == [81, 81]
    np.testing.assert_allclose(scores[:, 0], [by_hand(last, "d") for last in "ab"], rtol=1e-5)


def test_a_failing_prompt_costs_itself_only(file, caplog):
    llm = make_llamacpp_llm(str(file))
    assert llm.generate([Prompt("!"), Prompt("d"), Prompt("?")]) == [None, "e", None]
    scores = llm.choose([Prompt("!"), Prompt("d"), Prompt("?")], ["e"])
    assert np.isnan(scores[:, 0]).tolist() == [True, False, True]
    assert llm.usage.failed == 4
    assert "llama_decode returned 1" in caplog.text
    assert "not numbers" in caplog.text


def test_an_answer_must_be_a_single_token(file):
    with pytest.raises(LLMError, match="'yes' is 3 tokens"):
        make_llamacpp_llm(str(file)).choose([Prompt("a")], ["yes"])


def test_the_chat_template_of_the_file(tmp_path, fake_llama):
    (tmp_path / "chat.gguf").write_bytes(b"GGUF")
    coder = make_llamacpp_llm(str(tmp_path / "chat.gguf")).coder
    assert bytes(coder.chat("S", "T")) == b"\x01user:S\n\nT\x03"
    assert bytes(coder.chat("", "T")) == b"\x01user:T\x03"


def test_without_one_texts_are_read_as_they_are(file):
    coder = make_llamacpp_llm(str(file)).coder
    assert bytes(coder.chat("S", "T")) == b"\x01S\n\nT"
    assert bytes(coder.tokens("T")) == b"T"


def test_prompts_leave_room_for_the_answer(file):
    llm = make_llamacpp_llm(str(file), n_ctx=40, max_new_tokens=10)
    assert llm.generate([Prompt("long " * 100 + "a")]) == ["bcde"]
    assert sum(Llama.made[0].read) <= 30 + 10


def test_a_process_of_its_own_loads_a_model_of_its_own_with_one_thread(file, monkeypatch):
    llm = make_llamacpp_llm(str(file), n_threads=8)
    llm.generate([Prompt("a")])
    copy = pickle.loads(pickle.dumps(llm))
    monkeypatch.setattr(os, "getpid", lambda: -5)
    for other in (llm, copy):
        assert other.generate([Prompt("a")]) == ["bcde"]
    assert [llama.settings["n_threads"] for llama in Llama.made] == [8, 1, 1]


def test_saved_and_opened(file, tmp_path):
    llm = make_llamacpp_llm(str(file))
    assert llm.id.startswith("llamacpp:gguf@")
    llm.to_disk(tmp_path / "saved")
    file.unlink()
    opened = make_llamacpp_llm(str(file)).from_disk(tmp_path / "saved")
    assert opened.id == llm.id
    assert opened.generate([Prompt("a")]) == ["bcde"]
    assert Llama.made[0].settings["model_path"] == str(tmp_path / "saved" / "model" / "model" / "tiny.gguf")


@pytest.mark.parametrize("setting", [{"n_ctx": 65}, {"n_threads": 0}, {"max_new_tokens": 0}, {"n_gpu_layers": -2}])
def test_senseless_settings(setting, fake_llama):
    with pytest.raises(ConfigError, match=next(iter(setting))):
        make_llamacpp_llm("tiny.gguf", **setting)


def test_files_that_are_no_models(tmp_path, fake_llama):
    with pytest.raises(ConfigError, match="No GGUF model"):
        make_llamacpp_llm(str(tmp_path / "none.gguf")).generate([Prompt("a")])
    (tmp_path / "broken.gguf").write_bytes(b"GGUF")
    with pytest.raises(ConfigError, match="Failed to load model"):
        make_llamacpp_llm(str(tmp_path / "broken.gguf")).generate([Prompt("a")])


def test_it_needs_llama_cpp(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"spacy-ontolink\[llamacpp\]"):
        make_llamacpp_llm("tiny.gguf")


@pytest.fixture
def gemma():
    """A real model; this one continues texts and was not taught to answer."""
    pytest.importorskip("llama_cpp")
    path = os.environ.get("ONTOLINK_GGUF")
    if not path:
        pytest.skip("set ONTOLINK_GGUF to the file that benchmarks/weights.py --model gemma writes")
    return path


CONTEXT = "Growth hormone raised milk yield in dairy cows during the first weeks of lactation. " * 5
QUESTIONS = [Prompt(f"{CONTEXT}\nIs '{name}' milk yield? Answer:") for name in ("milk yield", "egg number", "body fat")]


@pytest.mark.weights
def test_real_weights_generate(gemma):
    llm = make_llamacpp_llm(gemma, n_threads=1, max_new_tokens=12)
    prompts = [Prompt("The capital of France is"), Prompt("One, two, three, four,", system="Let us count.")]
    first = llm.generate(prompts)
    assert " five" in first[1]
    assert llm.generate(prompts[::-1]) == first[::-1]
    assert llm.usage.calls == 4


@pytest.mark.weights
def test_real_weights_score_the_same_with_and_without_what_was_read_before(gemma):
    llm = make_llamacpp_llm(gemma, n_threads=1)
    scores = llm.choose(QUESTIONS, [" yes", " no"])
    for prompt, row in zip(QUESTIONS, scores, strict=True):
        llm.engine[0].reset()
        np.testing.assert_allclose(llm.choose([prompt], [" yes", " no"])[0], row, atol=1e-3)
    likely, unlikely = llm.choose([Prompt("The capital of France is")], [" Paris", " Tuesday"])[0]
    assert unlikely < likely < 0


@pytest.mark.weights
def test_a_real_chat_template(gemma):
    from llama_cpp import Llama as RealLlama

    from spacy_ontolink.llms.gguf import GgufCoder

    llama = RealLlama(model_path=gemma, vocab_only=True, verbose=False)
    llama.metadata["tokenizer.chat_template"] = (
        "{{ bos_token }}{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system role') }}"
        "{% endif %}<start_of_turn>{{ m.role }}\n{{ m.content }}<end_of_turn>\n{% endfor %}<start_of_turn>model\n"
    )
    ids = GgufCoder(llama).chat("Be brief.", "What is milk yield?")
    assert ids[:2] == [llama.token_bos(), *llama.tokenize(b"<start_of_turn>", add_bos=False, special=True)]
    assert b"Be brief.\n\nWhat is milk yield?" in llama.detokenize(ids, special=True)


FORKED = """
import os, sys
from spacy_ontolink.llms.llamacpp import make_llamacpp_llm
from spacy_ontolink.types import Prompt
llm = make_llamacpp_llm(sys.argv[1], n_threads=2)
prompts = [Prompt("The capital of France is"), Prompt("One, two,")]
expected = llm.choose(prompts, [" Paris", " three"])
child = os.fork()
if not child:
    os._exit(0 if abs(llm.choose(prompts, [" Paris", " three"]) - expected).max() < 0.5 else 3)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.weights
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_scores_after_its_parent_did(gemma):
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FORKED, gemma], timeout=120, check=False)
    assert done.returncode == 0
