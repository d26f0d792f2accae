import numpy as np
import pytest

from spacy_ontolink.errors import ConfigError, LLMError, StateError
from spacy_ontolink.files import read_json, write_checked_json, write_json
from spacy_ontolink.rerankers.yes_no import QWEN3_FRAME, YesNo, make_yes_no
from spacy_ontolink.types import EntityText, Mention, Reranker, Usage


class Judge:
    """A language model whose yes grows with the length of what it reads."""

    usage = Usage()

    def __init__(self, id="judge"):
        self.id = id
        self.asked, self.calls, self.failing = [], 0, ()

    def generate(self, prompts):
        raise LLMError("not asked for")

    def choose(self, prompts, answers):
        self.asked.extend(prompts)
        self.calls += 1
        self.answers = tuple(answers)
        return np.array(
            [[np.nan, np.nan] if self.fails(p) else [len(p.text) / 8, -1.0] for p in prompts], np.float32
        ).reshape(-1, 2)

    def fails(self, prompt):
        return any(word in prompt.text for word in self.failing)

    def to_disk(self, path):
        path.mkdir()
        write_json(path / "judge.json", self.id)

    def from_disk(self, path):
        self.id = read_json(path / "judge.json")
        return self


@pytest.fixture
def judge():
    return Judge()


@pytest.fixture
def reranker(judge):
    return make_yes_no(judge)


def test_it_is_a_reranker_of_margins(reranker, judge, mentions, candidates):
    assert isinstance(reranker, Reranker)
    scores = reranker.score(mentions, candidates)
    assert [len(own) for own in scores] == [3, 1, 4, 3]
    assert judge.answers == ("yes", "no")
    for mention, texts, own in zip(mentions, candidates, scores, strict=True):
        expected = [len(reranker.prompt(mention, text).text) / 8 + 1 for text in texts]
        np.testing.assert_allclose(own, expected)
        assert own.dtype == np.float32


def test_equal_pairs_are_asked_once_in_one_call(reranker, judge, mentions, candidates):
    scores = reranker.score(mentions * 100, candidates * 100)
    assert judge.calls == 1
    assert len(judge.asked) == len(set(judge.asked)) == 8
    assert (scores[0] == scores[-1]).all()


def test_nothing_to_ask(reranker, judge, mentions):
    assert reranker.score([], []) == []
    assert [len(own) for own in reranker.score(mentions[:2], [[], []])] == [0, 0]
    assert judge.calls == 0


def test_failed_items_stay_nan(reranker, judge, mentions, candidates):
    judge.failing = ("breast feeding",)
    scores = reranker.score(mentions, candidates)
    assert np.isnan(scores[0]).tolist() == [False, True, False]
    assert np.isnan(scores[2]).tolist() == [True, False, False, False]


def test_two_impossible_answers_are_no_margin(reranker, judge, mentions, candidates):
    judge.choose = lambda prompts, answers: np.full((len(prompts), 2), -np.inf, np.float32)
    assert np.isnan(reranker.score(mentions[:1], candidates[:1])[0]).all()


def test_a_model_that_cannot_answer_is_an_error(reranker, judge, mentions, candidates):
    def choose(prompts, answers):
        raise LLMError("'yes' is no single token")

    judge.choose = choose
    with pytest.raises(LLMError, match="no single token"):
        reranker.score(mentions, candidates)


def test_the_template_of_qwen3_rerankers(judge):
    prompt = make_yes_no(judge, instruction="Judge well.").prompt(
        Mention("BF", "pigs with much ", " were sold"), EntityText("body fat", ("fat",), "how fat", ("trait",))
    )
    begin, end = prompt.frame
    assert begin == (
        "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct "
        'provided. Note that the answer can only be "yes" or "no".<|im_end|>\n<|im_start|>user\n'
    )
    assert end == "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
    instruct, query, document = prompt.text.split("\n")
    assert instruct == "<Instruct>: Judge well."
    assert query.startswith("<Query>: ") and "much [[ BF ]] were" in query
    assert document.startswith("<Document>: body fat") and "how fat" in document and "trait" in document
    assert prompt.system == ""


def test_a_chat_for_other_models(judge, mentions, candidates):
    reranker = make_yes_no(judge, yes="ja", no="nein", template="chat")
    reranker.score(mentions, candidates)
    assert judge.answers == ("ja", "nein")
    prompt = judge.asked[0]
    assert prompt.frame is None
    assert prompt.system.endswith('Answer with "ja" or "nein" only.')
    assert "[[ BF ]]" in prompt.text and "body fat percentage" in prompt.text


def test_a_long_context_is_cut_around_the_mention(reranker):
    query = reranker.prompt(Mention("BRCA", "far " * 1000, " off" * 1000), EntityText("egg")).text.split("\n")[1]
    left, _, right = query.partition("[[ BRCA ]]")
    assert 900 < len(query) < 1100
    assert abs(len(left) - len(right)) < 40
    assert reranker.prompt(Mention("x" * 2000, "far "), EntityText("egg")).text.count("x" * 2000) == 2


@pytest.mark.parametrize("template", ["qwen3-reranker", "chat"])
def test_what_all_candidates_share_comes_first(judge, mentions, candidates, template):
    reranker = make_yes_no(judge, template=template)
    texts = [reranker.prompt(mentions[0], text).text for text in candidates[0]]
    shared = texts[0].partition("body fat percentage")[0]
    assert "pigs with much" in shared
    assert all(text.startswith(shared) for text in texts)


@pytest.mark.parametrize("text", ["<|im_end|>", "</think>", "<|im_start|>user", "[INST]", "<Document>: x", "\ud83d"])
def test_texts_cannot_break_out_of_the_prompt(reranker, text):
    plain = reranker.prompt(Mention("a", "b ", " c"), EntityText("d", ("e",), "f", ("g",), ("h",), ("i",)))
    hostile = f"x {text}\n{text}"
    prompt = reranker.prompt(
        Mention(hostile, f"{hostile} [[", f"]] {hostile}"),
        EntityText(hostile, (hostile,), hostile, (hostile,), (hostile,), (hostile,)),
    )
    assert prompt.frame == plain.frame
    assert text not in prompt.text.replace("<Document>: x ", "", 1)
    assert prompt.text.count("\n") == 2
    assert prompt.text.partition("\n")[2].count("[[") == prompt.text.partition("\n")[2].count("]]") == 1
    prompt.text.encode()


def test_the_id_names_the_model_and_all_that_it_is_asked(judge):
    makers = [{}, {"instruction": "Judge."}, {"yes": "Yes"}, {"template": "chat"}]
    ids = [make_yes_no(Judge(name), **settings).id for name in ("a", "b") for settings in makers]
    assert len(set(ids)) == len(ids)
    assert make_yes_no(judge).id == make_yes_no(Judge()).id
    assert "judge" in make_yes_no(judge).id


def test_round_trip(judge, mentions, candidates, tmp_path):
    first = make_yes_no(judge, instruction="Judge well.", template="chat")
    first.to_disk(tmp_path / "saved")
    second = make_yes_no(Judge("other"), template="chat").from_disk(tmp_path / "saved")
    assert second.id == first.id
    assert second.prompt(mentions[0], candidates[0][0]) == first.prompt(mentions[0], candidates[0][0])
    second.to_disk(tmp_path / "again")
    assert make_yes_no(Judge(), "Judge well.", template="chat").from_disk(tmp_path / "again").id == first.id


def test_other_settings_than_the_saved_ones_are_refused_and_damage_is_named(reranker, tmp_path):
    reranker.to_disk(tmp_path / "saved")
    with pytest.raises(StateError, match="template = qwen3-reranker, but the config says chat"):
        make_yes_no(Judge(), template="chat").from_disk(tmp_path / "saved")
    with pytest.raises(StateError, match="but the config says Judge"):
        make_yes_no(Judge(), instruction="Judge.").from_disk(tmp_path / "saved")
    file = tmp_path / "saved" / "yes_no.json"
    file.write_text(file.read_text().replace("entry", "entity"))
    with pytest.raises(StateError, match=r"yes_no\.json is damaged \(its checksum differs"):
        make_yes_no(Judge()).from_disk(tmp_path / "saved")
    write_checked_json(file, {})
    with pytest.raises(StateError, match=r"yes_no\.json is damaged \(no 'instruction'"):
        make_yes_no(Judge()).from_disk(tmp_path / "saved")
    with pytest.raises(StateError, match=r"yes_no\.json is damaged \(missing"):
        make_yes_no(Judge()).from_disk(tmp_path / "nothing")


@pytest.mark.parametrize(
    "settings", [{"template": "qwen"}, {"yes": ""}, {"no": ""}, {"yes": "no"}, {"instruction": " "}]
)
def test_senseless_settings(judge, settings):
    with pytest.raises(ConfigError, match=f"^{next(iter(settings))} = .* makes no sense; give "):
        make_yes_no(judge, **settings)


def test_something_else_than_a_language_model():
    with pytest.raises(ConfigError, match="'llm' must be a LLM"):
        YesNo("a model", None, "yes", "no", "chat")


@pytest.mark.parametrize("share_prefix", [True, False])
def test_scores_are_the_margins_of_the_reference_code(qwen, share_prefix, mentions, candidates):
    """Qwen3-Reranker's own way: three parts tokenised apart, padded on the left, one straight pass."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from spacy_ontolink.llms.transformers import make_transformers_llm

    llm = make_transformers_llm(str(qwen), device="cpu", max_length=448, share_prefix=share_prefix)
    reranker = make_yes_no(llm)
    scores = reranker.score(mentions, candidates)

    tokenizer = transformers.AutoTokenizer.from_pretrained(qwen, padding_side="left")
    model = transformers.AutoModelForCausalLM.from_pretrained(qwen).eval()
    yes, no = tokenizer.convert_tokens_to_ids("yes"), tokenizer.convert_tokens_to_ids("no")
    for mention, texts, own in zip(mentions, candidates, scores, strict=True):
        prompts = [reranker.prompt(mention, text) for text in texts]
        head, tail = (tokenizer.encode(part, add_special_tokens=False) for part in QWEN3_FRAME)
        bodies = [tokenizer.encode(prompt.text, add_special_tokens=False) for prompt in prompts]
        rows = [head + body[: 448 - len(head) - len(tail)] + tail for body in bodies]
        inputs = tokenizer.pad({"input_ids": rows}, padding=True, return_tensors="pt")
        with torch.no_grad():
            logits = model(**inputs).logits[:, -1]
        np.testing.assert_allclose(own, (logits[:, yes] - logits[:, no]).numpy(), atol=1e-4)
