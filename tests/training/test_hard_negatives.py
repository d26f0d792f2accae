"""Negatives by hand: the band and its borders, the reranker's own errors, and draws from a pool."""

import numpy as np
import pytest

from spacy_ontolink.errors import ConfigError
from spacy_ontolink.training.hard_negatives import Negatives, candidate_set, draw, in_band, mine

#                    gold                   borders of the band             below it
SURFACE = np.array([0.90, 0.95, 0.89, 0.88, 0.75, 0.70, 0.61, 0.60, 0.59, 0.10], np.float32)
WRONG = np.arange(10) > 0
GOLD = 0.90


def chance(seed=0):
    return np.random.default_rng(seed)


def test_the_band_holds_its_borders():
    assert np.flatnonzero(in_band(SURFACE, np.float32(GOLD), 0.30, 0.02)).tolist() == [3, 4, 5, 6, 7]
    assert np.flatnonzero(in_band(SURFACE, np.float32(GOLD), 0.30, 0)).tolist() == [0, 2, 3, 4, 5, 6, 7]
    assert not in_band(np.array([-np.inf, np.nan], np.float32), GOLD, 0.3, 0.02).any()


def test_five_of_the_band_then_the_own_errors():
    own = np.array([9, 1, 2, 3, 4, 5, 6, 7, 8, 0], np.float32)
    found = mine(WRONG, SURFACE, own, GOLD, Negatives(), chance())
    assert sorted(found[:5].tolist()) == [3, 4, 5, 6, 7]  # all of the band
    assert found[5:].tolist() == [8, 2, 1]  # by the reranker's scores
    assert found.dtype == np.int32


def test_of_a_crowded_band_some_are_drawn_and_the_rest_competes():
    own = np.array([9, 1, 2, 3, 4, 5, 6, 7, 8, 0], np.float32)
    settings = Negatives(n=4, n_semi_hard=2)
    draws = [mine(WRONG, SURFACE, own, GOLD, settings, chance(seed)).tolist() for seed in range(30)]
    assert {place for found in draws for place in found[:2]} == {3, 4, 5, 6, 7}
    for found in draws:
        assert found[2:] == [place for place in (8, 7, 6, 5) if place not in found[:2]][:2]
        assert len(set(found)) == 4
    assert draws[0] == mine(WRONG, SURFACE, own, GOLD, settings, chance(0)).tolist()


def test_an_empty_band_leaves_all_places_to_own_errors():
    own = np.array([9, 1, 2, 3, 4, 5, 6, 7, 8, 0], np.float32)
    found = mine(WRONG, SURFACE, own, 0.05, Negatives(n=3, n_semi_hard=2), chance())
    assert found.tolist() == [8, 7, 6]
    no_band = Negatives(n=3, n_semi_hard=0)  # the paper's ablation
    assert mine(WRONG, SURFACE, own, GOLD, no_band, chance()).tolist() == [8, 7, 6]


def test_right_ones_are_never_chosen():
    wrong = np.array([False, True, False, True, False, True, False, True, True, True])
    for seed in range(10):
        found = mine(wrong, SURFACE, SURFACE, GOLD, Negatives(n=8), chance(seed))
        assert set(found.tolist()) == {1, 3, 5, 7, 8, 9}  # what there is, if fewer than n
    assert mine(np.zeros(10, bool), SURFACE, SURFACE, GOLD, Negatives(), chance()).tolist() == []
    nothing = np.zeros(0, np.float32)
    assert mine(np.zeros(0, bool), nothing, nothing, GOLD, Negatives(), chance()).tolist() == []


def test_candidates_that_failed_go_last():
    own = np.array([0, np.nan, 1, -np.inf, 2], np.float32)
    surface = np.zeros(5, np.float32)
    assert mine(np.ones(5, bool), surface, own, 1, Negatives(n=3, n_semi_hard=0), chance()).tolist() == [4, 2, 0]
    assert set(mine(np.ones(5, bool), surface, own, 1, Negatives(n=5, n_semi_hard=0), chance()).tolist()[3:]) == {1, 3}


def test_a_missing_right_one_takes_the_last_place():
    pool = np.array([4, 8, 2, 6], np.int32)
    assert candidate_set(pool, 8).tolist() == [4, 2, 6]
    assert candidate_set(pool, 5).tolist() == [4, 8, 2]
    assert candidate_set(pool, 5, [8]).tolist() == [4, 2, 6]  # one has gone already
    assert candidate_set(pool, 8, [4, 8, 5]).tolist() == [2, 6]
    assert candidate_set(pool, 8, [4, 8, 2, 6]).tolist() == []
    assert candidate_set(np.zeros(0, np.int32), 5).tolist() == []
    assert candidate_set(np.array([3], np.int32), 5).tolist() == []


def test_draws_are_distinct_and_seeded():
    pool = np.arange(63, dtype=np.int32)
    drawn = draw(pool, 20, chance())
    assert len(set(drawn.tolist())) == 20
    assert drawn.tolist() == draw(pool, 20, chance()).tolist() != draw(pool, 20, chance(1)).tolist()
    assert sorted(draw(pool, 100, chance()).tolist()) == pool.tolist()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [({"scheme": "soft"}, "scheme"), ({"n": 0}, r"negatives\.n = 0"), ({"n": 4}, "from 0 to n = 4"),
     ({"upper": 0.4}, "to lower = 0.3"), ({"upper": -0.1}, "upper")],
)  # fmt: skip
def test_senseless_settings(wrong, said):
    with pytest.raises(ConfigError, match=said):
        Negatives(**wrong)
