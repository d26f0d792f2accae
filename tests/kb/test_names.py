import itertools
import logging

import pytest

from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.kb.names import SHARED_BY
from spacy_ontolink.types import Entity, Synonym


def marked(count, text, scope, *more, **options):
    entities = [Entity(f"T:{n}", f"name {n}", (Synonym(text, scope), Synonym(f"other {n}"))) for n in range(count)]
    return KnowledgeBase.from_entities([*entities, *more], name="marked", **options)


def test_related_synonym_of_dozens_is_dropped_and_reported(caplog):
    with caplog.at_level(logging.INFO):
        kb = marked(SHARED_BY, "Not4Use", "RELATED")
    assert kb.lookup("not4use").tolist() == []
    assert kb.lookup("other 3").tolist() == [3]
    assert kb.facts["stop_synonyms"] == kb.statistics()["stop_synonyms"] == {"Not4Use": SHARED_BY}
    assert f"'Not4Use' ({SHARED_BY} entities)" in caplog.text


def test_fewer_are_kept():
    assert len(marked(SHARED_BY - 1, "Not4Use", "RELATED").lookup("not4use")) == SHARED_BY - 1


def test_exact_synonym_of_five_hundred_stays():
    assert marked(500, "BF", "EXACT").lookup("bf").tolist() == list(range(500))


def test_only_the_inexact_ones_are_dropped():
    exact = Entity("X:1", "special", (Synonym("not4use", "EXACT"),))
    assert marked(30, "Not4Use", "BROAD", exact).lookup("not4use").tolist() == [30]


def test_shared_synonym_that_is_somebodys_name_stays():
    assert len(marked(30, "BF", "RELATED", Entity("X:1", "BF")).lookup("bf")) == 31


def test_rule_can_be_switched_off():
    assert len(marked(30, "Not4Use", "RELATED", stop_synonyms=False).lookup("not4use")) == 30


def test_list_replaces_the_rule():
    kb = marked(30, "Not4Use", "RELATED", Entity("X:1", "Other-1"), stop_synonyms=["OTHER 1", "unheard of"])
    assert len(kb.lookup("not4use")) == 30
    assert kb.lookup("other 1").tolist() == [30]  # a primary name is never dropped
    assert kb.facts["stop_synonyms"] == {"other 1": 1}


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_of_synonyms_alike_the_closest_scope_stays_in_the_first_place(order):
    alike = [Synonym("fat share", "BROAD", "b"), Synonym("Fat-Share", "EXACT", "e"), Synonym("FAT SHARE", "RELATED")]
    synonyms = [alike[number] for number in order]
    entity = Entity("T:1", "fat", (synonyms[0], Synonym("BF"), *synonyms[1:], Synonym("Fat", "EXACT")))
    kb = KnowledgeBase.from_entities([Entity("T:0", "fat share"), entity])
    assert kb["T:1"] == Entity("T:1", "fat", (alike[1], Synonym("BF")))
    assert kb.lookup("fat share").tolist() == [0, 1]


def test_of_equal_scopes_the_first_stays():
    kb = KnowledgeBase.from_entities([Entity("T:1", "a", (Synonym("B c", "EXACT", "x"), Synonym("b-c", "EXACT")))])
    assert kb["T:1"].synonyms == (Synonym("B c", "EXACT", "x"),)


def test_an_own_synonym_goes_before_an_inherited_one():
    old = Entity("T:9", "Fat-share", obsolete=True, replaced_by=("T:1",))
    kb = KnowledgeBase.from_entities([old, Entity("T:1", "fat", (Synonym("fat share", "RELATED", "x"),))])
    assert kb["T:1"].synonyms == (Synonym("fat share", "RELATED", "x"),)


def test_names_without_type_and_with(toy):
    assert set(toy.name_type(range(toy.n_names))) == {"", "abbreviation", "obsolete"}
