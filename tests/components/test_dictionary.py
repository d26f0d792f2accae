import pytest
import spacy

from spacy_ontolink.components.dictionary import DictionaryMatcher
from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.types import Entity, Synonym


@pytest.fixture(scope="module")
def nlp():
    return spacy.blank("en")


@pytest.fixture(scope="module")
def matcher(nlp):
    entities = [
        Entity("T:1", "body fat percentage", (Synonym("fat percentage", "EXACT"), Synonym("BF", "RELATED"))),
        Entity("T:2", "milk yield"),
        Entity("T:3", "β-carotene level"),
        Entity("T:4", "café au lait spot", (Synonym("CAL", "RELATED"), Synonym("may", "RELATED"))),
        Entity("T:5", "fat"),
        Entity("T:6", "2024", (Synonym("12-13", "RELATED"),)),
    ]
    return DictionaryMatcher(KnowledgeBase.from_entities(entities), nlp.Defaults.stop_words)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The Body Fat percentage was high.", ["Body Fat percentage"]),  # the longest, not "fat" in it
        ("fat percentage; fat", ["fat percentage", "fat"]),
        ("milk\n\tyield", ["milk\n\tyield"]),
        ("Beta-carotene level, β carotene level", ["Beta-carotene level", "β carotene level"]),
        ("a cafe\u0301-au-lait spot", ["cafe\u0301-au-lait spot"]),
        ("ca\u00adfé au lait spot", ["ca\u00adfé au lait spot"]),
        ("CAL on the cal", ["CAL"]),  # a short name in capitals is found in capitals only
        ("It may be BF in 2024, ages 12-13.", []),  # stop words, too short, no letter
        ("milking yields", []),
        ("", []),
        (" \n ", []),
        ("\u0645\u0631\u062d\u0628\u0627 milk yield", ["milk yield"]),
    ],
)
def test_names_in_text(nlp, matcher, text, found):
    assert [span.text for span in matcher(nlp(text))] == found


def test_no_match_is_a_part_of_a_word(nlp):
    names = ["interferon", "alpha", "alpha chain", "human interferon"]
    matcher = DictionaryMatcher(KnowledgeBase.from_entities([Entity(f"T:{i}", name) for i, name in enumerate(names)]))
    assert matcher(nlp("Interferonα")) == matcher(nlp("Human interferonα chain")) == []
    assert [span.text for span in matcher(nlp("Interferon-α, α chain"))] == ["Interferon", "α", "α chain"]
    matcher = DictionaryMatcher(KnowledgeBase.from_entities([Entity("T:1", "interferon alpha")]))
    assert [span.text for span in matcher(nlp("Interferonα and interferon-alpha"))] == [
        "Interferonα",
        "interferon-alpha",
    ]


def test_names_of_all_blocks_are_found(nlp, monkeypatch):
    monkeypatch.setattr("spacy_ontolink.components.dictionary._BLOCK", 2)
    names = ["milk yield", "fat", "BFP", "wool length", "tail"]
    matcher = DictionaryMatcher(KnowledgeBase.from_entities([Entity(f"T:{i}", name) for i, name in enumerate(names)]))
    assert [span.text for span in matcher(nlp("tail, wool length, BFP, fat, milk yield"))] == list(reversed(names))


def test_matches_begin_and_end_with_tokens(nlp, matcher):
    doc = spacy.tokens.Doc(nlp.vocab, words=["milk", "yield-", "fat", "percentage"])
    assert [span.text for span in matcher(doc)] == ["fat percentage"]


def test_nothing_useful_in_the_dictionary(nlp):
    matcher = DictionaryMatcher(KnowledgeBase.from_entities([Entity("T:1", "AB")]))
    assert matcher(nlp("AB and more")) == []


def test_a_written_word_is_matched_whole_or_not_at_all(nlp):
    names = ("interferon", "alpha", "tumour necrosis factor alpha")
    kb = KnowledgeBase.from_entities([Entity(f"A:{n}", name) for n, name in enumerate(names)])
    doc = nlp("Interferonα and tumour necrosis factorα, interferon or α.")
    assert [span.text for span in DictionaryMatcher(kb)(doc)] == ["tumour necrosis factorα", "interferon", "α"]


def test_other_texts_are_found_by_the_same_rules(nlp):
    kb = KnowledgeBase.from_entities([Entity("T:1", "milk yield")])
    matcher = DictionaryMatcher(kb, {"may"}, ["milk yield of cows", "LAC", "BF", "may"])
    assert [span.text for span in matcher(nlp("Milk yield of Cows may be LAC or lac; milk yield; BF"))] == [
        "Milk yield of Cows", "LAC", "milk yield"]  # fmt: skip


def test_names_of_entities_that_are_not_allowed_are_not_looked_for(nlp):
    kb = KnowledgeBase.from_entities([Entity("T:1", "acute"), Entity("T:2", "pain", (Synonym("ache", "EXACT"),))])
    matcher = DictionaryMatcher(kb, allowed=kb.mask(prefixes=["T"]) & [kb.number_of(id) == 1 for id in kb])
    assert [span.text for span in matcher(nlp("acute pain, acute ache"))] == ["pain", "ache"]
