import pytest

from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.training.annotations import Annotation, make_examples
from spacy_ontolink.training.batches import Example
from spacy_ontolink.types import Entity, Mention, Synonym


@pytest.fixture(scope="module")
def kb():
    return KnowledgeBase.from_entities(
        [
            Entity("T:0", "fat", (Synonym("BF"),), alt_ids=("T:00",)),
            Entity("T:1", "breast feeding", (Synonym("bf"),)),
            Entity("T:2", "milk yield"),
            Entity("T:3", "old yield", obsolete=True, replaced_by=("T:2",)),
            Entity("T:4", "gone", obsolete=True),
        ]
    )


def annotation(text, *ids, place=None, weight=1.0):
    return Annotation(Mention(text, "left ", " right"), place or (text, ids), ids, weight)


def test_in_context_each_mention_stands_alone(kb):
    found = make_examples(kb, [annotation("BF", "T:0", place=n) for n in (1, 2)], context=True)
    assert found.examples == [Example(Mention("BF", "left ", " right"), 0)] * 2


def test_other_right_ids_are_spared(kb):
    """Whether they stand in one annotation, or in several of one place."""
    one = make_examples(kb, [annotation("x", "T:0", "T:3", "T:9")], context=True).examples
    assert [(e.entity, e.others, e.weight) for e in one] == [(0, (2,), 0.5), (2, (0,), 0.5)]
    two = [annotation("x", id, place=1) for id in ("T:00", "T:3")]
    assert [(e.entity, e.others, e.weight) for e in make_examples(kb, two, context=True).examples] == [
        (0, (2,), 1.0),
        (2, (0,), 1.0),
    ]


def test_without_context_equal_texts_are_one(kb):
    given = [annotation("Yields", "T:2"), annotation("yields", "T:2", weight=0.5), annotation("yields", "T:0")]
    found = make_examples(kb, given, context=False)
    assert found.examples == [Example(Mention("yields"), 2, (0,), 0.75), Example(Mention("yields"), 0, (2,), 1.0)]


def test_without_context_all_of_that_name_are_spared(kb):
    assert make_examples(kb, [annotation("bf", "T:2")], context=False).examples[0].others == (0, 1)
    assert make_examples(kb, [annotation("bf", "T:2")], context=True).examples[0].others == ()


def test_what_is_left_out_is_counted(kb):
    given = [
        annotation("a"),
        annotation("b", "T:4"),
        annotation("c", "X:1"),
        annotation(" ­", "T:0"),
        annotation("d", "T:0"),
    ]
    found = make_examples(kb, given, context=True)
    assert (len(found.examples), found.without_id, found.unknown, found.blank) == (1, 1, 2, 1)
