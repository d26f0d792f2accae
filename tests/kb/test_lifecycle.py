import logging

import pytest

from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.kb.lifecycle import first_targets, live_targets
from spacy_ontolink.types import Entity, Synonym


class Report:
    def __init__(self):
        self.seen = []

    def problem(self, kind, detail, line=None):
        self.seen.append((kind, detail))


def old(id_, *replaced_by, **fields):
    return Entity(id_, f"old {id_}", obsolete=True, replaced_by=replaced_by, **fields)


def build(*entities):
    report = Report()
    live = [Entity("T:2", "milk yield"), Entity("T:3", "egg yield")]
    return KnowledgeBase.from_entities([*entities, *live], name="t", report=report), report.seen


def test_replaced_entity_leads_to_its_replacement():
    kb, seen = build(old("T:8", "T:2"))
    assert kb.resolve("T:8") == "T:2" and "T:8" in kb and kb.number_of("T:8") == -1
    assert kb.lookup("old T:8").tolist() == [0]
    assert kb["T:8"].obsolete and kb["T:8"].name == "old T:8"
    assert not seen


def test_names_that_the_replacement_has_already_are_not_repeated():
    kb, _ = build(Entity("T:8", "Milk-yield", (Synonym("MY", "EXACT"),), obsolete=True, replaced_by=("T:2",)))
    assert kb["T:2"].synonyms == (Synonym("MY", "RELATED", "obsolete"),)
    assert kb["T:8"].synonyms == (Synonym("MY", "EXACT"),)


@pytest.mark.parametrize("name", ["obsolete fat yield", "OBSOLETE: fat yield", "obsolete_fat yield"])
def test_replacement_gets_the_name_without_the_mark(name):
    kb, _ = build(Entity("T:8", name, obsolete=True, replaced_by=("T:2",)))
    assert kb["T:2"].synonyms == (Synonym("fat yield", "RELATED", "obsolete"),)
    assert kb["T:8"].name == name


def test_replacement_cycle_leads_nowhere(caplog):
    with caplog.at_level(logging.WARNING):
        kb, seen = build(old("T:8", "T:9"), old("T:9", "T:8"))
    assert kb.resolve("T:8") is kb.resolve("T:9") is None
    assert kb.lookup("old T:8").tolist() == []
    assert {kind for kind, _ in seen} == {"replacement obsolete or in a cycle"}
    assert "obsolete entities without a live replacement: 2;" in caplog.text


def test_consider_alone_is_no_replacement(caplog):
    with caplog.at_level(logging.WARNING):
        kb, seen = build(old("T:8", consider=("T:2",)))
    assert kb.resolve("T:8") is None and kb["T:8"].consider == ("T:2",)
    assert not seen  # ordinary content, even in strict mode
    assert "obsolete entities without a live replacement: 1;" in caplog.text


def test_chain_of_replacements_is_followed():
    chain = [old(f"O:{n}", f"O:{n + 1}") for n in range(300)]
    kb, seen = build(*chain, old("O:300", "T:2"))
    assert kb.resolve("O:0") == "T:2" and not seen
    assert kb.lookup("old O:7").tolist() == [0]


def test_two_replacements_both_get_the_names_and_the_first_gets_the_id():
    kb, _ = build(old("T:8", "T:3", "T:2"))
    assert kb.resolve("T:8") == "T:3"
    assert kb.lookup("old T:8").tolist() == [0, 1]


def test_first_live_of_several_replacements():
    kb, _ = build(old("T:8", "T:9", "nothing", "T:2"), old("T:9"))
    assert kb.resolve("T:8") == "T:2"


def test_replacement_that_is_no_id():
    kb, seen = build(old("T:8", "false"))
    assert kb.resolve("T:8") is None
    assert seen == [("replacement missing", "T:8")]


def test_alt_id_that_is_live_stays_itself():
    kb, _ = build(Entity("T:5", "five", alt_ids=("T:2", "T:5")))
    assert kb.resolve("T:2") == "T:2" and kb["T:2"].name == "milk yield"
    assert kb.lookup("milk yield").tolist() == [kb.number_of("T:2")]


def test_alt_id_that_is_an_obsolete_entity_leads_to_its_holder():
    kb, seen = build(old("T:50"), Entity("T:5", "five", alt_ids=("T:50",)))
    assert kb.resolve("T:50") == "T:5" and not seen
    assert kb.lookup("old T:50").tolist() == [kb.number_of("T:5")]
    assert kb["T:50"].name == "old T:50"  # it is still an entity of its own


def test_explicit_replacement_goes_before_the_holder_of_the_alt_id():
    kb, _ = build(old("T:50", "T:3"), Entity("T:5", "five", alt_ids=("T:50",)))
    assert kb.resolve("T:50") == "T:3"


def test_replacement_by_an_alt_id():
    kb, _ = build(old("T:8", "T:50"), Entity("T:5", "five", alt_ids=("T:50",)))
    assert kb.resolve("T:8") == "T:5"


def test_alt_id_of_an_obsolete_entity():
    kb, _ = build(old("T:8", "T:2", alt_ids=("T:80",)), old("T:9", alt_ids=("T:90",)))
    assert kb.resolve("T:80") == "T:2" and kb["T:80"].id == "T:8"
    assert kb.resolve("T:90") is None and "T:90" in kb


def test_alt_id_of_two_entities_goes_to_the_first():
    kb, _ = build(Entity("T:5", "five", alt_ids=("T:50",)), Entity("T:6", "six", alt_ids=("T:50",)))
    assert kb.resolve("T:50") == "T:5"


def test_obsolete_entity_without_a_name_still_resolves():
    kb, seen = build(Entity("T:8", "", (Synonym("MY"),), obsolete=True, replaced_by=("T:2",)))
    assert kb.resolve("T:8") == "T:2" and kb["T:8"].name == "" and not seen
    assert kb.lookup("my").tolist() == [0]


@pytest.mark.parametrize(
    ("successors", "expected"),
    [([[3], [2, 0], [-1]], [0, 0, -1]), ([[2]], [-1]), ([[1, 0]], [1]), ([[3], [2, 1]], [1, 1]), ([], [])],
)
def test_live_targets(successors, expected):
    assert first_targets(live_targets(successors, 2)).tolist() == expected
