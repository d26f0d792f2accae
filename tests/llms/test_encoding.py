import pytest

from spacy_ontolink.errors import LLMError
from spacy_ontolink.llms.encoding import GAP, PromptError, answer_ids, encode_prompt, render_chat
from spacy_ontolink.types import Prompt


class Letters:
    """One token a letter; a chat is "system|text>"."""

    def tokens(self, text):
        return [ord(letter) for letter in text]

    def chat(self, system, text):
        return self.tokens(f"{system}|{text}>")


def encoded(prompt, limit):
    ids, cut = encode_prompt(prompt, Letters(), limit)
    assert len(ids) <= limit
    return "".join(map(chr, ids)), cut


def test_a_frame_stands_around_the_text_and_only_the_text_is_cut():
    prompt = Prompt("abcdef", frame=("<<", ">>"))
    assert encoded(prompt, 10) == ("<<abcdef>>", False)
    assert encoded(prompt, 9) == ("<<abcde>>", True)
    assert encoded(prompt, 5) == ("<<a>>", True)
    assert encoded(Prompt("", frame=("<<", ">>")), 4) == ("<<>>", False)


def test_a_chat_loses_the_middle_of_its_text():
    prompt = Prompt("instruction " + 50 * "long " + "question?", system="be brief")
    text, cut = encoded(prompt, 60)
    assert cut
    assert text.startswith("be brief|instruction ")
    assert text.endswith(" question?>")
    assert GAP in text
    assert len(text) == 60
    assert encoded(prompt, 1000) == (f"be brief|{prompt.text}>", False)


@pytest.mark.parametrize("prompt", [Prompt("abc", frame=("<<", ">>")), Prompt("abcdefgh", system="much too long")])
def test_what_is_never_cut_must_fit(prompt):
    with pytest.raises(PromptError, match="of the 4 in max_length"):
        encode_prompt(prompt, Letters(), 4)


def test_a_frame_alone_must_fit():
    with pytest.raises(PromptError):
        encode_prompt(Prompt("", frame=("<<", ">>")), Letters(), 3)


def test_lone_surrogates_are_replaced():
    assert encoded(Prompt("a\ud83db", system="\udc00"), 20)[0] == "?|a?b>"
    assert encoded(Prompt("a\ud83db", frame=("\ud83d", "")), 20)[0] == "?a?b"


def test_answers_are_single_tokens():
    assert answer_ids(["y", "n"], Letters().tokens, "letters") == [121, 110]
    with pytest.raises(LLMError, match="'yes' is 3 tokens of the model letters"):
        answer_ids(["y", "yes"], Letters().tokens, "letters")
    with pytest.raises(LLMError, match="'' is 0 tokens"):
        answer_ids([""], Letters().tokens, "letters")


def joined(messages):
    return " ".join(f"{message['role']}:{message['content']}" for message in messages)


def test_a_system_turn_where_there_is_one():
    assert render_chat("S", "T", joined, ()) == "system:S user:T"
    assert render_chat("", "T", joined, ()) == "user:T"


def test_all_in_the_users_turn_where_there_is_none():
    def refusing(messages):
        if messages[0]["role"] == "system":
            raise ValueError("System role not supported")
        return joined(messages)

    def forgetting(messages):
        return joined([message for message in messages if message["role"] == "user"])

    for render in (refusing, forgetting):
        assert render_chat("S", "T", render, (ValueError,)) == "user:S\n\nT"


def test_a_template_that_takes_nothing_is_an_error():
    def broken(messages):
        raise ValueError("no such filter")

    with pytest.raises(LLMError, match="no such filter"):
        render_chat("S", "T", broken, (ValueError,))
    with pytest.raises(LLMError, match="leaves the system text out"):
        render_chat("S", "T", lambda messages: "nothing", ())


def test_a_prompt_of_nothing():
    with pytest.raises(PromptError, match="empty"):
        encode_prompt(Prompt("", frame=("", "")), Letters(), 4)
