import numpy as np
import pytest
from scipy.stats import binomtest

from spacy_ontolink.metrics import Resampling


def one(resampling, top, bottom=None):
    (found,) = resampling.intervals([np.asarray(top)], [np.ones(len(top)) if bottom is None else np.asarray(bottom)])
    return found


def test_documents_are_drawn_where_there_are_enough():
    assert Resampling([7, 7, *range(20, 29)]).facts() == {
        "level": 0.95, "unit": "document", "units": 10, "resamples": 1000, "seed": 0,
    }  # fmt: skip
    few = Resampling([0, 0, 0, 1, 1, 1]).facts()
    assert (few["unit"], few["units"]) == ("mention", 6)


def test_an_interval_is_about_its_share_and_the_same_again():
    right = np.arange(200) % 4 > 0
    resampling = Resampling(np.arange(200))
    low, high = one(resampling, right)
    assert low < 0.75 < high
    exact = binomtest(150, 200).proportion_ci(method="wilson")
    assert (low, high) == (pytest.approx(exact.low, abs=0.02), pytest.approx(exact.high, abs=0.02))
    assert [low, high] == one(Resampling(np.arange(200)), right)
    assert [low, high] != one(Resampling(np.arange(200), seed=1), right)


def test_sums_are_taken_over_units_in_any_order():
    resampling = Resampling([*range(10), 9, 0])
    sums = resampling.sums([np.arange(12), np.ones(12)])
    assert sums[0].tolist() == [0 + 11, 2]
    assert sums[9].tolist() == [9 + 10, 2]


def test_where_all_is_right_the_interval_is_not_a_point():
    exact = binomtest(20, 20).proportion_ci(method="exact")
    assert one(Resampling(np.arange(20)), np.ones(20)) == [pytest.approx(exact.low), 1.0]
    assert one(Resampling(np.arange(20)), np.zeros(20)) == [0.0, pytest.approx(1 - exact.low)]
    # Twenty mentions of ten documents say no more than ten do.
    exact = binomtest(10, 10).proportion_ci(method="exact")
    assert one(Resampling(np.arange(20) // 2), np.ones(20)) == [pytest.approx(exact.low), 1.0]


def test_few_units_say_nothing():
    part = np.arange(30) < 4
    assert one(Resampling(np.arange(30)), part, part) is None
    assert one(Resampling([]), []) is None
    assert one(Resampling([0, 0]), [1, 0]) is None
    assert Resampling([0, 1]).interval_of_mean(np.array([1.0, -1.0]), np.ones(2)) is None


def test_many_units_are_drawn_in_chunks_that_change_nothing(monkeypatch):
    right = np.arange(40) % 3 > 0
    whole = one(Resampling(np.arange(40), resamples=300), right)
    monkeypatch.setattr("spacy_ontolink.metrics.resampling._CELLS", 40 * 7)
    assert one(Resampling(np.arange(40), resamples=300), right) == whole


def test_intervals_hold_the_truth_where_mentions_of_a_document_are_alike():
    generator = np.random.default_rng(0)
    document = np.repeat(np.arange(40), 8)
    hits = {"document": 0, "mention": 0}
    for _ in range(150):
        chance = generator.beta(1.4, 0.6, 40)  # 0.7 on average, far apart
        right = generator.random(320) < chance[document]
        for kind, units in (("document", document), ("mention", np.arange(320))):
            low, high = one(Resampling(units, resamples=300), right)
            hits[kind] += low <= 0.7 <= high
    assert hits["document"] >= 0.88 * 150
    assert hits["mention"] <= 0.75 * 150  # what drawing single mentions would pretend
