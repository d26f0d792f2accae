import threading

import pytest

from spacy_ontolink.errors import ConfigError
from spacy_ontolink.service.batching import Batcher, QueueFullError
from spacy_ontolink.service.settings import Limits

LONG = 10


class Work:
    """Doubles numbers once it may; remembers the batches."""

    def __init__(self):
        self.batches, self.may, self.busy = [], threading.Event(), threading.Event()

    def __call__(self, items):
        self.batches.append(list(items))
        self.busy.set()
        assert self.may.wait(LONG)
        if -1 in items:
            raise ValueError("no")
        return [2 * item for item in items]


@pytest.fixture
def make():
    made = []

    def make(weigh=lambda item: 1, **limits):
        work = Work()
        batcher = Batcher(work, weigh, Limits(**{"documents": 4, "queue": 8, "batch_wait": 0.0} | limits))
        made.append((work, batcher))
        return work, batcher

    yield make
    for work, batcher in made:
        work.may.set()
        batcher.close(LONG)


def occupied(make, **limits):
    """A batcher whose worker is busy with the item 0."""
    work, batcher = make(**limits)
    first = batcher.submit([0])
    assert work.busy.wait(LONG)
    return work, batcher, first


def test_requests_share_batches_in_order(make):
    work, batcher, first = occupied(make, batch_size=3)
    jobs = [batcher.submit(items) for items in ([1, 2], [3, 4], [5])]
    work.may.set()
    assert [job.done.result(LONG) for job in (first, *jobs)] == [[0], [2, 4], [6, 8], [10]]
    assert work.batches == [[0], [1, 2, 3], [4, 5]]


def test_the_first_of_a_batch_waits_for_others(make):
    work, batcher = make(batch_wait=5.0, batch_size=2)
    work.may.set()
    jobs = [batcher.submit([1]), batcher.submit([2])]
    assert [job.done.result(LONG) for job in jobs] == [[2], [4]]
    assert work.batches == [[1, 2]]  # full, so it did not wait any longer


def test_no_more_may_wait_than_the_queue_holds(make):
    work, batcher, _ = occupied(make)
    batcher.submit([1] * 4)
    batcher.submit([1] * 3)
    with pytest.raises(QueueFullError) as full:
        batcher.submit([1, 2])
    assert 1 <= full.value.retry_after <= 60
    assert len(batcher) == 7
    last = batcher.submit([3])
    work.may.set()
    assert last.done.result(LONG) == [6]
    assert len(batcher) == 0


def test_weight_bounds_queue_and_batches(make):
    work, batcher, _ = occupied(make, weigh=lambda item: item, body=8)  # batches of 2, a queue of 128
    last = [batcher.submit(items) for items in ([1, 1, 1], [100], [1])][-1]
    with pytest.raises(QueueFullError):
        batcher.submit([60])
    work.may.set()
    last.done.result(LONG)
    assert work.batches == [[0], [1, 1], [1], [100], [1]]


def test_a_queue_that_takes_too_long_is_full(make):
    _, batcher, _ = occupied(make, timeout=10.0)
    job = batcher.submit([1])
    assert batcher.retry_after() is None
    job.arrived -= 5.5  # more than half of what anybody waits for an answer
    assert batcher.retry_after() == 3


def test_what_nobody_waits_for_is_not_worked_on(make):
    work, batcher, _ = occupied(make)
    gone, stays = batcher.submit([1, 2]), batcher.submit([3])
    batcher.withdraw(gone)
    assert len(batcher) == 1
    work.may.set()
    assert stays.done.result(LONG) == [6]
    assert work.batches == [[0], [3]]
    batcher.withdraw(stays)  # nothing is left of it


def test_an_error_of_the_work_goes_to_those_of_its_batch(make):
    work, batcher, _ = occupied(make, batch_size=2)
    bad, good = batcher.submit([-1, 1, 2]), batcher.submit([5])
    work.may.set()
    with pytest.raises(ValueError, match="no"):
        bad.done.result(LONG)
    assert good.done.result(LONG) == [10]
    assert len(batcher) == 0


def test_closing_works_on_what_waits(make):
    work, batcher, first = occupied(make)
    last = batcher.submit([1])
    closing = threading.Thread(target=batcher.close)
    closing.start()
    work.may.set()
    closing.join(LONG)
    assert (first.done.result(0), last.done.result(0)) == ([0], [2])
    with pytest.raises(QueueFullError):
        batcher.submit([1])


@pytest.mark.parametrize(
    "limits", [{"batch_size": 0}, {"batch_wait": -1}, {"queue": 10, "documents": 11}, {"body": 0}, {"timeout": 0}]
)
def test_senseless_limits(limits):
    with pytest.raises(ConfigError, match=next(iter(limits))):
        Limits(**limits)
