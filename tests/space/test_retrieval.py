import numpy as np
import pytest

from spacy_ontolink.encoders.lexical import LexicalEncoder
from spacy_ontolink.indexes.exact import ExactIndex
from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.kb.annotated import AnnotatedName, add_names
from spacy_ontolink.space import CandidateScores, EntitySpace, Pooling, Query, retrieve
from spacy_ontolink.space.exact import PRIOR
from spacy_ontolink.types import Entity, Mention, Synonym


@pytest.fixture(scope="module")
def space(traits):
    return EntitySpace.build(traits, LexicalEncoder(), ExactIndex(), Pooling(1.0))


def ids(space, query, k=3, **kwargs):
    hits = retrieve(space, [query if isinstance(query, Query) else Query(Mention(query))], k, **kwargs)
    return space.kb.ids_of(hits.entities[hits.entities >= 0])


def test_an_exact_name_scores_one_and_its_row_is_the_match(space):
    hits = retrieve(space, [Query(Mention("Fat Percentage"))], 3)
    assert hits.scores[0, 0] == 1
    assert space.kb.ids_of(hits.entities[0, :1]) == ["T:1"]
    assert space.kb.texts_of(space.rows.name[hits.rows[0, :1]]) == ["fat percentage"]


def test_rounding_puts_no_cosine_before_an_exact_name(space, monkeypatch):
    search = EntitySpace.search

    def inflated(self, *arguments):
        hits = search(self, *arguments)
        return hits._replace(scores=np.where(hits.entities >= 0, np.float32(1.0004), hits.scores))

    monkeypatch.setattr(EntitySpace, "search", inflated)
    hits = retrieve(space, [Query(Mention("fat percentage"))], 3)
    assert space.kb.ids_of(hits.entities[0, :1]) == ["T:1"]
    assert hits.scores.max() == 1


@pytest.mark.parametrize("text", ["β-carotene level", "beta-carotene level", "Beta Carotene Level"])
def test_spellings_of_one_name(space, text):
    assert ids(space, text)[0] == "T:4"


def test_an_ambiguous_name_gives_all_its_entities_in_a_stable_order(space):
    assert ids(space, "BF")[:2] == ["X:9", "T:1"]  # an EXACT synonym goes before a RELATED one


def test_a_primary_name_goes_before_a_synonym():
    kb = KnowledgeBase.from_entities([Entity("A:1", "udder", (Synonym("teat", "EXACT"),)), Entity("A:2", "teat")])
    space = EntitySpace.build(kb, LexicalEncoder(), ExactIndex())
    assert ids(space, "teat") == ["A:2", "A:1"]


def test_a_long_form_is_searched_beside_the_short_form(space):
    assert ids(space, Query(Mention("BF"), long_form=Mention("fat percentage")))[:2] == ["T:1", "X:9"]
    scores = retrieve(space, [Query(Mention("BF"), long_form=Mention("fat percentage"))], 3).scores[0]
    assert scores[:2].tolist() == [1, 0.5]


def test_the_order_of_a_long_form_is_kept_beside_its_short_form():
    kb = KnowledgeBase.from_entities(
        [Entity("A:1", "fatness", (Synonym("body fat percentage", "EXACT"),)), Entity("A:2", "body fat percentage")]
    )
    space = EntitySpace.build(kb, LexicalEncoder(), ExactIndex(), Pooling(1.0))
    assert ids(space, "body fat percentage") == ["A:2", "A:1"]
    assert ids(space, Query(Mention("BFP"), long_form=Mention("body fat percentage"))) == ["A:2", "A:1"]


def test_all_weight_on_a_text_that_is_missing(space):
    assert ids(space, "yields", weights=(0.0, 1.0, 0.0)) == ids(space, "yields")


def test_more_exact_names_than_candidates_wanted():
    entities = [Entity(f"A:{n}", f"term number {n}", (Synonym("shared", "EXACT"),)) for n in range(500)]
    space = EntitySpace.build(KnowledgeBase.from_entities(entities), LexicalEncoder(), ExactIndex())
    found = ids(space, "shared", k=64)
    assert found == ids(space, "shared", k=64)
    assert len(set(found)) == 64
    assert len(set(ids(space, "shared", k=500))) == 500


def test_filters_hold_for_exact_names_too(space):
    allowed = space.kb.mask(prefixes=["X"])
    assert ids(space, "milk yield", allowed=allowed) == []
    assert ids(space, "BF", allowed=allowed) == ["X:9"]


def test_blank_mentions_find_nothing(space):
    hits = retrieve(space, [Query(Mention(" \n ")), Query(Mention("milk yield"))], 3)
    assert (hits.entities[0] == -1).all()
    assert hits.entities[1, 0] >= 0


def test_reformulations_are_mixed_into_the_query(space):
    plain = Query(Mention("quantity from the cow"))
    helped = Query(
        Mention("quantity from the cow"), standard_name=Mention("milk yield"), hypernym=Mention("yield trait")
    )
    assert ids(space, plain, weights=(0.4, 0.4, 0.2))[:1] != ["T:2"]
    assert ids(space, helped, weights=(0.4, 0.4, 0.2))[0] == "T:2"
    assert ids(space, plain, weights=(0.4, 0.3, 0.3)) == ids(space, plain)


def test_more_candidates_than_entities(space):
    hits = retrieve(space, [Query(Mention("yield"))], 1000)
    assert hits.entities.shape == (1, 1000)
    assert (hits.entities >= 0).sum() <= len(space.kb)


def test_batches_and_order_change_nothing(space):
    queries = [Query(Mention(text)) for text in ("fat", "milk", "eggs", "BF", "level", "trait", "yields")]
    whole = retrieve(space, queries, 4)
    backwards = retrieve(space, queries[::-1], 4)
    for one, other in zip(whole, backwards, strict=True):
        np.testing.assert_array_equal(one, other[::-1])


def test_an_unrelated_entity_changes_no_other_exact_link(traits):
    entities = [traits[id] for id in traits]
    more = KnowledgeBase.from_entities([*entities, Entity("Z:1", "wool colour")])
    space = EntitySpace.build(more, LexicalEncoder(), ExactIndex())
    assert ids(space, "milk yield")[0] == "T:2"


COLD = [Entity("A:1", "cold"), Entity("A:2", "low temperature", (Synonym("cold", "EXACT"),)), Entity("A:3", "ice cold")]


@pytest.mark.parametrize("name_pooling", [0.0, 0.5])
def test_a_shared_name_goes_to_the_entity_that_was_meant_most(name_pooling):
    kb = add_names(KnowledgeBase.from_entities(COLD), [AnnotatedName("cold", "A:2", 4), AnnotatedName("cold", "A:1")])
    space = EntitySpace.build(kb, LexicalEncoder(), ExactIndex(), Pooling(name_pooling))
    hits = retrieve(space, [Query(Mention("Cold")), Query(Mention("C"), long_form=Mention("cold"))], 3)
    for row in range(2):
        assert kb.ids_of(hits.entities[row, :2]) == ["A:2", "A:1"]
        assert hits.scores[row, :2].tolist() == pytest.approx([1, 1 - PRIOR * 3 / 4])
    candidates = CandidateScores(space, [Query(Mention("cold"))], np.array([[0, 1, 2, -1]]), Pooling())
    assert candidates.mixed((1, 0, 0))[0, :2].tolist() == pytest.approx([1 - PRIOR * 3 / 4, 1])


def test_what_filters_leave_out_has_no_claim_to_a_name():
    kb = add_names(KnowledgeBase.from_entities(COLD), [AnnotatedName("cold", "A:2", 4)])
    space = EntitySpace.build(kb, LexicalEncoder(), ExactIndex())
    hits = retrieve(space, [Query(Mention("cold"))], 3, allowed=np.array([True, False, True]))
    assert (kb.ids_of(hits.entities[0, :1]), hits.scores[0, 0]) == (["A:1"], 1)
