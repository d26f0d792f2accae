import json


def test_statistics(toy):
    facts = toy.statistics()
    assert json.loads(json.dumps(facts)) == facts
    assert facts == {
        "name": "toy",
        "hash": toy.hash,
        "entities": 7,
        "obsolete": 1,
        "obsolete_without_replacement": 0,
        "alt_ids": 2,
        "names": 12,
        "names_by_scope": {"NAME": 7, "EXACT": 2, "NARROW": 0, "BROAD": 0, "RELATED": 3},
        "annotated_names": 0,
        "ambiguous_names": 1,
        "most_ambiguous_names": {"BF": 2},
        "definitions": 1,
        "is_a": 5,
        "roots": 2,
        "depth": 2,
        "prefixes": {"T": 6, "X": 1},
        "types": {"slim": 2, "trait_ontology": 2, "upper": 1},
        "stop_synonyms": {},
        "problems": {},
    }
