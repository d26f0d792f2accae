import pickle

import numpy as np
import pytest

from spacy_ontolink.encoders.aligned import AlignedEncoder, make_aligned_encoder
from spacy_ontolink.encoders.hybrid import HybridEncoder
from spacy_ontolink.encoders.lexical import LexicalEncoder
from spacy_ontolink.errors import ConfigError, StateError
from spacy_ontolink.files import write_tensors
from spacy_ontolink.indexes.exact import ExactIndex
from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.space import EntitySpace
from spacy_ontolink.types import Encoder, Entity, EntityRows, Mention, Synonym
from spacy_ontolink.vectors import Vectors

PLACES = ("cyst", "stone", "failure", "tumour", "swelling", "pain", "dysfunction", "injury")


class Words:
    """A dense encoder: the mean of a random vector for each word."""

    uses_context, by_name = False, True

    def __init__(self):
        self.calls, self.fits = 0, 0

    id = "words"

    def fit(self, kb):
        self.fits += 1

    def _rows(self, texts):
        rows = np.zeros((len(texts), 24), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.split():
                row += np.random.default_rng(list(word.encode())).normal(size=24)
        return Vectors((rows,)).normalised().half()

    def encode_mentions(self, mentions):
        return self._rows([mention.text for mention in mentions])

    def encode_entities(self, kb, entities=None):
        self.calls += 1
        owner = np.asarray(kb.name_owner)
        name = np.flatnonzero(np.isin(owner, entities) if entities is not None else np.ones(len(owner), bool))
        return EntityRows(self._rows([kb.name_texts()[number] for number in name.tolist()]), owner[name], name)

    def to_disk(self, path):
        path.mkdir()

    def from_disk(self, path):
        return self


def made_kb(synonyms=True):
    """Entities of the kidney whose synonyms are renal, all but the last, and of the liver."""

    def entities():
        for number, word in enumerate(PLACES):
            renal = (Synonym(f"renal {word}", "EXACT"),) if synonyms and word != PLACES[-1] else ()
            hepatic = (Synonym(f"hepatic {word}", "EXACT"),) if synonyms else ()
            yield Entity(f"A:{number}", f"kidney {word}", renal)
            yield Entity(f"B:{number}", f"liver {word}", hepatic)

    return KnowledgeBase.from_entities(entities())


@pytest.fixture
def kb():
    return made_kb()


@pytest.fixture
def encoder(kb):
    encoder = make_aligned_encoder(Words())
    encoder.fit(kb)
    return encoder


def cosine(encoder, one, other):
    vectors = encoder.encode_mentions([Mention(one), Mention(other)]).single()
    return float(vectors.dot(vectors)[0, 1])


def test_brings_synonyms_together_and_leaves_others_apart(encoder):
    words = encoder.encoder
    assert cosine(encoder, "renal injury", "kidney injury") > cosine(words, "renal injury", "kidney injury") + 0.2
    assert cosine(encoder, "renal injury", "liver injury") < cosine(encoder, "renal injury", "kidney injury")


def test_rows_are_those_of_the_dense_encoder_turned(encoder, kb):
    assert isinstance(encoder, Encoder) and encoder.by_name and not encoder.uses_context
    rows, dense = encoder.encode_entities(kb), Words().encode_entities(kb)
    assert rows.owner.tolist() == dense.owner.tolist() and rows.name.tolist() == dense.name.tolist()
    assert rows.vectors.dims == dense.vectors.dims and rows.vectors.blocks[0].dtype == np.float16
    np.testing.assert_allclose(rows.vectors.single().norms(), 1, atol=1e-3)
    assert not encoder.encode_mentions([Mention("")]).norms().any()


def test_encodes_the_names_once_for_learning_and_for_the_index(kb):
    words = Words()
    space = EntitySpace.build(kb, AlignedEncoder(words), ExactIndex())
    assert (words.fits, words.calls) == (1, 1)
    some = space.encoder.encode_entities(kb, np.array([2], np.int32))
    np.testing.assert_array_equal(some.vectors.blocks[0], space.plain.vectors.blocks[0][space.plain.owner == 2])
    space.encoder.encode_entities(kb)
    assert words.calls == 3


def test_rows_kept_after_fitting_are_of_no_other_ontology_and_are_not_pickled(encoder):
    other = made_kb(synonyms=False)
    assert len(encoder.encode_entities(other).owner) == other.n_names
    encoder.fit(other)
    assert pickle.loads(pickle.dumps(encoder)).id == encoder.id
    assert len(pickle.dumps(encoder)) < 10_000


def test_without_synonyms_it_is_the_dense_encoder():
    kb, encoder = made_kb(synonyms=False), AlignedEncoder(Words())
    encoder.fit(kb)
    assert cosine(encoder, "renal injury", "kidney injury") == pytest.approx(
        cosine(encoder.encoder, "renal injury", "kidney injury"), abs=1e-3
    )


def test_is_the_same_each_time(encoder, kb):
    again = AlignedEncoder(Words())
    again.fit(kb)
    assert again.id == encoder.id and encoder.id.startswith("aligned:") and encoder.id.endswith("(words)")


def test_survives_the_disk(encoder, kb, tmp_path):
    encoder.to_disk(tmp_path / "encoder")
    again = AlignedEncoder(Words()).from_disk(tmp_path / "encoder")
    assert again.id == encoder.id
    np.testing.assert_array_equal(
        again.encode_entities(kb).vectors.blocks[0], encoder.encode_entities(kb).vectors.blocks[0]
    )


def test_progress_reaches_the_dense_encoder_through_all_that_stand_around_it():
    words = Words()
    HybridEncoder(LexicalEncoder(), AlignedEncoder(words)).progress = print
    assert words.progress is print


@pytest.mark.parametrize(
    "arrays",
    [
        {"matrix": np.full((2, 2), 1e300)},
        {},
        {"matrix": np.ones((2, 3), np.float32)},
        {"matrix": np.full((2, 2), np.nan, np.float32)},
    ],
)
def test_names_a_damaged_file(encoder, tmp_path, arrays):
    encoder.to_disk(tmp_path / "encoder")
    write_tensors(tmp_path / "encoder" / "alignment.safetensors", arrays)
    with pytest.raises(StateError, match=r"alignment\.safetensors"):
        AlignedEncoder(Words()).from_disk(tmp_path / "encoder")


@pytest.mark.parametrize("other", [LexicalEncoder(), HybridEncoder(LexicalEncoder(), Words())])
def test_takes_one_dense_block(kb, other):
    with pytest.raises(ConfigError, match="AlignedEncoder"):
        AlignedEncoder(other).fit(kb)
