import pytest

from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.kb.relations import Relations
from spacy_ontolink.types import Entity

#      A
#     / \
#    B   C      X (alone)
#   / \   \
#  D   E   F
#  |
#  G (a child of F, too)
PARENTS = {"A": "", "B": "A", "C": "A", "D": "B", "E": "B", "F": "C", "G": "DF", "X": ""}


def made(parents):
    return KnowledgeBase.from_entities([Entity(id, f"term {id}", parents=(*up,)) for id, up in parents.items()])


@pytest.fixture(scope="module")
def relations():
    return Relations(
        KnowledgeBase.from_entities([Entity(id, f"term {id}", parents=(*up,)) for id, up in PARENTS.items()])
    )


@pytest.mark.parametrize(
    ("id", "other", "expected"),
    [
        ("B", "B", ("same", 0)),
        ("B", "D", ("parent", 1)),
        ("D", "B", ("child", 1)),
        ("D", "E", ("sibling", 2)),
        ("A", "D", ("ancestor", 2)),
        ("A", "G", ("ancestor", 3)),
        ("D", "A", ("descendant", 2)),
        ("D", "C", ("far", 3)),
        ("E", "F", ("far", 4)),
        ("F", "G", ("parent", 1)),
        ("E", "G", ("far", 3)),
        ("X", "G", ("far", None)),
    ],
)
def test_what_one_entity_is_to_another(relations, id, other, expected):
    assert relations.of(id, [other]) == expected


def test_the_nearest_of_several_counts(relations):
    assert relations.of("D", ["X", "F", "E"]) == ("sibling", 2)
    assert relations.of("D", ["nothing", "A"]) == ("descendant", 2)


def test_nothing_is_said_of_what_is_not_there(relations):
    assert relations.of("nothing", ["A"]) is None
    assert relations.of("A", ["nothing"]) is None
    flat = KnowledgeBase.from_entities([Entity("A", "one"), Entity("B", "two")])
    assert Relations(flat).of("A", ["B"]) is None


def test_cycles_end():
    kb = made({"A": "C", "B": "A", "C": "B"})
    assert Relations(kb).of("A", ["B"]) == ("parent", 1)
    assert Relations(kb).of("B", ["A"]) == ("child", 1)
