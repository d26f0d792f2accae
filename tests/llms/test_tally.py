import logging

import pytest

from spacy_ontolink.errors import LLMError
from spacy_ontolink.llms.tally import Tally, in_batches
from spacy_ontolink.types import Usage


def test_usage_counts():
    tally = Tally("x")
    tally.answered(10, 2)
    tally.answered(5)
    tally.failed(ValueError("bad"))
    assert tally.usage == Usage(calls=2, failed=1, cached=0, prompt_tokens=15, completion_tokens=2)


def test_each_kind_of_failure_is_reported_once_with_its_count(caplog):
    tally = Tally("engine")
    for _ in range(3):
        tally.failed(ValueError("bad token\nand more"))
    tally.failed(MemoryError())
    tally.report()
    tally.failed(ValueError("again"))
    tally.report()
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * 2
    assert "engine: 3 prompt(s) failed (ValueError: bad token)" in caplog.text
    assert "and more" not in caplog.text
    assert tally.usage.failed == 5


def test_a_batch_that_fails_is_halved_down_to_the_item():
    seen, tally = [], Tally("x")

    def run(batch):
        seen.append(len(batch))
        if 5 in batch:
            raise RuntimeError("five")
        return [10 * item for item in batch]

    assert in_batches(range(8), 8, run, tally) == [0, 10, 20, 30, 40, None, 60, 70]
    assert seen[0] == 8
    assert tally.usage.failed == 1


def test_memory_decides_how_large_batches_are():
    def run(batch):
        if len(batch) > 3:
            raise MemoryError
        return list(batch)

    assert in_batches(range(20), 16, run, Tally("x")) == list(range(20))


def test_no_items():
    assert in_batches([], 4, list, Tally("x")) == []


def test_an_error_of_ours_is_for_all_items():
    def run(batch):
        raise LLMError("no such answer")

    with pytest.raises(LLMError):
        in_batches(range(4), 4, run, Tally("x"))
