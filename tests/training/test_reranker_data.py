"""What is told from what: right entities, wrong ones, and those that are neither."""

from dataclasses import replace

import numpy as np
import pytest

from spacy_ontolink.training.hard_negatives import Negatives
from spacy_ontolink.training.reranker_data import Pool, choose_sets, fingerprint
from spacy_ontolink.types import Mention


def pool(text, candidates, gold, gold_surface=None):
    surface = 0.9 - 0.1 * np.arange(len(candidates), dtype=np.float32)
    return Pool(
        Mention(text),
        np.array(candidates, np.int32),
        surface,
        np.array(gold, np.int32),
        np.array(gold_surface or [0.9] * len(gold), np.float32),
        np.array([1.0 / (place + 1) for place in range(len(gold))], np.float32),
    )


def chance(seed=0):
    return np.random.default_rng(seed)


HARD, RANDOM = Negatives(n=3, n_semi_hard=1), Negatives("random", 3, 1)


@pytest.mark.parametrize("negatives", [HARD, RANDOM])
def test_each_right_entity_gets_a_set_of_its_own_without_the_others(negatives):
    pools = [pool("a", [0, 1, 2, 3, 4, 5], [0, 2]), pool("b", [7, 8], [9])]
    own = [np.zeros(6, np.float32), np.zeros(2, np.float32)]
    for seed in range(10):
        first, second, third = choose_sets(pools, negatives, own, chance(seed))
        assert [found.mention.text for found in (first, second, third)] == ["a", "a", "b"]
        assert (first.entities[0], second.entities[0], third.entities[0]) == (0, 2, 9)
        assert (first.weight, second.weight, third.weight) == (1.0, 0.5, 1.0)
        for found in (first, second):
            assert len(found.entities) == 4
            assert set(found.entities[1:]) <= {1, 3, 4, 5}
        # hard negatives need not leave room for the right one; in the paper's set it takes the place of the last
        assert set(third.entities[1:]) == ({7, 8} if negatives is HARD else {7})


def test_hard_negatives_by_hand():
    own = [np.array([5, 0, 1, 2, 3, 4], np.float32)]
    (found,) = choose_sets([pool("a", [10, 11, 12, 13, 14, 15], [10])], replace(HARD, upper=0.25), own, chance())
    assert found.entities == (10, 13, 15, 14)  # 13 alone is in the band
    (found,) = choose_sets([pool("a", [10, 11, 12, 13, 14, 15], [20], [0.7])], replace(HARD, lower=0.1), own, chance())
    assert found.entities == (20, 13, 10, 15)  # the band is below the right one's score, which is not in the pool


def test_nothing_to_tell_from_is_left_out():
    pools = [pool("a", [0], [0]), pool("b", [0, 1], [0, 1]), pool("c", [], [3]), pool("d", [0, 1], [])]
    for negatives in (HARD, RANDOM):
        assert choose_sets(pools, negatives, [np.zeros(len(p.candidates), np.float32) for p in pools], chance()) == []


def test_fingerprints_tell_data_apart():
    one, other = pool("a", [0, 1], [0]), pool("a", [0, 2], [0])
    assert fingerprint([one]) == fingerprint([pool("a", [0, 1], [0])])
    assert len({fingerprint(pools) for pools in ([one], [other], [one, other], [], [replace(one, gold=other.gold + 1)],
                [replace(one, surface=one.surface / 2)], [replace(one, mention=Mention("a", "b"))],
                [replace(one, weights=one.weights / 2)])}) == 8  # fmt: skip
