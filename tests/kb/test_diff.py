from dataclasses import replace

import numpy as np
import pytest

from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.kb.diff import KINDS, compare
from spacy_ontolink.types import Entity, Synonym

OLD = (
    Entity("T:0", "trait"),
    Entity("T:1", "fat percentage", (Synonym("BF"), Synonym("fat content", "EXACT")), "Share of fat.", ("T:0",)),
    Entity("T:2", "milk yield", (), "Amount of milk.", ("T:3",)),
    Entity("T:3", "yield trait", parents=("T:0",)),
    Entity("T:4", "egg yield", parents=("T:3",)),
    Entity("T:5", "wool length", parents=("T:6",)),
    Entity("T:6", "wool trait", parents=("T:0",)),
    Entity("T:7", "wool colour", parents=("T:6",)),
    Entity("T:9", "yield of meat", obsolete=True, replaced_by=("T:3",)),
)
EVERY = {"added", "retired", "merged", *KINDS}


def build(entities):
    return KnowledgeBase.from_entities(entities, name="toy")


def changed(id, **fields):
    return [replace(entity, **fields) if entity.id == id else entity for entity in OLD]


def without(*ids):
    return [entity for entity in OLD if entity.id not in ids]


def kinds(diff):
    """Ids by kind of change, those of a kind without any left out; merged ones with what they lead to."""
    old, new = diff.old, diff.new
    found = {kind: new.ids_of(np.flatnonzero(getattr(diff, kind))) for kind in ("added", *KINDS)}
    found["retired"] = old.ids_of(diff.retired)
    found["merged"] = list(zip(old.ids_of(diff.merged), new.ids_of(diff.heirs[diff.heirs >= 0]), strict=True))
    return {kind: ids for kind, ids in found.items() if ids}


def marked(diff, mask):
    return diff.new.ids_of(np.flatnonzero(mask))


@pytest.mark.parametrize(
    ("entities", "expected"),
    [
        ([*OLD, Entity("T:10", "new")], {"added": ["T:10"]}),
        (without("T:7"), {"retired": ["T:7"]}),
        (changed("T:7", obsolete=True), {"retired": ["T:7"]}),
        (changed("T:2", name="yield of milk"), {"renamed": ["T:2"]}),
        (
            changed("T:2", name="yield of milk", synonyms=(Synonym("milk yield", "EXACT"),)),
            {"renamed": ["T:2"], "names_changed": ["T:2"]},
        ),
        (changed("T:1", synonyms=(Synonym("BF"),)), {"names_changed": ["T:1"]}),
        (
            changed("T:1", synonyms=(Synonym("BF", "EXACT"), Synonym("fat content", "EXACT"))),
            {"names_changed": ["T:1"]},
        ),
        (changed("T:1", synonyms=tuple(reversed(OLD[1].synonyms))), {}),
        (changed("T:5", parents=("T:0",)), {"reparented": ["T:5"]}),
        (changed("T:5", parents=("T:6", "T:3")), {"reparented": ["T:5"]}),
        (changed("T:2", definition="Amount."), {"redefined": ["T:2"]}),
        (changed("T:2", definition=""), {"redefined": ["T:2"]}),
        (changed("T:2", alt_ids=("T:99",), xrefs=("X:1",)), {}),
        (list(reversed(OLD)), {}),
        (list(OLD), {}),
    ],
)
def test_kinds_of_change(entities, expected):
    assert kinds(compare(build(OLD), build(entities))) == expected


@pytest.mark.parametrize("how", ["alt id", "replacement", "chain"])
def test_merged_entities_lead_to_another(how):
    gone = {
        "alt id": [],
        "replacement": [Entity("T:4", "egg yield", obsolete=True, replaced_by=("T:2",))],
        "chain": [
            Entity("T:4", "egg yield", obsolete=True, replaced_by=("T:8",)),
            Entity("T:8", "x", obsolete=True, replaced_by=("T:2",)),
        ],
    }[how]
    alt_ids = ("T:4",) if how == "alt id" else ()
    new = [replace(entity, alt_ids=alt_ids) if entity.id == "T:2" else entity for entity in without("T:4")]
    found = kinds(compare(build(OLD), build([*new, *gone])))
    assert found["merged"] == [("T:4", "T:2")]
    # An obsolete frame hands its name on; an alt id alone has none.
    assert found.get("names_changed", []) == ([] if how == "alt id" else ["T:2"])


def test_an_obsolete_entity_that_comes_back_is_added():
    diff = compare(build(OLD), build(changed("T:9", obsolete=False, replaced_by=(), parents=("T:3",))))
    assert kinds(diff) == {"added": ["T:9"], "names_changed": ["T:3"]}  # which loses the name it had inherited


def test_a_parent_that_was_merged_moves_its_children():
    new = [replace(entity, alt_ids=("T:6",)) if entity.id == "T:3" else entity for entity in without("T:6")]
    found = kinds(compare(build(OLD), build(new)))
    assert found == {"merged": [("T:6", "T:3")], "reparented": ["T:5", "T:7"]}


def test_touched_are_the_changed_and_all_next_to_them():
    diff = compare(build(OLD), build(changed("T:2", definition="Amount.")))
    assert marked(diff, diff.touched) == ["T:2", "T:3", "T:4"]
    assert diff.why_touched("T:2") == ("redefined",)
    assert diff.why_touched("T:4") == ("neighbours",)
    assert diff.why_touched("T:5") == diff.why_touched("T:404") == ()


def test_touched_counts_neighbours_of_then_and_now():
    moved = compare(build(OLD), build(changed("T:5", parents=("T:3",))))
    assert marked(moved, moved.touched) == ["T:2", "T:3", "T:4", "T:5", "T:6", "T:7"]
    gone = compare(build(OLD), build(without("T:7")))
    assert marked(gone, gone.touched) == ["T:5", "T:6"]
    come = compare(build(OLD), build([*OLD, Entity("T:10", "ear shape", parents=("T:0",))]))
    assert marked(come, come.touched) == ["T:0", "T:1", "T:3", "T:6", "T:10"]


def test_names_in_another_order_touch_but_change_nothing():
    diff = compare(build(OLD), build(changed("T:1", synonyms=tuple(reversed(OLD[1].synonyms)))))
    assert diff.touched[diff.new.number_of("T:1")]
    assert diff.why_touched("T:1") == ("order",)


def test_parents_in_another_order_touch():
    """An encoder may read parents, which come in the order of the file."""
    two = changed("T:5", parents=("T:6", "T:3"))
    diff = compare(build(two), build([two[0], two[6], *two[1:6], *two[7:]]))
    assert not kinds(diff)
    assert diff.why_touched("T:5") == ("neighbours",)


def test_what_needs_new_rows_is_narrower():
    diff = compare(build(OLD), build(changed("T:2", definition="Amount.")))
    assert not diff.reembed().any()
    assert not diff.reembed(hierarchy=True).any()
    diff = compare(build(OLD), build(changed("T:6", name="fleece trait")))
    assert marked(diff, diff.reembed()) == ["T:6"]
    assert marked(diff, diff.reembed(hierarchy=True)) == ["T:0", "T:5", "T:6", "T:7"]
    diff = compare(build(OLD), build(changed("T:6", synonyms=(Synonym("fleece trait"),))))
    assert marked(diff, diff.reembed(hierarchy=True)) == ["T:6"]  # a neighbour counts with its primary name
    diff = compare(build(OLD), build(without("T:7")))
    assert marked(diff, diff.reembed(hierarchy=True)) == ["T:6"]


def test_a_new_scope_needs_no_new_rows():
    synonyms = (Synonym("BF", "EXACT"), Synonym("fat content", "EXACT"))
    diff = compare(build(OLD), build(changed("T:1", synonyms=synonyms)))
    assert kinds(diff) == {"names_changed": ["T:1"]}
    assert not diff.reembed().any()


def test_counts_have_every_kind():
    counts = compare(build(OLD), build(changed("T:2", definition="Amount."))).counts()
    assert counts == dict.fromkeys(EVERY, 0) | {"redefined": 1, "touched": 3}


def random_release(chance, entities):
    """Change, remove, add and reorder entities at random."""
    new = []
    for entity in entities:
        change = chance.choice(["keep"] * 6 + ["go", "name", "synonym", "parent", "definition"])
        others = [other.id for other in entities]
        if change == "go":
            continue
        fields = {
            "keep": {},
            "name": {"name": f"{entity.name} x"},
            "synonym": {"synonyms": (*entity.synonyms, Synonym("y"))},
            "parent": {"parents": (str(chance.choice(others)),)},
            "definition": {"definition": "z"},
        }[change]
        new.append(replace(entity, **fields))
    new.append(Entity("N:1", "new", parents=(entities[0].id,)))
    return [new[place] for place in chance.permutation(len(new))] if chance.random() < 0.5 else new


@pytest.mark.parametrize("seed", range(5))
def test_touched_equals_the_definition_on_random_ontologies(seed):
    chance = np.random.default_rng(seed)
    entities = [Entity("R:0", "r 0")]
    for n in range(1, 40):
        parents = np.unique(chance.integers(0, n, chance.integers(0, 3)))
        entities.append(Entity(f"R:{n}", f"r {n}", parents=tuple(f"R:{m}" for m in parents)))
    old, new = build(entities), build(random_release(chance, entities))

    def content(kb, id):
        entity = kb[id]
        return entity.name, entity.synonyms, entity.definition, kb.parents(id)

    ids = set(old) | set(new)
    differing = {id for id in ids if (id in old) != (id in new) or content(old, id) != content(new, id)}
    expected = differing | {n for kb in (old, new) for id in differing if id in kb for n in kb.neighbours(id)}
    diff = compare(old, new)
    assert set(marked(diff, diff.touched)) == expected & set(new)
