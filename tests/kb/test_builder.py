import logging

import pytest

from spacy_ontolink.errors import OntologyError
from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.kb.collector import CHUNK
from spacy_ontolink.types import Entity, Synonym


class Strict:
    path = "odd.obo"

    def problem(self, kind, detail, line=None):
        raise OntologyError(f"{self.path}: {kind}: {detail}")


class Counting:
    path = "odd.obo"

    def __init__(self):
        self.seen = []

    def problem(self, kind, detail, line=None):
        self.seen.append((kind, detail))


def problems(entities):
    """Build, and return the knowledge base and the problems met."""
    report = Counting()
    return KnowledgeBase.from_entities(entities, name="odd", report=report), report.seen


@pytest.mark.parametrize("name", ["", "  \u00a0", "T:2", "T_2", "-"])
def test_entity_without_a_name_is_left_out_and_counted(name):
    kb, seen = problems([Entity("T:1", "real"), Entity("T:2", name, (Synonym("x", "EXACT"),))])
    assert list(kb) == ["T:1"] and "T:2" not in kb
    assert seen == [("entity without a name", "T:2")]
    assert kb.facts["problems"] == {"entity without a name": 1}


@pytest.mark.parametrize("id", ["aspirin", "vitamin C", "C0004057"])
def test_plain_word_may_be_id_and_name(id):
    kb, seen = problems([Entity(id, id), Entity("ibuprofen", "ibuprofen")])
    assert list(kb) == [id, "ibuprofen"] and kb.lookup(id).tolist() == [0] and not seen


@pytest.mark.parametrize("id", ["T:2", "T_2", "http://example.org/T2"])
def test_what_looks_like_an_id_is_no_name_of_its_own(id):
    kb, seen = problems([Entity("T:1", "real"), Entity(id, id)])
    assert list(kb) == ["T:1"] and seen == [("entity without a name", id)]


def test_mostly_nameless_is_an_error():
    entities = [Entity("T:1", "real"), Entity("T:2", ""), Entity("T:3", "T:3")]
    with pytest.raises(OntologyError, match=r"^odd.obo: 2 of 3 entities have no name"):
        problems(entities)


def test_nameless_terms_of_other_ontologies_may_be_many():
    kb, seen = problems([Entity("T:1", "real"), *(Entity(f"GO:{n}", "") for n in range(5))])
    assert len(kb) == 1 and len(seen) == 5


def test_all_nameless_is_an_error():
    with pytest.raises(OntologyError, match=r"^odd.obo: 2 of 2 entities have no name"):
        problems([Entity("T:1", ""), Entity("GO:1", "GO:1")])


@pytest.mark.parametrize(
    ("entities", "message"),
    [
        ([], "onto: no entity with a name in it"),
        ([Entity("T:1", "old", obsolete=True)], "1 obsolete, 0 without a name"),
    ],
)
def test_nothing_to_link_to_is_an_error(entities, message):
    with pytest.raises(OntologyError, match=message):
        KnowledgeBase.from_entities(entities, name="onto")


def test_entity_without_an_id_is_left_out():
    kb, seen = problems([Entity("", "nobody"), Entity("T:1", "somebody")])
    assert list(kb) == ["T:1"] and seen == [("entity without an id", "nobody")]


def test_no_entity_has_the_id_of_none():
    kb, seen = problems([Entity("NIL", "nobody"), Entity("T:1", "somebody")])
    assert list(kb) == ["T:1"]
    assert seen == [("entity with the id NIL, which means none", "nobody")]


def test_white_space_around_and_within_names_is_cleaned():
    kb, _ = problems([Entity("T:1", "fat content\u00a0", (Synonym(" fat\n\tshare "),))])
    assert kb.name_texts() == ["fat content", "fat share"]


def test_repeated_names_of_an_entity_are_dropped_after_normalising():
    kb, _ = problems([Entity("T:1", "Milk yield", (Synonym("milk-yield"), Synonym("MY", "EXACT"), Synonym("my")))])
    assert kb["T:1"].synonyms == (Synonym("MY", "EXACT"),)


def test_synonym_cannot_be_a_primary_name():
    kb, _ = problems([Entity("T:1", "a", (Synonym("b", "NAME"),))])
    assert kb["T:1"].synonyms == (Synonym("b", "EXACT"),)


def test_repeated_id_keeps_the_first_and_makes_the_other_name_a_synonym():
    kb, seen = problems(
        [
            Entity("T:1", "first", definition="one"),
            Entity("T:2", "other"),
            Entity("T:1", "second", (Synonym("third"),), definition="two"),
        ]
    )
    assert list(kb) == ["T:1", "T:2"]
    assert kb["T:1"] == Entity("T:1", "first", (Synonym("second", "EXACT"), Synonym("third")), definition="one")
    assert seen == [("duplicate id with another name", "T:1")]


def test_repeated_id_with_the_same_name_is_no_problem():
    kb, seen = problems([Entity("T:1", "first"), Entity("T:1", "First", (Synonym("more"),))])
    assert kb["T:1"].synonyms == (Synonym("more"),) and not seen


def test_live_record_wins_over_an_obsolete_one_of_the_same_id():
    kb, _ = problems([Entity("T:1", "old", obsolete=True), Entity("T:1", "new")])
    assert kb["T:1"] == Entity("T:1", "new", (Synonym("old", "EXACT"),))


def test_is_a_cycle_self_loop_and_dangling_parent_are_counted():
    kb, seen = problems(
        [
            Entity("T:5", "five", parents=("T:6", "T:99")),
            Entity("T:6", "six", parents=("T:5", "T:6")),
            Entity("T:7", "seven", parents=("T:7",)),
        ]
    )
    assert kb.parents("T:5") == kb.children("T:5") == kb.ancestors("T:5") == kb.neighbours("T:5") == ["T:6"]
    assert kb.siblings("T:5") == kb.parents("T:7") == []
    assert sorted(seen) == [
        ("dangling parent", "T:5 is_a T:99"),
        ("is_a cycle", "T:5, T:6"),
        ("is_a self loop", "T:6"),
        ("is_a self loop", "T:7"),
    ]
    assert kb["T:5"].parents == ("T:6", "T:99")  # as given


def test_parent_given_by_an_old_id_is_found():
    kb, seen = problems(
        [
            Entity("T:1", "one", parents=("T:10", "T:11", "T:2")),
            Entity("T:2", "two", alt_ids=("T:10",)),
            Entity("T:11", "old", obsolete=True, replaced_by=("T:2",)),
        ]
    )
    assert kb.parents("T:1") == ["T:2"] and not seen


def test_without_a_report_there_is_one_warning(caplog):
    with caplog.at_level(logging.WARNING):
        kb = KnowledgeBase.from_entities([Entity("T:1", "a", parents=("T:8", "T:1")), Entity("T:2", "")], name="odd")
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "odd: 3 problem(s)" in caplog.text and "entity without a name (T:2)" in caplog.text
    assert kb.statistics()["problems"] == {"entity without a name": 1, "dangling parent": 1, "is_a self loop": 1}


def test_strict_report_stops_the_build():
    with pytest.raises(OntologyError, match="dangling parent: T:1 is_a T:8"):
        KnowledgeBase.from_entities([Entity("T:1", "a", parents=("T:8",))], report=Strict())


def test_several_ontologies_keep_their_prefixes():
    kb, seen = problems([Entity("CMO:1", "a"), Entity("VT:1", "a"), Entity("VT:2", "b"), Entity("plain", "c")])
    assert kb.prefixes() == {"VT": 2, "CMO": 1, "": 1}
    assert kb.lookup("a").tolist() == [0, 1] and not seen


def test_more_entities_than_a_chunk():
    entities = (Entity(f"T:{n}", f"name {n}", parents=(f"T:{n // 2}",) if n else ()) for n in range(CHUNK + 10))
    kb = KnowledgeBase.from_entities(entities)
    assert len(kb) == CHUNK + 10
    assert kb.names_of([CHUNK - 1, CHUNK, CHUNK + 9]) == [f"name {n}" for n in (CHUNK - 1, CHUNK, CHUNK + 9)]
    assert kb.parents(f"T:{CHUNK + 1}") == [f"T:{CHUNK // 2}"]
