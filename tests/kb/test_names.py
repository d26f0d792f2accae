import logging

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


def test_names_without_type_and_with(toy):
    assert set(toy.name_type(range(toy.n_names))) == {"", "abbreviation", "obsolete"}
