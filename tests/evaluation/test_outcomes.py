import pytest

from spacy_ontolink.kb.relations import Relation


def test_what_became_of_each_mention(evaluated):
    text = "The milk yield and body fat rose."
    found = evaluated((text, (4, 14, "TRAIT", ["T:22"]), (19, 27, "", ["T:4", "NIL"])), surface={})
    first, second = found.outcomes
    assert (first.document, first.start, first.end, first.text) == ("d0", 4, 14, "milk yield")
    assert (first.left, first.right) == ("The ", " and body fat rose.")
    assert (first.gold, first.leads, [entry.id for entry in first.live]) == (("T:22",), ("T:2",), ["T:2"])
    assert (first.namespaces, first.overlap, first.rank, first.verdict) == (("yields",), "HO", 1, "right")
    assert (first.best.id, first.best.name, first.relation) == ("T:2", "milk yield", None)
    assert list(first.best.scores) == ["retriever", "surface"]
    assert (second.gold, second.answer, second.verdict, second.rank) == (("T:4",), "T:1", "wrong", 0)
    assert second.live[0].scores == {}  # egg yield is no candidate
    assert second.relation == Relation("far", 3)


def test_the_text_around_is_cut_between_words(evaluated):
    text = "word " * 40 + "milk yield" + " other" * 40
    start = 200
    (one,) = evaluated((text, (start, start + 10, "", ["T:2"]))).outcomes
    assert one.left.startswith("… word ")
    assert one.right.endswith(" other …")
    assert len(one.left) < 90


@pytest.mark.parametrize("gold", [[], ["NIL"], [""]])
def test_no_entity(evaluated, gold):
    found = evaluated(("milk yield", (0, 10, "", ["T:2"])), ("Nothing xyzq.", (8, 12, "", gold)))
    one = found.outcomes[1]
    assert (one.gold, one.answer, one.verdict, one.best) == ((), "NIL", "nil", None)
    assert found.measures["n_without_gold"] == 1
    assert found.measures["nil"]["accuracy"] == 1.0


def test_ids_that_are_unknown(evaluated):
    found = evaluated(("milk yield", (0, 10, "", ["X:1", "T:2"])), ("egg yield", (0, 9, "", ["X:2"])))
    known, unknown = found.outcomes
    assert (known.leads, known.verdict) == (("", "T:2"), "right")
    assert (unknown.leads, unknown.verdict, unknown.namespaces) == (("",), "spurious", ("X",))
    assert found.measures["examples"]["unknown"] == ["X:1", "X:2"]


def test_spans_that_align_with_no_token(evaluated):
    found = evaluated(("milk yield of cows", (4, 5, "", ["T:2"]), (6, 9, "", ["T:3"])))
    blank, inside = found.outcomes
    assert (blank.fit, blank.text, blank.answer, blank.verdict) == ("none", " ", "", "lost")
    assert (inside.fit, inside.text, (inside.start, inside.end)) == ("widened", "yield", (6, 9))
    measures = found.measures
    assert (measures["n"], measures["mentions_without_token"], measures["mentions_widened"]) == (2, 1, 1)
    assert measures["n_not_looked_up"] == 1


def test_labels_that_are_not_linked(evaluated):
    text = "milk yield and egg yield"
    mentions = ((0, 10, "TRAIT", ["T:2"]), (15, 24, "CELL", ["T:4"]))
    found = evaluated((text, *mentions), retriever={"labels": ["TRAIT"]})
    assert [one.verdict for one in found.outcomes] == ["right", "lost"]
    assert found.measures["n_not_looked_up"] == 1
    assert found.measures["recall_at_1"] == 0.5


def test_probabilities_and_rejection(evaluated):
    calibration = {"features": ["fused_lead"], "means": [0.0], "scales": [1.0], "weights": [1.0], "bias": -9.0}
    fused = {"weights": {"retriever": 1.0}, "calibration": calibration, "threshold": 0.5}
    (one,) = evaluated(("milk yield", (0, 10, "", ["T:2"])), fused=fused).outcomes
    assert (one.answer, one.verdict, one.rank, one.best.id) == ("NIL", "lost", 1, "T:2")
    assert one.probability < 0.5
