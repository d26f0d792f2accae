import numpy as np
import pytest

from spacy_ontolink.encoders.lexical import LexicalEncoder
from spacy_ontolink.indexes.exact import ExactIndex
from spacy_ontolink.space import CandidateScores, EntitySpace, Pooling, Query, encode, retrieve
from spacy_ontolink.types import Mention

QUERIES = [
    Query(Mention("fat percent")),
    Query(Mention("amount of milk"), standard_name=Mention("milk yield"), hypernym=Mention("trait of yield")),
    Query(Mention("BFP"), long_form=Mention("body fat percentage")),
    Query(Mention("milk yield")),
    Query(Mention("")),
]
POOLINGS = [Pooling(), Pooling(names=0.5), Pooling(0.5, 0.3)]
WEIGHTS = [(1.0, 0.0, 0.0), (0.5, 0.5, 0.0), (0.4, 0.3, 0.3)]


def space_of(kb, pooling):
    return EntitySpace.build(kb, LexicalEncoder(), ExactIndex(), pooling)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("own", POOLINGS)
@pytest.mark.parametrize("others", POOLINGS)
def test_scores_are_those_of_a_retrieval_with_that_pooling_and_weights(traits, own, others, weights):
    found = retrieve(space_of(traits, others), QUERIES, len(traits), weights=weights)
    scores = CandidateScores(space_of(traits, own), QUERIES, found.entities, others).mixed(weights)
    np.testing.assert_allclose(scores, found.scores, atol=2e-6)


def test_without_a_pooling_it_is_that_of_the_index(traits):
    space = space_of(traits, Pooling(0.5, 0.3))
    found = retrieve(space, QUERIES, 4)
    scores = CandidateScores(space, QUERIES, found.entities).mixed((1.0, 0.0, 0.0))
    np.testing.assert_allclose(scores, found.scores, atol=2e-6)


def test_candidates_may_stand_in_any_order_with_gaps(traits):
    space = space_of(traits, Pooling())
    candidates = np.array([[4, -1, 1], [-1, -1, -1]], np.int32)
    scores = CandidateScores(space, QUERIES[:2], candidates).mixed((1.0, 0.0, 0.0))
    assert np.isneginf(scores[candidates < 0]).all()
    assert np.isfinite(scores[candidates >= 0]).all()
    turned = CandidateScores(space, QUERIES[:2], candidates[:, ::-1]).mixed((1.0, 0.0, 0.0))
    np.testing.assert_array_equal(turned[:, ::-1], scores)


def test_what_is_encoded_already_is_not_encoded_again(traits, monkeypatch):
    space = space_of(traits, Pooling())
    encoded = encode(space, QUERIES)
    found = retrieve(space, QUERIES, 4, weights=(0.4, 0.3, 0.3))
    monkeypatch.setattr(LexicalEncoder, "encode_mentions", lambda *_: pytest.fail("encoded again"))
    again = retrieve(space, QUERIES, 4, weights=(0.4, 0.3, 0.3), encoded=encoded)
    np.testing.assert_array_equal(again.scores, found.scores)
    assert CandidateScores(space, QUERIES, found.entities, encoded=encoded).mixed((1.0, 0.0, 0.0)).shape == (5, 4)


def test_texts_without_weight_are_not_encoded(traits, monkeypatch):
    space = space_of(traits, Pooling())
    seen = []
    encode_mentions = LexicalEncoder.encode_mentions
    monkeypatch.setattr(
        LexicalEncoder, "encode_mentions", lambda self, texts: seen.extend(texts) or encode_mentions(self, texts)
    )
    retrieve(space, QUERIES, 4)
    assert Mention("trait of yield") not in seen


def test_repooled_equals_built_so_and_encodes_nothing(traits, monkeypatch):
    built = space_of(traits, Pooling(0.5, 0.3))
    space = space_of(traits, Pooling(1.0, 0.0))
    with monkeypatch.context() as patch:
        patch.setattr(LexicalEncoder, "encode_entities", lambda *_: pytest.fail("encoded again"))
        other = space.repooled(Pooling(0.5, 0.3), ExactIndex())
    assert other.plain is space.plain
    np.testing.assert_array_equal(retrieve(other, QUERIES, 4).scores, retrieve(built, QUERIES, 4).scores)
