import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ontolink.prompts.context import centred, count_words
from spacy_ontolink.types import Mention

MENTION = Mention("milk yield", "one two three four ", " five six seven eight")


def test_what_fits_stays_as_it_is():
    assert centred(MENTION, 50) is MENTION


def test_both_sides_get_the_same_room():
    assert centred(MENTION, 6, count_words) == Mention("milk yield", "three four ", " five six")
    assert centred(MENTION, 27) == Mention("milk yield", "four ", " five six")


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("a ", " b c d e f g h", ("a ", " b c d e f")),
        ("a b c d e f g ", " h", ("c d e f g ", " h")),
        ("", " a b c d e f g h", ("", " a b c d e f")),
        ("a b c d e f g h ", "", ("c d e f g h ", "")),
    ],
)
def test_what_one_side_does_not_need_goes_to_the_other(left, right, expected):
    cut = centred(Mention("milk yield", left, right), 8, count_words)
    assert (cut.left, cut.right) == expected


def test_the_mention_is_never_cut():
    assert centred(MENTION, 3) == centred(MENTION, 0) == Mention("milk yield")
    assert centred(Mention("x " * 700), 5, count_words).text == "x " * 700


def test_words_are_not_cut_unless_their_script_has_no_spaces():
    assert centred(Mention("x", "longword ", " longword"), 5) == Mention("x")
    assert centred(Mention("x", "日本語の", "症状です"), 5) == Mention("x", "語の", "症状")


def test_lengths_need_not_add_up():
    def tokens(text):  # a tokenizer that has a token more for a long text, and one around every text
        return 1 + len(text.split()) + len(text) // 20

    for budget in range(15):
        cut = centred(MENTION, budget, tokens)
        assert tokens(cut.left + cut.text + cut.right) <= budget or cut == Mention("milk yield")


@given(st.text(max_size=40), st.text(max_size=10), st.text(max_size=40), st.integers(0, 60))
def test_the_whole_fits_is_a_window_and_is_stable(left, text, right, budget):
    mention = Mention(text, left, right)
    cut = centred(mention, budget)
    assert cut.text == text and left.endswith(cut.left) and right.startswith(cut.right)
    assert len(cut.left + text + cut.right) <= max(budget, len(text))
    assert centred(cut, budget) == cut
