import numpy as np
import pytest

from spacy_ontolink.encoders.lexical import make_lexical_encoder
from spacy_ontolink.indexes.exact import make_exact_index
from spacy_ontolink.space import EntitySpace
from spacy_ontolink.training.selection import select
from spacy_ontolink.types import Mention


@pytest.fixture(scope="module")
def space(traits):
    return EntitySpace.build(traits, make_lexical_encoder(), make_exact_index())


def ids(kb, numbers):
    return sorted(kb.ids_of(sorted(numbers)))


def test_a_name_counts_and_a_synonym_does_not(space):
    texts = ["Body-Fat  Percentage", "milk\n yield", "fat percentage", "BF", "MY", "nothing", "", "breast  feeding"]
    mentions = [Mention(text) for text in texts]
    assert ids(space.kb, select(space, mentions).by_name) == ["T:1", "T:2", "X:9"]
    assert select(space, iter(mentions), batch_size=1) == select(space, mentions)


def test_the_best_candidate_of_each_mention(space):
    mentions = [Mention(text) for text in ("yield of milk", "milk yields", "number of egg", "zzz", " ", "MY")]
    selection = select(space, mentions)
    assert ids(space.kb, selection.by_retrieval) == ["T:2", "T:5"]
    assert (selection.n_mentions, selection.unlinked) == (6, 2)


def test_both_in_one_pass(space):
    mentions = [Mention(text) for text in ("milk yield", "Milk yield", "fat percent", "egg yields", "zzz")]
    selection = select(space, iter(mentions), batch_size=2)
    assert ids(space.kb, selection.by_name) == ["T:2"]
    assert ids(space.kb, selection.by_retrieval) == ["T:1", "T:2", "T:5"]
    assert selection.entities.dtype == np.int32 and (np.diff(selection.entities) > 0).all()
    assert selection.facts() == {
        "entities": 7, "mentions": 5, "unlinked": 1, "by_name": 1, "by_retrieval": 3, "both": 1, "selected": 3,
        "by_name_share": 1 / 7, "by_retrieval_share": 3 / 7, "both_share": 1 / 7, "selected_share": 3 / 7,
    }  # fmt: skip
    assert select(space, mentions, batch_size=100) == selection


def test_an_empty_corpus_selects_nothing(space):
    selection = select(space, [])
    assert len(selection.entities) == 0 and selection.facts()["selected_share"] == 0


class Counting:
    """Counts what it encodes."""

    def __init__(self, encoder, uses_context):
        self.encoder, self.uses_context, self.encoded = encoder, uses_context, []

    def __getattr__(self, name):
        return getattr(self.encoder, name)

    def encode_mentions(self, mentions):
        self.encoded += mentions
        return self.encoder.encode_mentions(mentions)


@pytest.mark.parametrize(("uses_context", "expected"), [(False, 1), (True, 3)])
def test_equal_mentions_are_looked_up_once(space, uses_context, expected):
    encoder = Counting(space.encoder, uses_context)
    counted = EntitySpace(space.kb, encoder, space.plain, space.index, space.pooling)
    mentions = [Mention("milk yields", place, "") for place in "abc"] * 100
    assert select(counted, mentions).n_mentions == 300
    assert len(encoder.encoded) == expected
