import logging

import pytest

from spacy_ontolink.errors import ConfigError
from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.kb.filters import kinds
from spacy_ontolink.types import Entity


def ids(kb, **wanted):
    return kb.ids_of(kb.mask(**wanted).nonzero()[0])


def test_no_filter_lets_everything_through(toy):
    assert toy.mask().all() and toy.mask().shape == (7,)


@pytest.mark.parametrize("prefix", ["X", "X:"])
def test_prefix(toy, prefix):
    assert ids(toy, prefixes=[prefix]) == ["X:9"]


def test_branch_is_the_root_and_all_below(toy):
    assert ids(toy, branches=["T:3"]) == ["T:2", "T:3", "T:7"]
    assert ids(toy, branches=["T:2", "X:9"]) == ["T:2", "X:9"]
    assert ids(toy, branches=["T:8"]) == ["T:2"]  # by an old id


def test_type_is_a_type_or_a_namespace(toy):
    assert ids(toy, types=["slim"]) == ["T:0", "T:2"]
    assert ids(toy, types=["trait_ontology", "slim"]) == ["T:0", "T:1", "T:2"]
    assert toy.types() == {"slim": 2, "trait_ontology": 2, "upper": 1}


def test_union_within_a_kind_and_intersection_between(toy):
    assert ids(toy, prefixes=["T", "X"], branches=["T:3"], types=["slim"]) == ["T:2"]


@pytest.mark.parametrize(("kind", "known"), [("prefix", "T, X"), ("type", "slim, trait_ontology, upper")])
def test_unknown_value_is_warned_about(toy, caplog, kind, known):
    with caplog.at_level(logging.WARNING):
        mask = toy.mask(**{f"{kind}{'es' if kind == 'prefix' else 's'}": ["no-such"]})
    assert not mask.any()
    assert f"the {kind} 'no-such'; known ones: {known}" in caplog.text


def test_unknown_branch_is_an_error(toy):
    with pytest.raises(ConfigError, match=r"No branch 'T:99' .*roots are: T:0, X:9$"):
        toy.mask(branches=["T:99"])


def test_many_roots_are_not_all_listed():
    kb = KnowledgeBase.from_entities([Entity(f"T:{n}", f"name {n}") for n in range(30)])
    with pytest.raises(ConfigError, match="and 10 more"):
        kb.mask(branches=["x"])


def test_ids_without_prefix():
    kb = KnowledgeBase.from_entities([Entity("C001", "a"), Entity("A:B:C", "b"), Entity(":x", "c")])
    assert kb.prefixes() == {"": 2, "A": 1}


def test_kinds_are_all_that_filters_but_branches_go_by():
    entities = [
        Entity("T:1", "a", namespace="x", types=("p", "q")),
        Entity("T:2", "b"),
        Entity("U:1", "c", namespace="x", types=("p", "q")),
        Entity("T:3", "d", namespace="x", types=("p", "q")),
        Entity("C9", "e"),
    ]
    kind, texts = kinds(KnowledgeBase.from_entities(entities))
    assert [texts[number] for number in kind] == ["T | x | p, q", "T", "U | x | p, q", "T | x | p, q", ""]
    assert len(texts) == 4
