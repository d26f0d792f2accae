import pytest

from spacy_ontolink.coordination import coordination


@pytest.mark.parametrize(
    ("text", "before", "after", "parts"),
    [
        ("breast and ovarian cancer", 0, 1, ["breast cancer", "ovarian cancer"]),
        ("brain, breast, and prostate cancer", 0, 1, ["brain cancer", "breast cancer", "prostate cancer"]),
        ("Duchenne/Becker muscular dystrophy", 0, 2, ["Duchenne muscular dystrophy", "Becker muscular dystrophy"]),
        ("deficiency of C6 and C7", 2, 0, ["deficiency of C6", "deficiency of C7"]),
        ("type 1 and/or 2 diabetes", 1, 1, ["type 1 diabetes", "type 2 diabetes"]),
        ("milk & fat yield", 0, 1, ["milk yield", "fat yield"]),
        ("ataxia as well as deafness", 0, 0, ["ataxia", "deafness"]),
    ],
)
def test_parts_share_words(text, before, after, parts):
    found = coordination(text)
    assert [found.part(number, before, after) for number in range(len(found.pieces))] == parts


@pytest.mark.parametrize(
    "text",
    [
        "breast cancer", "Tooth Agenesis, Selective, 6", "band of sand", "orchid", "and", "cancer and", "or/and", "",
        "a, b, c, d, e and f",
    ],
)  # fmt: skip
def test_what_is_not_joined_is_left_alone(text):
    assert coordination(text) is None


def test_a_piece_keeps_a_word_of_its_own():
    found = coordination("breast and ovarian cancer")
    assert (found.most_before, found.most_after) == (0, 1)


def test_the_last_pieces_of_a_passage():
    found = coordination("cases, controls and patients with Duchenne or Becker dystrophy", 2)
    assert found.pieces == (("patients", "with", "Duchenne"), ("Becker", "dystrophy"))
