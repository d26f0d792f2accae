import numpy as np
import pytest

from spacy_ontolink.report.values import Neighbour, apart, number

WEIGHTS = {"retriever": 0.25, "surface": 0.75, "context": 0.0}


def test_the_retriever_alone(explained):
    one = explained("fat percentage", "Their fat percentage rose.")
    assert (one.left, one.mention, one.right) == ("Their ", "fat percentage", " rose.")
    assert (one.id, one.views, one.shares) == ("T:1", ("retriever",), {})
    first = one.candidates[0]
    assert (first.rank, first.id, first.name) == (1, "T:1", "body fat percentage")
    assert (first.matched, first.scope) == ("fat percentage", "EXACT")
    assert first.scores == {"retriever": pytest.approx(1.0)}
    assert (first.z, first.probability) == ({}, None)
    assert first.parents == (Neighbour("T:0", "trait"),)
    assert one.linked is first


def test_neighbours_and_candidates_are_capped(explained, monkeypatch):
    monkeypatch.setattr("spacy_ontolink.report.explanation.MAX_CHILDREN", 2)
    one = explained("yield trait", k=1)
    assert [candidate.id for candidate in one.candidates] == ["T:3"]
    assert one.n_pool > 1
    assert one.candidates[0].n_children == 3
    assert [child.id for child in one.candidates[0].children] == ["T:2", "T:4"]


def test_shares_times_zscores_are_the_fused_score(explained):
    one = explained("milk yields and eggs", surface={"pooling": 0.4}, fused={"weights": WEIGHTS})
    assert one.views == ("retriever", "surface", "fused")
    assert one.shares == {"retriever": 0.25, "surface": 0.75}
    for candidate in one.candidates:
        mixed = sum(share * candidate.z[view] for view, share in one.shares.items())
        assert candidate.scores["fused"] == pytest.approx(mixed, abs=1e-5)
    lowest, highest = one.ranges["fused"]
    assert highest == one.candidates[0].scores["fused"]
    assert lowest <= one.candidates[-1].scores["fused"]


def test_weights_of_absent_views_go_to_the_others(explained):
    assert explained("yields", surface={}, fused={}).shares == {"retriever": 0.0, "surface": 1.0}
    assert explained("yields", fused={}).shares == {"retriever": 1.0}
    one = explained("milk yields", surface={}, context={}, fused={"weights": WEIGHTS | {"context": 1.0}})
    assert one.shares == pytest.approx({"retriever": 0.125, "surface": 0.375, "context": 0.5})


def test_a_score_that_failed(explained):
    one = explained("milk yields", context={}, fused={"weights": {"retriever": 0.5}})
    failed = [candidate for candidate in one.candidates if "yield" in candidate.name]
    assert [candidate.scores["context"] for candidate in failed] == [None] * 3
    assert [candidate.z["context"] for candidate in failed] == [0.0] * 3
    assert all(np.isfinite(one.ranges["context"]))


def test_nothing_to_explain(explained):
    one = explained("≈≈≈")
    assert (one.id, one.candidates, one.n_pool, one.linked) == ("NIL", (), 0, None)
    one = explained("milk yield", label="OTHER", retriever={"labels": ["TRAIT"]})
    assert (one.id, one.candidates, one.views) == ("", (), ())


def test_texts_beside_the_mention(explained):
    text = "The body fat percentage (BFP) rose; BFP fell."
    assert explained("BFP", text).texts == {"long_form": "body fat percentage"}
    fixed = {"reformulator": {"@ontolink_reformulators": "test.Fixed.v1"}, "weights": [0.4, 0.4, 0.2]}
    assert explained("what cows give", retriever=fixed).texts == {
        "standard_name": "milk yield", "hypernym": "yield trait",
    }  # fmt: skip


def test_stages_that_are_disabled_are_left_out(make_nlp, explained):
    nlp = make_nlp(surface={}, fused={})
    nlp.disable_pipe("ontolink_fuse")
    assert explained("milk yield", nlp=nlp).views == ("retriever", "surface")


def test_numbers_show_their_difference():
    assert apart(0.59961, 0.6) == ("0.5996", "0.6000")
    assert apart(0.5, 0.25) == ("0.500", "0.250")
    assert apart(0.5, 0.5) == ("0.500000", "0.500000")
    assert (number(None), number(0.25)) == ("–", "0.250")
