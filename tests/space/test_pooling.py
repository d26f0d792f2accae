import numpy as np
import pytest

from spacy_ontolink.encoders.lexical import LexicalEncoder
from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.space.pooling import Pooling, pool, pool_some
from spacy_ontolink.types import Entity, EntityRows
from spacy_ontolink.vectors import Vectors


def test_neighbours_and_names_by_hand():
    kb = KnowledgeBase.from_entities(
        [Entity("A:1", "root"), Entity("A:2", "left", parents=("A:1",)), Entity("A:3", "right", parents=("A:1",))]
    )
    rows = EntityRows(Vectors((np.eye(4, dtype=np.float32),)), np.array([0, 0, 1, 2], np.int32), np.arange(4))
    pooled = pool(rows, kb, Pooling(hierarchy=0.5)).vectors.blocks[0]

    def unit(*values):
        return np.array(values, np.float32) / np.linalg.norm(values)

    np.testing.assert_allclose(pooled[0], unit(1, 0, 0.25, 0.25), rtol=1e-3)  # children's mean, no parent
    np.testing.assert_allclose(pooled[1], unit(0, 1, 0.25, 0.25), rtol=1e-3)  # every row of the entity is pulled
    np.testing.assert_allclose(pooled[2], unit(0.5, 0, 1, 0), rtol=1e-3)  # the parent's name row, not its synonym's
    named = pool(rows, kb, Pooling(names=1.0)).vectors.blocks[0]
    np.testing.assert_allclose(named[0], unit(1.5, 0.5, 0, 0), rtol=1e-3)
    np.testing.assert_allclose(named[2], unit(0, 0, 1, 0), rtol=1e-3)


def test_without_hierarchy_pooling_over_it_changes_nothing():
    kb = KnowledgeBase.from_entities([Entity("A:1", "one name"), Entity("A:2", "two names")])
    encoder = LexicalEncoder()
    encoder.fit(kb)
    rows = encoder.encode_entities(kb)
    pooled = pool(rows, kb, Pooling(hierarchy=0.5)).vectors
    np.testing.assert_allclose(pooled.row_dots(rows.vectors), 1, rtol=1e-5)


@pytest.mark.parametrize("rows_at_a_time", [1, 3])
def test_blocks_change_nothing(traits, monkeypatch, rows_at_a_time):
    encoder = LexicalEncoder()
    encoder.fit(traits)
    rows = encoder.encode_entities(traits)
    whole = pool(rows, traits, Pooling(0.7, 0.3)).vectors.blocks[0].toarray()
    monkeypatch.setattr("spacy_ontolink.space.pooling._ROWS", rows_at_a_time)
    np.testing.assert_array_equal(pool(rows, traits, Pooling(0.7, 0.3)).vectors.blocks[0].toarray(), whole)


@pytest.mark.parametrize("pooling", [Pooling(), Pooling(names=0.5), Pooling(0.7, 0.3)])
def test_some_entities_are_pooled_as_all_are(traits, pooling):
    encoder = LexicalEncoder()
    encoder.fit(traits)
    rows = encoder.encode_entities(traits)
    some = np.array([1, 2, 5], np.int32)
    part, whole = pool_some(rows, traits, pooling, some), pool(rows, traits, pooling)
    of_some = np.isin(whole.owner, some)
    np.testing.assert_array_equal(part.owner, whole.owner[of_some])
    np.testing.assert_array_equal(part.name, whole.name[of_some])
    np.testing.assert_allclose(part.vectors.blocks[0].toarray(), whole.vectors.blocks[0].toarray()[of_some], atol=1e-6)
