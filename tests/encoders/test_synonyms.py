import numpy as np
import pytest
from scipy.sparse import csr_matrix

from spacy_ontolink.encoders import projection
from spacy_ontolink.encoders.definitions import DefinitionEncoder
from spacy_ontolink.encoders.hybrid import HybridEncoder
from spacy_ontolink.encoders.lexical import LexicalEncoder, make_lexical_encoder
from spacy_ontolink.encoders.projection import learn_projection
from spacy_ontolink.encoders.synonyms import SynonymEncoder, make_synonym_encoder
from spacy_ontolink.errors import ConfigError, StateError
from spacy_ontolink.files import write_tensors
from spacy_ontolink.indexes.exact import ExactIndex
from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.space import EntitySpace, Pooling, Query, retrieve, update
from spacy_ontolink.types import Encoder, Entity, Mention, Synonym
from spacy_ontolink.vectors import Vectors

PLACES = ("cyst", "stone", "failure", "tumour", "swelling", "pain", "dysfunction", "injury")


def entities(parents=()):
    """Entities of the kidney whose synonyms are renal, all but the last, and of the liver."""
    for number, word in enumerate(PLACES):
        synonyms = (Synonym(f"renal {word}", "EXACT"),) if word != PLACES[-1] else ()
        yield Entity(f"A:{number}", f"kidney {word}", synonyms, parents=parents)
        yield Entity(f"B:{number}", f"liver {word}", (Synonym(f"hepatic {word}", "EXACT"),), parents=parents)


@pytest.fixture
def kb():
    return KnowledgeBase.from_entities(entities())


@pytest.fixture
def encoder(kb):
    encoder = make_synonym_encoder(make_lexical_encoder(), dimensions=32)
    encoder.fit(kb)
    return encoder


def first(space, text):
    return next(iter(space.kb.ids_of(retrieve(space, [Query(Mention(text))], 1).entities[0])))


def test_rows_are_those_of_the_sparse_encoder_with_a_projection_beside(encoder, kb):
    assert isinstance(encoder, Encoder) and encoder.by_name and not encoder.uses_context
    rows, names = encoder.encode_entities(kb), encoder.encoder.encode_entities(kb)
    assert rows.name.tolist() == names.name.tolist() and rows.owner.tolist() == names.owner.tolist()
    assert rows.vectors.dims == (*names.vectors.dims, 32) and encoder.n_blocks == 2
    np.testing.assert_allclose(rows.vectors.norms(), 1, atol=1e-6)
    sparse = Vectors((rows.vectors.blocks[0],)).norms()
    np.testing.assert_allclose(sparse**2, 0.5, atol=1e-6)


def test_learns_what_synonyms_say(kb, monkeypatch):
    plain = EntitySpace.build(kb, LexicalEncoder(), ExactIndex(), Pooling(0.5))
    assert first(plain, "renal injury") == "B:7"
    answers = []
    for seed in range(5):  # so few names leave something to chance
        monkeypatch.setattr("spacy_ontolink.encoders.projection._SEED", seed)
        learned = EntitySpace.build(kb, SynonymEncoder(LexicalEncoder()), ExactIndex(), Pooling(0.5))
        answers.append(first(learned, "renal injury"))
    assert answers.count("A:7") > 2
    cosine = {}
    for space in (plain, learned):
        vectors = space.encoder.encode_mentions([Mention("renal injury"), Mention("kidney injury"), Mention("x")])
        cosine[space] = float(vectors.dot(vectors)[0, 1])
        assert vectors.norms()[2] == 0
    assert cosine[learned] > cosine[plain]


def test_is_the_same_each_time_and_for_any_part_of_the_entities(encoder, kb):
    again = make_synonym_encoder(make_lexical_encoder(), dimensions=32)
    again.fit(kb)
    assert again.id == encoder.id and "synonyms:32:0.5:" in encoder.id
    every, some = encoder.encode_entities(kb), again.encode_entities(kb, np.array([1, 3], np.int32))
    of_some = np.isin(every.owner, [1, 3])
    np.testing.assert_array_equal(some.vectors.blocks[1], every.vectors.blocks[1][of_some])


def test_without_synonyms_it_is_the_sparse_encoder():
    kb = KnowledgeBase.from_entities(Entity(f"A:{number}", f"kidney {word}") for number, word in enumerate(PLACES))
    encoder = SynonymEncoder(LexicalEncoder())
    encoder.fit(kb)
    assert encoder.n_blocks == 1 and encoder.encode_mentions([]).dims == encoder.encoder.encode_mentions([]).dims
    np.testing.assert_allclose(encoder.encode_entities(kb).vectors.norms(), 1, atol=1e-6)


def test_too_few_synonyms_are_not_learned_from(kb):
    names = LexicalEncoder()
    names.fit(kb)
    block = names.encode_entities(kb).vectors.blocks[0]
    owner = np.arange(len(kb.name_owner), dtype=np.int32)
    owner[1] = 0
    parents = csr_matrix((len(owner), len(owner)))
    assert learn_projection(block, owner, parents, 8).shape == (block.shape[1], 0)


def test_parents_count_too(kb):
    encoders = [SynonymEncoder(LexicalEncoder()) for _ in range(2)]
    encoders[0].fit(kb)
    encoders[1].fit(KnowledgeBase.from_entities([*entities(parents=("C:1",)), Entity("C:1", "organ")]))
    assert encoders[0].id != encoders[1].id


def test_saved_and_opened(encoder, kb, tmp_path):
    space = EntitySpace.build(kb, encoder, ExactIndex(), Pooling(0.5))
    space.to_disk(tmp_path / "space")
    opened = EntitySpace.from_disk(
        tmp_path / "space", make_synonym_encoder(make_lexical_encoder(), dimensions=32), ExactIndex()
    )
    assert opened.encoder.id == space.encoder.id and first(opened, "renal pain") == "A:5"
    with pytest.raises(StateError, match="dimensions, weight"):
        EntitySpace.from_disk(tmp_path / "space", make_synonym_encoder(make_lexical_encoder()), ExactIndex())
    file = tmp_path / "space" / "encoder" / "synonyms.safetensors"
    write_tensors(file, {"settings": np.zeros(2)})
    with pytest.raises(StateError, match="projection"):
        make_synonym_encoder(make_lexical_encoder()).from_disk(file.parent)


@pytest.mark.parametrize("refit", [True, False])
@pytest.mark.parametrize("hybrid", [False, True])
def test_an_updated_space_equals_a_build(kb, refit, hybrid):
    def make():
        synonyms = SynonymEncoder(LexicalEncoder(), dimensions=16)
        return HybridEncoder(synonyms, LexicalEncoder(4)) if hybrid else synonyms

    new = KnowledgeBase.from_entities([*entities(), Entity("B:9", "spleen pain", (Synonym("lienal pain"),))])
    old = EntitySpace.build(kb, make(), ExactIndex(), Pooling(0.5))
    done = update(old, new, ExactIndex(), refit=refit).space
    encoder = make() if refit else old.encoder
    if refit:
        encoder.fit(new)
    rows = encoder.encode_entities(new).vectors.half()
    assert done.encoder.id == encoder.id and done.plain.vectors.dims == rows.dims
    for one, other in zip(done.plain.vectors.blocks, rows.blocks, strict=True):
        assert abs(one - other).max() == 0


def test_blocks_are_counted(encoder):
    assert DefinitionEncoder(encoder).n_blocks == 2
    assert HybridEncoder(encoder, LexicalEncoder()).n_blocks == 3


def test_bad_settings(kb):
    with pytest.raises(ConfigError, match="dimensions"):
        SynonymEncoder(LexicalEncoder(), dimensions=0)
    with pytest.raises(ConfigError, match="weight"):
        SynonymEncoder(LexicalEncoder(), weight=1.5)
    with pytest.raises(ConfigError, match="one sparse block"):
        SynonymEncoder(HybridEncoder(LexicalEncoder(), LexicalEncoder())).fit(kb)


def test_of_many_entities_some_are_learned_from(kb, monkeypatch):
    whole, some = SynonymEncoder(LexicalEncoder()), SynonymEncoder(LexicalEncoder())
    whole.fit(kb)
    monkeypatch.setattr("spacy_ontolink.encoders.synonyms._LEARNT_FROM", len(kb) - 1)
    some.fit(kb)
    assert some.n_blocks == 2 and some.id != whole.id
    assert some.encode_entities(kb).vectors.dims == whole.encode_entities(kb).vectors.dims


def test_a_step_goes_down_the_cross_entropy():
    random = np.random.default_rng(0)
    left, right = (csr_matrix(random.random((5, 7), np.float32)) for _ in range(2))
    matrix = random.standard_normal((7, 3)).astype(np.float32)
    owner, temperature = np.arange(5), np.float32(0.5)

    def loss(matrix):
        one, other = (names @ matrix for names in (left, right))
        one, other = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in (one, other))
        scores = one @ other.T / temperature
        return np.mean(np.log(np.exp(scores).sum(axis=1)) - np.diag(scores))

    gradient = projection._gradient(matrix, left, right, owner, owner, temperature)
    for place in np.ndindex(matrix.shape):
        step = np.zeros(matrix.shape)
        step[place] = 1e-4
        expected = (loss(matrix + step) - loss(matrix - step)) / 2e-4
        assert gradient[place] == pytest.approx(expected, abs=1e-4)
