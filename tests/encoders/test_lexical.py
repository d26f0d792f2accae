import numpy as np
import pytest

from spacy_ontolink.encoders.lexical import LexicalEncoder, make_lexical_encoder
from spacy_ontolink.errors import ConfigError, StateError
from spacy_ontolink.types import Encoder, Mention


@pytest.fixture
def encoder(traits):
    encoder = LexicalEncoder()
    encoder.fit(traits)
    return encoder


def test_it_is_an_encoder():
    assert isinstance(make_lexical_encoder(), Encoder)


def test_one_unit_row_per_name(encoder, traits):
    rows = encoder.encode_entities(traits)
    assert len(rows.vectors) == traits.n_names
    np.testing.assert_allclose(rows.vectors.norms(), 1, rtol=1e-5)
    np.testing.assert_array_equal(rows.owner, traits.name_owner)
    np.testing.assert_array_equal(rows.name, np.arange(traits.n_names))


def test_some_entities_give_the_same_rows_as_all(encoder, traits):
    every, some = encoder.encode_entities(traits), encoder.encode_entities(traits, np.array([1, 4], np.int32))
    np.testing.assert_array_equal(some.owner, [1, 1, 1, 4])
    np.testing.assert_array_equal(some.vectors.blocks[0].toarray(), every.vectors.take(some.name).blocks[0].toarray())


def test_words_in_another_order_are_the_same(encoder):
    one, other = (encoder.encode_mentions([Mention(text)]) for text in ("milk yield", "Yield, milk"))
    np.testing.assert_allclose(one.row_dots(other), 1, rtol=1e-6)


@pytest.mark.parametrize("text", ["", "  ", "...", "日本"])
def test_nothing_in_common_gives_a_zero_vector(encoder, text):
    assert encoder.encode_mentions([Mention(text)]).norms().tolist() == [0]


def test_no_mentions_give_no_rows(encoder):
    assert len(encoder.encode_mentions([])) == 0


def test_round_trip(encoder, tmp_path):
    encoder.to_disk(tmp_path)
    other = LexicalEncoder().from_disk(tmp_path)
    assert other.id == encoder.id
    mentions = [Mention("fat yield"), Mention("breast")]
    np.testing.assert_array_equal(
        other.encode_mentions(mentions).blocks[0].toarray(), encoder.encode_mentions(mentions).blocks[0].toarray()
    )


def test_other_ngrams_than_the_saved_ones_are_refused(encoder, tmp_path):
    encoder.to_disk(tmp_path)
    with pytest.raises(StateError, match=r"\(3, \(1, 4\)\).*\(5, \(2,\)\)"):
        LexicalEncoder(5, [2]).from_disk(tmp_path)


def test_the_id_tells_vocabularies_and_settings_apart(encoder, traits):
    other = LexicalEncoder(beginnings=())
    other.fit(traits)
    assert len({encoder.id, other.id, LexicalEncoder().id}) == 3


def test_misuse_is_explained(tmp_path):
    with pytest.raises(ConfigError, match="size=2"):
        LexicalEncoder(size=2)
    with pytest.raises(StateError, match="fit"):
        LexicalEncoder().encode_mentions([Mention("a")])
    with pytest.raises(StateError, match=r"lexical\.safetensors"):
        LexicalEncoder().from_disk(tmp_path)
