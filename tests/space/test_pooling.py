import numpy as np

from spacy_ontolink.encoders.lexical import LexicalEncoder
from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.space.pooling import Pooling, pool
from spacy_ontolink.types import Entity, EntityRows
from spacy_ontolink.vectors import Vectors


def dense(rows):
    return rows.astype(np.float32)


def test_neighbours_and_names_by_hand():
    kb = KnowledgeBase.from_entities(
        [Entity("A:1", "root"), Entity("A:2", "left", parents=("A:1",)), Entity("A:3", "right", parents=("A:1",))]
    )
    rows = EntityRows(Vectors((np.eye(4, dtype=np.float32),)), np.array([0, 0, 1, 2], np.int32), np.arange(4))
    pooled = pool(rows, kb, Pooling(hierarchy=0.5)).blocks[0]

    def unit(*values):
        return np.array(values, np.float32) / np.linalg.norm(values)

    np.testing.assert_allclose(pooled[0], unit(1, 0, 0.25, 0.25), rtol=1e-5)  # children's mean, no parent
    np.testing.assert_allclose(pooled[1], unit(0, 1, 0.25, 0.25), rtol=1e-5)  # every row of the entity is pulled
    np.testing.assert_allclose(pooled[2], unit(0.5, 0, 1, 0), rtol=1e-5)  # the parent's name row, not its synonym's
    named = pool(rows, kb, Pooling(names=1.0)).blocks[0]
    np.testing.assert_allclose(named[0], unit(1.5, 0.5, 0, 0), rtol=1e-5)
    np.testing.assert_allclose(named[2], unit(0, 0, 1, 0), rtol=1e-5)


def test_without_hierarchy_pooling_over_it_changes_nothing():
    kb = KnowledgeBase.from_entities([Entity("A:1", "one name"), Entity("A:2", "two names")])
    encoder = LexicalEncoder()
    encoder.fit(kb)
    rows = encoder.encode_entities(kb)
    pooled = pool(rows, kb, Pooling(hierarchy=0.5))
    np.testing.assert_allclose(pooled.row_dots(rows.vectors), 1, rtol=1e-5)
