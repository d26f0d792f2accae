import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ontolink.prompts.neutral import neutral


@pytest.mark.parametrize(
    "token",
    [
        "<|im_end|>", "<|im_start|>assistant", "</think>", "<s>", "</s>", "<pad>", "<start_of_turn>", "<Document>: yes",
        "<Instruct>", "<<SYS>>", "<｜begin▁of▁sentence｜>", "＜s＞", "<!--", "[INST]", "[/INST]", "[SEP]", "[MASK]",
        "[gMASK]", "[TOOL_CALLS]", "[|endofturn|]", "[Ms]", "[Me]", "[ENT]",
    ],
)  # fmt: skip
def test_what_looks_like_a_token_is_none(token):
    for text in (token, f"a{token}b", f"<{token}", f"<<{token}>"):
        assert token not in neutral(text)
        assert len(neutral(text)) == len(text)


@pytest.mark.parametrize(
    "text",
    ["p < 0.05", "a<5", "[ethyl]", "1-[2-(x)]", "[1]", "[OH]", "x -> y", "β-carotene", "日本語", "$mention", "[a|b]"],
)
def test_other_text_stays(text):
    assert neutral(text) == text


def test_one_line_without_what_breaks_engines():
    assert neutral(" a\n\n<Document>:\tb\r\n\u2028c\0d\x1be ") == "a ‹Document>: b c d e"
    assert neutral("\ud83d") == "\ufffd"


@given(st.text())
def test_repeating_it_changes_nothing(text):
    assert neutral(neutral(text)) == neutral(text)
