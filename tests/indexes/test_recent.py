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
