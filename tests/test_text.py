import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ontolink.text import normalise


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("β-carotene level", "Beta Carotene Level"),
        ("beta-carotene level", "beta–carotene  level"),
        ("ﬁbre", "fibre"),
        ("cafe\u0301", "café"),
        ("milk\n\tyield", "Milk yield"),
        ("so\u00adft hy\u200bphen", "soft hyphen"),
        ("level\u00a0", "level"),
        ("a\\, b\\: c", "a, b: c"),
        ("O\u2019Brien", "O'Brien"),
        ("STRASSE", "straße"),
        ("ＩＬ２", "il2"),
        ("minus −1", "minus -1"),
        ("\ud83d", "\ufffd"),
    ],
)
def test_what_should_not_make_two_names_differ(one, other):
    assert normalise(one) == normalise(other)


@pytest.mark.parametrize(("one", "other"), [("CD4+", "CD4-"), ("IL2", "IL3"), ("α", "β"), ("", "a")])
def test_what_keeps_names_apart(one, other):
    assert normalise(one) != normalise(other)


@given(st.text() | st.text("a\\,n β-"))
def test_normalising_again_changes_nothing(text):
    once = normalise(text)
    assert normalise(once) == once


@pytest.mark.parametrize("text", ["", " ", "\n\t", "\u200b"])
def test_blank_text_becomes_empty(text):
    assert normalise(text) == ""
