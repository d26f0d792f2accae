import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ontolink.encoders.ngrams import ngrams, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A-T", "at"),
        ("A.T. locus", "at locus"),
        ("BRCA1", "brca 1"),
        ("Tooth Agenesis, Selective, 6", "tooth agenesis selective 6"),
        ("X-linked", "x linked"),
        ("type 1 2", "type 1 2"),
        ("β-carotene", "beta carotene"),
        ("...", ""),
    ],
)
def test_words(text, expected):
    assert words(text) == expected


def counted_by_hand(text, size, beginnings):
    grams = []
    for word in text.split():
        padded = f" {word} "
        grams += [padded[i : i + size] for i in range(len(padded) - size + 1)]
        grams += [f" {word}"[: 1 + n] for n in beginnings if len(word) >= n]
    return sorted(grams)


@pytest.mark.parametrize(("size", "beginnings"), [(3, ()), (3, (1, 4)), (4, (2,)), (5, (5, 1))])
@given(texts=st.lists(st.text("abc é ", max_size=12), max_size=6))
def test_the_same_ngrams_as_by_hand(texts, size, beginnings):
    texts = [" ".join(text.split()) for text in texts]
    codes, owners = ngrams(texts, size, beginnings)
    names = {}  # code -> n-gram, learnt from single n-grams, must be one to one
    for number, text in enumerate(texts):
        mine = codes[owners == number].tolist()
        expected = counted_by_hand(text, size, beginnings)
        assert len(mine) == len(expected)
        names.setdefault(tuple(sorted(mine)), expected)
        assert names[tuple(sorted(mine))] == expected


def test_equal_ngrams_of_different_texts_have_one_code():
    codes, owners = ngrams(["fat", "fat cow", ""], 3, (1,))
    assert set(codes[owners == 0]) < set(codes[owners == 1])
    assert not (owners == 2).any()
    assert codes.dtype == np.uint64
