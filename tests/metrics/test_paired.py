import numpy as np
import pytest

from spacy_ontolink.metrics import Resampling, compare, mcnemar


def test_permutation_by_hand():
    # Three mentions differ, all for the better: of 8 ways to sign them, 2 are as far from 0.
    found = compare(np.array([1, 1, 1, 1, 0, 0]), np.array([0, 0, 0, 1, 0, 0]), Resampling(np.arange(6)))
    assert (found["here"], found["there"], found["difference"]) == (pytest.approx(4 / 6), pytest.approx(1 / 6), 0.5)
    assert found["p_value"] == 0.25
    low, high = found["interval"]
    assert low < 0.5 < high


def test_whole_documents_change_sides():
    here = np.zeros(100)
    here[:10] = 1  # ten mentions of one document
    by_mention = compare(here, np.zeros(100), Resampling(np.arange(100)))
    by_document = compare(here, np.zeros(100), Resampling(np.arange(100) // 10))
    assert by_mention["p_value"] == pytest.approx(2 / 2**10)
    assert by_document["p_value"] == 1.0  # one document says nothing


def test_equal_runs_do_not_differ():
    values = np.array([1.0, 0.5, 0.0, 1.0, 0.25])
    found = compare(values, values, Resampling(np.arange(5)))
    assert (found["difference"], found["p_value"], found["interval"]) == (0.0, 1.0, [0.0, 0.0])


def test_nothing_to_compare():
    assert set(compare(np.zeros(0), np.zeros(0), Resampling([])).values()) == {None}
    assert set(compare(np.ones(9), np.zeros(9), Resampling(range(9)), np.zeros(9, bool)).values()) == {None}


def test_only_what_counts_counts():
    here, counted = np.ones(20), np.arange(20) < 4
    found = compare(here, np.where(counted, 0.5, 0.0), Resampling(np.arange(20)), counted)
    assert (found["here"], found["there"], found["difference"]) == (1.0, 0.5, 0.5)
    assert found["interval"] is None  # too few units have one that counts
    assert found["p_value"] == 2 / 2**4


def test_random_signs_agree_with_all_signs(monkeypatch):
    generator = np.random.default_rng(1)
    here, there = generator.random(12), generator.random(12)
    exact = compare(here, there, Resampling(np.arange(12)))["p_value"]
    monkeypatch.setattr("spacy_ontolink.metrics.paired._EXACT_UP_TO", 0)
    assert compare(here, there, Resampling(np.arange(12)))["p_value"] == pytest.approx(exact, abs=0.02)


def test_runs_that_do_not_differ_are_seldom_told_apart():
    generator = np.random.default_rng(0)
    document = np.repeat(np.arange(30), 6)
    small = 0
    for _ in range(100):
        same = generator.random(30) < 0.5  # the documents in which both runs go one way
        here, there = (generator.random(30) < 0.6 for _ in range(2))
        there = np.where(same, here, there)
        small += compare(here[document] * 1.0, there[document] * 1.0, Resampling(document, 200))["p_value"] < 0.05
    assert small <= 11


def test_mcnemar_by_hand():
    here = np.array([True] * 5 + [False, True, False])
    there = np.array([False] * 5 + [False, True, False])
    assert mcnemar(here, there) == {"only_here": 5, "only_there": 0, "p_value": pytest.approx(2 / 2**5)}
    assert mcnemar(there, here)["only_there"] == 5
    assert mcnemar(here, here)["p_value"] == 1.0
