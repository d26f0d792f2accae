import pickle

import numpy as np
import pytest

from spacy_ontolink.errors import ConfigError, StateError
from spacy_ontolink.files import write_checked_json
from spacy_ontolink.reformulate import make_llm_reformulator
from spacy_ontolink.types import LLM, Mention, Reformulation, Reformulator, Usage


class Scripted:
    """Answers by what is in the prompt, in whichever tone; notes the prompts."""

    id = "scripted"
    usage = Usage()

    def __init__(self, names=None, broader=None):
        self.names, self.broader, self.prompts = names or {}, broader or {}, []

    def generate(self, prompts):
        self.prompts += prompts
        return [self._answer(prompt.text) for prompt in prompts]

    def _answer(self, text):
        answers = self.broader if "broader" in text else self.names
        return next((answer for words, answer in answers.items() if words in text), "I'm sorry.")

    def choose(self, prompts, answers):
        return np.zeros((len(prompts), len(answers)), np.float32)

    def to_disk(self, path):
        path.mkdir()
        (path / "id").write_text(self.id)

    def from_disk(self, path):
        self.id = (path / "id").read_text()
        return self


@pytest.fixture
def llm():
    return Scripted(
        {
            "cows had a BF": "The standard name is **body fat percentage**.",
            "term in question: milk yield": "milk yield",
        },
        {"cows had a BF": "<think>hm</think>1. body composition trait", "term in question: milk yield": "milk yield"},
    )


BF = Mention("BF", "The cows had a ", " of 12.")


def test_two_questions_a_mention(llm):
    assert isinstance(llm, LLM)
    reformulator = make_llm_reformulator(llm, domain="livestock")
    assert isinstance(reformulator, Reformulator)
    assert reformulator.reformulate([BF]) == [Reformulation("body fat percentage", "body composition trait")]
    assert len(llm.prompts) == 2
    for prompt in llm.prompts:
        assert "The cows had a BF of 12." in prompt.text and "livestock" in prompt.system
    assert reformulator.reformulate([]) == []


def test_equal_mentions_are_asked_once(llm):
    text = "BF " * 1000
    mentions = [Mention("BF", text[: 3 * place], text[3 * place + 2 :]) for place in range(1000)]
    answers = make_llm_reformulator(llm).reformulate([*mentions, BF, BF, Mention(" BF\n", "The cows had a", "of 12.")])
    assert len(answers) == 1003
    assert answers[-3:] == [Reformulation("body fat percentage", "body composition trait")] * 3
    assert len(llm.prompts) == 2 * 2


def test_another_sentence_is_another_question(llm):
    first, second = make_llm_reformulator(llm).reformulate([BF, Mention("BF", "She had stopped ", ".")])
    assert first.standard_name == "body fat percentage" and second == Reformulation()


def test_blank_mentions_are_not_asked(llm):
    assert make_llm_reformulator(llm).reformulate([Mention(""), Mention(" \n", "a", "b")]) == [Reformulation()] * 2
    assert llm.prompts == []


def test_nothing_is_broader_than_itself(llm):
    assert make_llm_reformulator(llm).reformulate([Mention("milk yield")]) == [Reformulation("milk yield", "")]


def test_what_is_of_no_use_is_counted_and_told_once(llm, caplog):
    reformulator = make_llm_reformulator(llm)
    mentions = [BF, Mention("milk yield"), Mention("xyz"), Mention("zyx")]
    assert reformulator.reformulate(mentions)[2:] == [Reformulation()] * 2
    assert "2 of 4 answers (50%) are no use as a standard name" in caplog.text
    assert "3 of 4 answers (75%) are no use as a hypernym" in caplog.text
    reformulator.reformulate([Mention("abc")])
    assert len(caplog.records) == 2
    assert reformulator.answers == {"standard_name": 5, "hypernym": 5}
    assert reformulator.unusable == {"standard_name": 3, "hypernym": 4}


def test_a_failed_item_falls_back_alone(llm):
    llm.names["xyz"] = None
    answers = make_llm_reformulator(llm).reformulate([BF, Mention("xyz")])
    assert [answer.standard_name for answer in answers] == ["body fat percentage", ""]


def test_too_many_words(llm):
    assert make_llm_reformulator(llm, max_words=2).reformulate([BF]) == [Reformulation()]


def test_long_sentences_are_cut_around_the_mention(llm):
    make_llm_reformulator(llm).reformulate([Mention("BF", "left " * 5000, " right" * 5000)])
    words = llm.prompts[0].text.split()
    assert words.count("left") + words.count("right") == 199 and words.count("left") in (99, 100)


def test_bad_settings():
    for setting, value in [("domain", " "), ("max_words", 0)]:
        with pytest.raises(ConfigError, match=f"{setting} = "):
            make_llm_reformulator(Scripted(), **{setting: value})
    with pytest.raises(ConfigError, match="'llm' must be a LLM"):
        make_llm_reformulator("gpt")
    with pytest.raises(ConfigError, match="prompt 'standard_nam' cannot be read"):
        make_llm_reformulator(Scripted(), standard_name="standard_nam")


def test_an_own_prompt_is_saved_with_the_pipeline(llm, tmp_path):
    own = tmp_path / "mine.txt"
    own.write_text("[user]\nName $mention as in: $context")
    reformulator = make_llm_reformulator(llm, standard_name=str(own))
    llm.id = "trained"
    reformulator.to_disk(tmp_path / "saved")
    expected = reformulator.reformulate([BF])
    own.unlink()
    assert str(tmp_path) not in (tmp_path / "saved" / "prompts.json").read_text()

    other = make_llm_reformulator(Scripted(llm.names, llm.broader), standard_name="./mine.txt")  # as configs are saved
    with pytest.raises(ConfigError, match=r"mine\.txt"):
        other.reformulate([BF])
    assert other.from_disk(tmp_path / "saved") is other
    assert other.reformulate([BF]) == expected and other.id == reformulator.id
    assert other.llm.prompts[0].text == "Name BF as in: The cows had a BF of 12."
    other.to_disk(tmp_path / "again")
    assert (tmp_path / "again" / "prompts.json").read_text() == (tmp_path / "saved" / "prompts.json").read_text()
    assert pickle.loads(pickle.dumps(other)).reformulate([BF]) == expected


@pytest.mark.parametrize(
    "damage",
    [
        lambda file: file.write_text(""),
        lambda file: file.write_text(file.read_text().replace("$domain", "$mention", 1)),
        lambda file: write_checked_json(file, {}),
        lambda file: write_checked_json(file, {"standard_name": 1}),
        lambda file: write_checked_json(file, {"standard_name": {"name": "x", "text": ""}}),
    ],
)
def test_a_damaged_folder_is_named(llm, tmp_path, damage):
    reformulator = make_llm_reformulator(llm)
    reformulator.to_disk(tmp_path / "saved")
    damage(tmp_path / "saved" / "prompts.json")
    with pytest.raises(StateError, match=r"prompts\.json is damaged"):
        reformulator.from_disk(tmp_path / "saved")
