import numpy as np
import pytest

from spacy_ontolink.encoders.folding import fold
from spacy_ontolink.encoders.lexical import make_lexical_encoder
from spacy_ontolink.encoders.ngrams import words
from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.types import Entity, Mention


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Anaemia, haemolytic", "anemia hemolytic"),
        ("tumours of the oesophagus", "tumors of the esophagus"),
        ("generalised hypotonia", "Generalized hypotonia"),
        ("immunisation with sulphur", "immunization with sulfur"),
        ("muscle fibre", "Muscle fiber"),
        ("type II", "type 2"),
        ("type IIb", "type 2B"),
        ("the seventh component", "the VII component"),
        ("collagen XI", "collagen 11"),
        ("ninth nerve", "9 nerve"),
    ],
)
def test_spellings_of_one_name_are_one(one, other):
    assert words(one) == words(other)


@pytest.mark.parametrize("text", ["x linked", "hour of four", "chromosome x", "disease", "mixed", "civil"])
def test_other_words_stay(text):
    assert fold(text) == text


@pytest.mark.parametrize("text", ["haemorrhage type ii", "first and seventh", "colour vision", "12 and 2 a"])
def test_folding_again_changes_nothing(text):
    assert fold(fold(text)) == fold(text)


def test_a_mention_in_another_spelling_has_the_vector_of_the_name():
    kb = KnowledgeBase.from_entities([Entity("T:1", "Tumour of type III"), Entity("T:2", "Lysis syndrome")])
    encoder = make_lexical_encoder()
    encoder.fit(kb)
    rows = encoder.encode_entities(kb).vectors.blocks[0].toarray()
    mention = encoder.encode_mentions([Mention("tumor of type 3")]).blocks[0].toarray()
    np.testing.assert_allclose(mention[0], rows[0], rtol=1e-6)
    assert encoder.id.startswith("folded-lexical:")  # vectors of words that were not folded are another encoder's
