import pytest


def only(sentences):
    (sentence,) = sentences
    return sentence


def test_a_name(explained):
    reasons = explained("Milk  yield", "Milk  yield").reasons
    assert reasons[0].startswith("'Milk  yield' is the name of T:2 'milk yield', which leads T:")
    assert "in the retriever score (1.000 to 0." in reasons[0]


def test_a_name_of_several(explained):
    one = explained("BF", surface={})
    assert one.reasons[0].startswith("'BF' is an exact synonym of X:9 'breast feeding' (and a name of 1 other), which ")
    assert "comes first of those that have its surface score" in one.reasons[0]


def test_a_lead_is_told_by_view_and_what_the_runner_up_has_better(explained):
    one = explained(
        "body fat percentage of feed",
        retriever={"encoder": {"@ontolink_encoders": "spacy-ontolink.LexicalEncoder.v1"}},
        surface={},
        context={},
        fused={"weights": {"retriever": 0.0, "surface": 0.2, "context": 0.8}},
    )
    first, second = one.candidates[:2]
    assert one.reasons[0].startswith(f"{first.title} leads {second.title} by ")
    assert "in the fused score (context +" in one.reasons[0]
    better = [view for view in one.views[:-1] if second.scores[view] > first.scores[view]]
    assert "surface" in better
    assert only(one.reasons[1:]).startswith(f"{second.title} is better in the ")
    assert all(f"{view} score" in one.reasons[1] for view in better)
    assert ("which has no weight" in one.reasons[1]) == ("retriever" in better)


def test_a_text_beside_the_mention_may_be_the_name(explained):
    fixed = {"reformulator": {"@ontolink_reformulators": "test.Fixed.v1"}, "weights": [0.4, 0.6, 0.0]}
    one = explained("what a cow gives", retriever=fixed)
    assert one.reasons[0].startswith("'milk yield', the standard name, is the name of T:2")
    one = explained("BFP", "The body fat percentage (BFP) rose; BFP fell.")
    assert one.reasons[0].startswith("'body fat percentage', the long form, is the name of T:1")


def test_the_only_candidate(explained):
    one = explained("milk yield", retriever={"k": 1})
    assert one.reasons == ("'milk yield' is the name of T:2 'milk yield', which is the only candidate.",)
    assert explained("yields milk", retriever={"k": 1}).reasons == ("T:2 'milk yield' is the only candidate.",)


def test_below_the_retrievers_threshold(explained):
    one = explained("yields of goats", retriever={"threshold": 0.99}, surface={})
    first = one.candidates[0]
    assert one.id == "NIL"
    assert one.reasons == (
        f"NIL: the best score, {first.scores['retriever']:.3f} of {first.title}, is below the threshold of 0.990 in "
        "'ontolink_retriever'; no later stage looked at it.",
    )
    assert one.notes == ()


def test_below_the_threshold_of_the_probability(explained, calibration):
    one = explained("yields of goats", surface={}, fused={"calibration": calibration, "threshold": 0.99})
    first = one.candidates[0]
    assert (one.id, one.linked) == ("NIL", None)
    assert only(one.reasons) == (
        f"NIL: {first.title} is right with a probability of {first.probability:.3f}, below the threshold of 0.990 in "
        "'ontolink_fuse'."
    )


def test_nothing_similar(explained):
    assert only(explained("≈≈≈").reasons) == "NIL: no entity has a name that is in any way similar."
    one = explained("milk", label="A", retriever={"label_filters": {"A": {"prefixes": ["X"]}}})
    assert only(one.reasons) == "NIL: no entity that its filters allow has a name that is in any way similar."


def test_labels_that_are_not_looked_up(explained):
    one = explained("milk yield", label="DRUG", retriever={"labels": ["TRAIT", "X"]})
    assert only(one.reasons) == (
        "Not looked up: 'ontolink_retriever' links mentions of the labels 'TRAIT', 'X' only, not of 'DRUG'."
    )
    one = explained("milk yield", label="DRUG", retriever={"labels_discard": ["DRUG"]})
    assert only(one.reasons) == "NIL without looking: 'ontolink_retriever' discards mentions of the label 'DRUG'."


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"cascade_exact": True}, "'milk yield' is a name of one entity only, which came first"),
        ({"cascade_margin": 0.1}, "the first candidate led by 0.1 or more"),
    ],
)
def test_the_cascade(explained, settings, why):
    one = explained("milk yield", surface={}, context=settings, fused={})
    assert one.views == ("retriever", "surface", "fused")
    assert only(one.notes) == f"The cascade passed over 'ontolink_context_rerank': {why}."


def test_a_stage_that_no_one_reads(explained):
    one = explained("milk yield", surface={}, context={}, fused={"weights": {"surface": 1.0, "context": 0.0}})
    assert only(one.notes) == "'ontolink_context_rerank' did not run: the fusion gives its score no weight."


def test_candidates_without_a_score(explained):
    one = explained("milk yields", retriever={"filters": {"branches": ["T:2", "T:4"]}}, context={})
    assert {candidate.scores["context"] for candidate in one.candidates} == {None}
    assert "keeps its place, as no candidate has a context score" in one.reasons[0]
    one = explained("body fat yields", retriever={"k": 4}, context={})
    assert one.candidates[0].scores["context"] is not None
