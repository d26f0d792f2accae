import numpy as np
import pytest
import scipy.sparse as sp
import spacy

from spacy_ontolink.encoders.hybrid import HybridEncoder, make_hybrid_encoder
from spacy_ontolink.encoders.lexical import LexicalEncoder, make_lexical_encoder
from spacy_ontolink.encoders.sentence import make_sentence_encoder
from spacy_ontolink.encoders.synonyms import SynonymEncoder
from spacy_ontolink.errors import ConfigError, StateError
from spacy_ontolink.types import Encoder, EntityRows, Mention
from spacy_ontolink.vectors import Vectors

TEXTS = ["milk yield", "Egg", "", "fat percentage"]


@pytest.fixture
def hybrid(plain_model):
    return make_hybrid_encoder(make_sentence_encoder(str(plain_model), device="cpu"), make_lexical_encoder(), 0.3)


def test_cosines_add_up_by_weight(hybrid, traits):
    assert isinstance(hybrid, Encoder)
    hybrid.fit(traits)
    mentions = [Mention(text) for text in TEXTS]
    rows, queries = hybrid.encode_entities(traits), hybrid.encode_mentions(mentions)
    assert [sp.issparse(block) for block in rows.vectors.blocks] == [True, False]
    lexical = hybrid.lexical.encode_entities(traits).vectors.dot(hybrid.lexical.encode_mentions(mentions))
    dense = hybrid.dense.encode_entities(traits).vectors.dot(hybrid.dense.encode_mentions(mentions))
    np.testing.assert_allclose(rows.vectors.dot(queries), 0.7 * lexical + 0.3 * dense, atol=1e-5)
    np.testing.assert_allclose(rows.vectors.norms(), 1, rtol=1e-5)
    assert not queries.norms()[2]


def test_rows_are_those_of_the_parts(hybrid, traits):
    hybrid.fit(traits)
    everything = hybrid.encode_entities(traits)
    some = hybrid.encode_entities(traits, np.array([2, 3], np.int32))
    assert some.name.tolist() == everything.name[np.isin(everything.owner, [2, 3])].tolist()
    assert len(some.vectors) == len(some.owner) == len(some.name)


def test_the_id_names_both_parts_and_the_weight(hybrid, plain_model, traits):
    unfitted = hybrid.id
    hybrid.fit(traits)
    assert hybrid.id != unfitted
    assert hybrid.lexical.id in hybrid.id
    assert hybrid.dense.id in hybrid.id
    assert HybridEncoder(hybrid.lexical, hybrid.dense, weight=0.4).id != hybrid.id


def test_round_trip(hybrid, plain_model, traits, tmp_path):
    hybrid.fit(traits)
    hybrid.to_disk(tmp_path / "saved")
    fresh = make_hybrid_encoder(make_sentence_encoder("/gone/plain", device="cpu"), make_lexical_encoder(), 0.3)
    opened = fresh.from_disk(tmp_path / "saved")
    assert opened.id == hybrid.id
    mentions = [Mention(text) for text in TEXTS]
    norms = hybrid.encode_mentions(mentions).row_dots(opened.encode_mentions(mentions))
    np.testing.assert_allclose(norms, hybrid.encode_mentions(mentions).norms() ** 2, atol=1e-5)
    opened.to_disk(tmp_path / "saved")
    assert fresh.from_disk(tmp_path / "saved").id == hybrid.id


def test_another_weight_or_part_than_the_saved_one_is_refused(hybrid, traits, tmp_path):
    hybrid.fit(traits)
    hybrid.to_disk(tmp_path)
    dense = make_sentence_encoder("/gone/plain", device="cpu")
    with pytest.raises(StateError, match=r"with a weight 0\.3, but is opened with 0\.4"):
        make_hybrid_encoder(dense, make_lexical_encoder(), 0.4).from_disk(tmp_path)
    with pytest.raises(StateError, match="with a lexical part LexicalEncoder, but is opened with SentenceEncoder"):
        make_hybrid_encoder(dense, dense, 0.3).from_disk(tmp_path)
    with pytest.raises(StateError, match="with a dense part SentenceEncoder, but is opened with Fixed"):
        make_hybrid_encoder(Fixed([0], [0]), make_lexical_encoder(), 0.3).from_disk(tmp_path)
    with pytest.raises(StateError, match="some/other"):
        other = make_sentence_encoder("some/other", device="cpu")
        make_hybrid_encoder(other, make_lexical_encoder(), 0.3).from_disk(tmp_path)


@pytest.mark.parametrize("content", [None, "{}", "[]", "{"])
def test_damaged_settings_are_named(hybrid, traits, tmp_path, content):
    hybrid.fit(traits)
    hybrid.to_disk(tmp_path)
    file = tmp_path / "hybrid.json"
    file.unlink() if content is None else file.write_text(content)
    with pytest.raises(StateError, match=r"hybrid\.json is damaged"):
        hybrid.from_disk(tmp_path)


def test_progress_is_that_of_the_dense_part(hybrid, traits):
    seen = []
    hybrid.progress = lambda done, total: seen.append(done)
    hybrid.fit(traits)
    hybrid.encode_entities(traits)
    assert hybrid.dense.progress is hybrid.progress
    assert seen[-1] == traits.n_names


class Fixed:
    """An encoder that makes the rows it was given."""

    id = "fixed"

    def __init__(self, owner, name):
        vectors = Vectors((np.ones((len(owner), 2), np.float32),))
        self.rows = EntityRows(vectors, np.array(owner, np.int32), np.array(name, np.int32))

    def fit(self, kb): ...

    def encode_mentions(self, mentions): ...

    def encode_entities(self, kb, entities=None):
        return self.rows

    def to_disk(self, path): ...

    def from_disk(self, path): ...


@pytest.mark.parametrize(
    ("owner", "name", "row"), [([0, 0, 1], [0, 1, 3], 2), ([0, 1, 1], [0, 1, 2], 1), ([0, 0], [0, 1], 2)]
)
def test_parts_with_other_rows_are_refused(owner, name, row):
    hybrid = make_hybrid_encoder(Fixed(owner, name), Fixed([0, 0, 1], [0, 1, 2]))
    with pytest.raises(StateError, match=rf"lexical gives 3 and dense gives {len(owner)}; .* at row {row}\."):
        hybrid.encode_entities(None)


@pytest.mark.parametrize("weight", [-0.1, 1.5, float("nan")])
def test_a_weight_is_a_share(weight):
    with pytest.raises(ConfigError, match="weight"):
        make_hybrid_encoder(Fixed([0], [0]), Fixed([0], [0]), weight)


def test_a_part_that_is_no_encoder_is_refused():
    with pytest.raises(ConfigError, match="'dense' must be a Encoder"):
        make_hybrid_encoder("minilm", Fixed([0], [0]))


def test_the_lexical_part_is_the_default_encoder_unless_said(tmp_path, monkeypatch):
    """Also where the block of the config takes the place of the retriever's own default, and after loading."""
    monkeypatch.setenv("ONTOLINK_CACHE", str(tmp_path / "cache"))
    (tmp_path / "toy.csv").write_text("id,name,synonyms\nT:1,milk yield,yield of milk\nT:2,egg weight,\n", "utf-8")
    dense = {"@ontolink_encoders": "spacy-ontolink.LexicalEncoder.v1"}  # any encoder with a row for each name
    encoder = {"@ontolink_encoders": "spacy-ontolink.HybridEncoder.v1", "dense": dense}
    nlp = spacy.blank("en")
    nlp.add_pipe("ontolink_retriever", config={"ontology": str(tmp_path / "toy.csv"), "encoder": encoder})
    nlp.to_disk(tmp_path / "saved")
    made = spacy.load(tmp_path / "saved").get_pipe("ontolink_retriever").space.encoder
    assert isinstance(made, HybridEncoder)
    assert isinstance(made.lexical, SynonymEncoder) and isinstance(made.lexical.encoder, LexicalEncoder)
    assert made.weight == 0.6
