import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_ontolink.errors import OntolinkError, UnknownIdError
from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.text import normalise
from spacy_ontolink.types import SCOPES, Entity, Synonym


def test_live_entities_are_counted_in_the_order_read(toy):
    assert len(toy) == 7
    assert list(toy) == ["T:0", "T:1", "T:2", "T:3", "T:4", "T:7", "X:9"]
    assert toy.names_of([2, 0]) == ["milk yield", "trait"]
    assert "toy" in repr(toy)


def test_names_follow_one_another_by_owner(toy):
    assert toy.n_names == len(toy.name_owner) == len(toy.name_scope) == len(toy.name_texts())
    assert (np.diff(toy.name_owner) >= 0).all()
    assert [SCOPES[code] for code in toy.name_scope[toy.primary_names()]] == ["NAME"] * len(toy)
    of_milk_yield = np.flatnonzero(toy.name_owner == 2)
    assert toy.texts_of(of_milk_yield) == ["milk yield", "yield of milk", "MY"]
    assert toy.name_type(of_milk_yield) == ["", "obsolete", "obsolete"]
    assert toy.name_texts(1, 3) == ["body fat percentage", "fat percentage"]
    assert toy.name_texts(toy.n_names - 1, toy.n_names + 99) == ["BF"]


def test_entity_comes_back_as_it_was_given(toy, toy_entities):
    for given_entity in toy_entities:
        if given_entity.id not in ("T:2", "T:4"):
            assert toy[given_entity.id] == given_entity
    assert toy["T:2"].synonyms == (
        Synonym("yield of milk", "RELATED", "obsolete"),
        Synonym("MY", "RELATED", "obsolete"),
    )
    assert toy["T:4"].synonyms == ()  # the same as its name after normalise()


def test_alt_id_gives_the_live_entity(toy):
    assert toy["T:21"].id == "T:2"
    assert toy.resolve("T:21") == "T:2"
    assert "T:21" in toy
    assert toy.number_of("T:21") == -1


def test_unknown_id(toy):
    assert "T:99" not in toy and 5 not in toy
    assert toy.resolve("T:99") is None
    assert toy.number_of("T:99") == -1
    with pytest.raises(KeyError, match="No entity with id 'T:99'") as caught:
        toy["T:99"]
    assert isinstance(caught.value, OntolinkError)
    assert str(caught.value).startswith("No entity")
    for relation in (toy.parents, toy.children, toy.siblings, toy.ancestors, toy.neighbours):
        with pytest.raises(UnknownIdError):
            relation("T:99")


def test_numbers_of_knows_live_ids_only(toy):
    assert toy.numbers_of(["X:9", "T:8", "T:21", "", "T:0", "nothing"]).tolist() == [6, -1, -1, -1, 0, -1]
    assert toy.numbers_of([]).tolist() == []
    assert toy.numbers_of(toy.ids_of(range(len(toy)))).tolist() == list(range(len(toy)))


def test_arrays_of_any_shape_are_flattened(toy):
    assert toy.ids_of(np.array([[0, 1], [1, 0]])) == ["T:0", "T:1", "T:1", "T:0"]
    assert toy.ids_of([]) == toy.texts_of(np.zeros((0, 4), np.int32)) == []


@pytest.mark.parametrize("numbers", [[-1], [0, 7], [-5, 100]])
def test_numbers_out_of_range_are_refused(toy, numbers):
    with pytest.raises(IndexError, match="Entity numbers must be between 0 and 6"):
        toy.ids_of(numbers)
    with pytest.raises(IndexError):
        toy.names_of(numbers)
    with pytest.raises(IndexError):
        toy.texts_of([toy.n_names])


@pytest.mark.parametrize("text", ["β-carotene level", "beta-carotene level", "Beta  Carotene\nLevel"])
def test_lookup_is_by_normalised_text(toy, text):
    assert toy.lookup(text).tolist() == [4]


def test_lookup_gives_all_owners_primary_names_first():
    kb = KnowledgeBase.from_entities(
        [
            Entity("L:91", "udder weight", (Synonym("breast weight", "EXACT"),)),
            Entity("L:5", "chest weight", (Synonym("Breast-weight"),)),
            Entity("L:127", "breast weight"),
        ]
    )
    assert kb.lookup("breast weight").tolist() == [2, 0, 1]
    assert kb.lookup("nothing").tolist() == kb.lookup(" \n ").tolist() == kb.lookup("").tolist() == []


def test_one_name_of_seven_entities():
    kb = KnowledgeBase.from_entities([Entity(f"V:{n}", "IEL-like trait") for n in range(7)])
    assert kb.lookup("iel like trait").tolist() == list(range(7))
    assert kb.statistics()["ambiguous_names"] == 1


def test_texts_of_one_hash_are_told_apart(monkeypatch, toy_entities):
    def weak(texts):
        return np.array([len(text) % 2 for text in texts], np.uint64)

    for module in ("ids", "builder", "lookup"):
        monkeypatch.setattr(f"spacy_ontolink.kb.{module}.hash_texts", weak)
    kb = KnowledgeBase.from_entities(toy_entities)
    assert [kb.number_of(id_) for id_ in kb] == list(range(len(kb)))
    assert kb.numbers_of([*kb, "T:98"]).tolist() == [*range(len(kb)), -1]
    assert kb.resolve("T:20") == "T:2" and kb.resolve("T:98") is None


def test_lookup_compares_the_text_too(monkeypatch, toy):
    key = toy.tables["lookup"].values("hash")[:1]
    monkeypatch.setattr("spacy_ontolink.kb.lookup.hash_texts", lambda texts: key)
    assert toy.lookup("a text of the same hash").tolist() == []


def test_hierarchy(toy):
    assert toy.parents("T:2") == ["T:3"] and toy.parents("T:0") == []
    assert toy.children("T:3") == ["T:2", "T:7"]
    assert toy.siblings("T:2") == ["T:7"]
    assert toy.siblings("X:9") == []
    assert toy.ancestors("T:2") == ["T:3", "T:0"]
    assert toy.neighbours("T:3") == ["T:0", "T:1", "T:2", "T:4", "T:7"]
    assert toy.neighbours("T:3", siblings=False) == ["T:0", "T:2", "T:7"]
    assert toy.roots() == ["T:0", "X:9"]


def test_hierarchy_of_an_old_id_is_that_of_its_replacement(toy):
    assert toy.parents("T:8") == toy.parents("T:20") == ["T:3"]


def test_hierarchy_of_a_dead_id_is_empty():
    kb = KnowledgeBase.from_entities([Entity("T:1", "a", parents=("T:2",)), Entity("T:2", "b", obsolete=True)])
    assert kb.parents("T:2") == kb.siblings("T:2") == kb.ancestors("T:2") == kb.neighbours("T:2") == []


def test_matrices_are_the_hierarchy(toy):
    assert toy.parent_matrix.shape == (7, 7)
    assert (toy.parent_matrix.T != toy.child_matrix).nnz == 0
    assert toy.parent_matrix.dtype == np.float32
    assert toy.parent_matrix.indices[toy.parent_matrix.indptr[2]] == 3
    assert (toy.parent_matrix @ np.ones(7, np.float32)).tolist() == [0, 1, 1, 1, 1, 1, 0]


def test_matrices_of_an_opened_knowledge_base_can_be_computed_with(toy, tmp_path):
    toy.to_disk(tmp_path / "kb")
    opened = KnowledgeBase.from_disk(tmp_path / "kb")
    product = opened.parent_matrix @ opened.child_matrix
    assert product.nnz > 0 and (opened.parent_matrix + opened.child_matrix).nnz == 10


def test_definition(toy):
    assert toy.definition_of(1) == "Share of fat in the body."
    assert toy.definition_of(0) == ""


def test_one_entity_without_hierarchy():
    kb = KnowledgeBase.from_entities([Entity("lonely", "only one")])
    assert len(kb) == 1 and kb.roots() == ["lonely"] and kb.parent_matrix.nnz == 0
    assert kb.siblings("lonely") == kb.ancestors("lonely") == []
    assert kb.statistics()["depth"] == 0 and kb.prefixes() == {"": 1}


def test_unicode_and_very_long_names():
    long = "x" * 200_000
    kb = KnowledgeBase.from_entities(
        [
            Entity("U:1", "脂肪 率", (Synonym("نسبة", "EXACT"), Synonym("😀 fat"))),
            Entity("U:2", long),
            Entity("ü:3", "naïve"),
        ]
    )
    assert kb["U:1"].synonyms == (Synonym("نسبة", "EXACT"), Synonym("😀 fat"))
    assert kb.lookup(long).tolist() == [1] and kb.lookup("nai\u0308ve").tolist() == [2]
    assert kb.number_of("ü:3") == 2


def test_lone_surrogates_do_no_harm():
    kb = KnowledgeBase.from_entities([Entity("S:1", "a \ud83d b", xrefs=("\ud83d",))])
    assert kb.names_of([0]) == ["a \ufffd b"]
    assert kb.lookup("a \ud83d b").tolist() == [0]
    assert "\ud83d" not in kb and kb.resolve("\ud83d") is None


def test_pickle(toy):
    copy = pickle.loads(pickle.dumps(toy))
    assert copy.hash == toy.hash and copy["T:1"] == toy["T:1"]


def test_importing_needs_no_arrow():
    code = "import sys, spacy_ontolink.kb; sys.exit(any(m in sys.modules for m in ('pyarrow', 'sklearn', 'torch')))"
    subprocess.run([sys.executable, "-c", code], check=True)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(texts, st.lists(texts, max_size=3)), min_size=1, max_size=8))
def test_every_name_finds_its_entity(entries):
    entities = [
        Entity(f"H:{n}", f"name {n} {name}", tuple(Synonym(text, "EXACT") for text in synonyms))
        for n, (name, synonyms) in enumerate(entries)
    ]
    kb = KnowledgeBase.from_entities(entities)
    for number, entity in enumerate(entities):
        for text in (entity.name, *(synonym.text for synonym in entity.synonyms)):
            assert number in kb.lookup(text) or not normalise(text)
    again = KnowledgeBase.from_entities([kb[id_] for id_ in kb])
    assert again.hash == kb.hash


@pytest.mark.parametrize("id", [None, 5, ""])
def test_what_is_no_id(toy, id):
    assert toy.resolve(id) is None
    assert id not in toy
    with pytest.raises(UnknownIdError):
        toy[id]
