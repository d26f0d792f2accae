import numpy as np
import pytest

from spacy_ontolink.encoders.definitions import DefinitionEncoder, make_definition_encoder
from spacy_ontolink.encoders.lexical import LexicalEncoder, make_lexical_encoder
from spacy_ontolink.errors import ConfigError
from spacy_ontolink.indexes.exact import ExactIndex
from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.space import EntitySpace, Pooling, Query, retrieve
from spacy_ontolink.types import Encoder, Entity, Mention, Synonym


@pytest.fixture
def kb():
    return KnowledgeBase.from_entities(
        [
            Entity("A:1", "gait", definition="How an animal walks."),
            Entity("A:2", "udder", (Synonym("mamma"),), definition="日本"),
            Entity(
                "A:3", "fleece", (Synonym("wool walk"),), definition="What a gait of wool is not: an animal's hair."
            ),
            Entity("A:4", "animal hair"),
        ]
    )


@pytest.fixture
def encoder(kb):
    encoder = make_definition_encoder(make_lexical_encoder())
    encoder.fit(kb)
    return encoder


def test_definitions_stand_behind_primary_names_unless_nothing_is_known_of_them(encoder, kb):
    assert isinstance(encoder, Encoder)
    rows, names = encoder.encode_entities(kb), encoder.encoder.encode_entities(kb)
    assert rows.owner.tolist() == [0, 0, 1, 1, 2, 2, 2, 3]
    assert rows.name.tolist() == [0, 0, 1, 2, 3, 3, 4, 5]
    dense = rows.vectors.blocks[0].toarray()
    np.testing.assert_array_equal(dense[[0, 2, 3, 4, 6, 7]], names.vectors.blocks[0].toarray())
    definitions = encoder.encode_mentions([Mention(kb.definition_of(number)) for number in (0, 2)])
    np.testing.assert_array_equal(dense[[1, 5]], definitions.blocks[0].toarray())


def test_some_entities_give_the_same_rows_as_all(encoder, kb):
    every, some = encoder.encode_entities(kb), encoder.encode_entities(kb, np.array([1, 2], np.int32))
    of_some = np.isin(every.owner, [1, 2])
    assert some.owner.tolist() == every.owner[of_some].tolist()
    assert some.name.tolist() == every.name[of_some].tolist()
    np.testing.assert_array_equal(some.vectors.blocks[0].toarray(), every.vectors.blocks[0].toarray()[of_some])
    assert len(encoder.encode_entities(kb, np.empty(0, np.int32)).owner) == 0


def test_blocks_change_nothing(encoder, kb, monkeypatch):
    whole = encoder.encode_entities(kb)
    monkeypatch.setattr("spacy_ontolink.encoders.definitions._BLOCK", 3)
    blocks = encoder.encode_entities(kb)
    assert blocks.name.tolist() == whole.name.tolist()
    np.testing.assert_array_equal(blocks.vectors.blocks[0].toarray(), whole.vectors.blocks[0].toarray())


@pytest.mark.parametrize("pooling", [Pooling(), Pooling(names=0.5)])
def test_a_mention_is_found_by_words_of_the_definition(kb, pooling):
    texts = [Query(Mention("walking animal")), Query(Mention("gait"))]
    space = EntitySpace.build(kb, DefinitionEncoder(LexicalEncoder()), ExactIndex(), pooling)
    hits = retrieve(space, texts, 2)
    assert hits.entities[:, 0].tolist() == [0, 0]
    assert space.rows.name[hits.rows[0, 0]] == 0  # a definition is shown by the primary name
    plain = retrieve(EntitySpace.build(kb, LexicalEncoder(), ExactIndex(), pooling), texts, 2)
    assert plain.entities[0, 0] != 0


def test_rows_of_names_are_pooled_as_without_definitions(encoder, kb):
    pooled = EntitySpace.build(kb, encoder, ExactIndex(), Pooling(names=0.5)).rows.vectors.blocks[0].toarray()
    plain = EntitySpace.build(kb, LexicalEncoder(), ExactIndex(), Pooling(names=0.5)).rows.vectors.blocks[0].toarray()
    np.testing.assert_allclose(pooled[[0, 2, 3, 4, 6, 7]], plain, atol=1e-6)


def test_round_trip(encoder, kb, tmp_path):
    space = EntitySpace.build(kb, encoder, ExactIndex(), Pooling(names=0.5))
    space.to_disk(tmp_path / "space")
    opened = EntitySpace.from_disk(tmp_path / "space", DefinitionEncoder(LexicalEncoder()), ExactIndex())
    assert opened.encoder.id == encoder.id != encoder.encoder.id
    queries = [Query(Mention("walking animal"))]
    np.testing.assert_array_equal(retrieve(opened, queries, 3).scores, retrieve(space, queries, 3).scores)


def test_context_and_progress_are_those_of_the_other_encoder(encoder):
    encoder.progress = print
    assert encoder.encoder.progress is encoder.progress is print
    assert encoder.uses_context is False
    with pytest.raises(ConfigError, match="encoder"):
        DefinitionEncoder(3)
