import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from spacy_ontolink.indexes.recent import SIZE, RecentMasks


def test_the_mask_that_was_not_asked_for_the_longest_is_forgotten():
    recent, made = RecentMasks(), []

    def ask(number):
        mask = np.arange(SIZE + 1) == number
        return recent.get(mask, lambda allowed: made.append(number) or int(np.flatnonzero(allowed)[0]))

    assert [ask(number) for number in range(SIZE)] == list(range(SIZE))
    assert ask(0) == 0  # kept
    ask(SIZE)  # one too many
    made.clear()
    assert (ask(0), made) == (0, [])
    assert (ask(1), made) == (1, [1])
    recent.clear()
    assert (ask(1), made) == (1, [1, 1])


def test_threads_that_ask_for_many_masks():
    """One may forget the mask that another has just been asked for."""
    recent, masks, n_threads = RecentMasks(), np.eye(100, dtype=bool), 32
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(n_threads) as pool:
            asked = np.random.default_rng(0).integers(0, len(masks), (n_threads, 2000))
            found = pool.map(lambda own: [recent.get(masks[number], np.argmax) for number in own], asked)
            np.testing.assert_array_equal(list(found), asked)
    finally:
        sys.setswitchinterval(before)
