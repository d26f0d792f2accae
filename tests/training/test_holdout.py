import numpy as np
import pytest

from spacy_ontolink.encoders.lexical import make_lexical_encoder
from spacy_ontolink.indexes.exact import ExactIndex
from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.space import EntitySpace, Pooling, Query, retrieve
from spacy_ontolink.training.holdout import MOST, hide, hold_out, hold_out_synonyms
from spacy_ontolink.types import Entity, Mention, Synonym


def test_synonyms_become_mentions():
    entities = [
        Entity("T:1", "one", (*(Synonym(f"n{i}", "EXACT") for i in range(50)), Synonym("rel"))),
        Entity("T:2", "two", (Synonym("old", "EXACT"),), obsolete=True),
    ]
    kept, mentions = hold_out_synonyms(entities, 0.3, seed=1)
    assert (kept, mentions) == hold_out_synonyms(entities, 0.3, seed=1)
    assert mentions != hold_out_synonyms(entities, 0.3, seed=2)[1]
    assert 5 < len(mentions) < 30
    assert {id for _, id in mentions} == {"T:1"}
    assert kept[1] is entities[1]
    left = [synonym.text for synonym in kept[0].synonyms]
    assert sorted(left + [text for text, _ in mentions]) == sorted(s.text for s in entities[0].synonyms)
    assert "rel" in left
    assert hold_out_synonyms(entities, 1.0, 0, ("RELATED",))[1] == [("rel", "T:1")]


def test_a_space_without_them_is_as_if_built_without_them(space):
    found = hold_out(space, 12, seed=0)
    kb = found.space.kb
    assert 4 < len(found.mentions) <= 12
    assert found.scopes == ("EXACT",)
    assert list(kb) == list(space.kb)
    assert len(found.mentions) <= space.kb.n_names - kb.n_names < MOST * space.kb.n_names
    for text, number in found.mentions:
        assert not len(kb.lookup(text))
        assert number in space.kb.lookup(text)
    rebuilt = space.encoder.encode_entities(kb)
    np.testing.assert_array_equal(found.space.plain.owner, rebuilt.owner)
    np.testing.assert_array_equal(found.space.plain.name, rebuilt.name)
    difference = found.space.plain.vectors.blocks[0] - rebuilt.vectors.blocks[0]
    assert abs(difference).max() < 1e-6
    assert found.space.pooling == space.pooling
    hits = retrieve(found.space, [Query(Mention(text)) for text, _ in found.mentions], 3)
    assert (hits.scores < 0.9999).all()


def test_the_space_itself_stays_whole(space):
    before = space.kb.n_names, len(space.rows.owner)
    hold_out(space, 12, seed=0)
    assert (space.kb.n_names, len(space.rows.owner)) == before


def test_no_more_than_a_share_is_held_out(space):
    n_exact = int((space.kb.name_scope == 1).sum())
    found = hold_out(space, 10_000, seed=0)
    assert len(found.mentions) < 1.5 * MOST * n_exact


def test_without_exact_synonyms_any_will_do():
    entities = [Entity(f"T:{i}", f"name {i}", (Synonym(f"other {i}"),)) for i in range(20)]
    space = EntitySpace.build(KnowledgeBase.from_entities(entities), make_lexical_encoder(), ExactIndex(), Pooling())
    found = hold_out(space, 5, seed=0)
    assert "RELATED" in found.scopes
    assert found.mentions
    bare = KnowledgeBase.from_entities([Entity("T:1", "one")])
    assert hold_out(EntitySpace.build(bare, make_lexical_encoder(), ExactIndex()), 5, seed=0).mentions == []


@pytest.mark.parametrize("seed", range(5))
def test_one_synonym_at_least_is_held_out(seed):
    entities = [Entity("T:1", "one", (Synonym("uno", "EXACT"),)), Entity("T:2", "two", (Synonym("due", "EXACT"),))]
    assert len(hold_out_synonyms(entities, 0.001, seed)[1]) == 1
    assert hold_out_synonyms([Entity("T:1", "one")], 0.5, seed)[1] == []


def test_hidden_entities_are_some_of_the_gold():
    gold = [{1, 2}, {3}, set(), {4}, {3}, {9}, {11}, {12}, {13}, {20}]
    hidden = hide(gold, 0.4, seed=0)
    assert len(hidden) == 4
    assert (np.diff(hidden) > 0).all()
    assert set(hidden.tolist()) <= set().union(*gold)
    np.testing.assert_array_equal(hidden, hide(gold, 0.4, seed=0))
    assert hide(gold, 0.4, seed=1).tolist() != hidden.tolist()
    assert len(hide(gold, 0.0, seed=0)) == 0
    assert len(hide([set()], 0.5, seed=0)) == 0


@pytest.mark.parametrize("share", [0.1, 0.9])
def test_the_share_hidden(share):
    assert len(hide([{n} for n in range(100)], share, seed=0)) == round(100 * share)
