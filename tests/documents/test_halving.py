import pytest

from spacy_ontolink.documents import by_halves
from spacy_ontolink.errors import LLMError


@pytest.mark.parametrize("bad", [set(), {0}, {7}, {3, 4}, set(range(9))])
def test_each_item_that_fails_is_alone_in_the_end(bad):
    def work(items):
        if bad & set(items):
            raise ValueError(f"{items}")
        return [("fine", item) for item in items]

    results = by_halves(work, range(9), lambda items, error: [("bad", item, len(items)) for item in items])
    assert results == [("bad", n, 1) if n in bad else ("fine", n) for n in range(9)]


def test_a_model_that_does_not_answer_is_not_asked_again():
    calls = []

    def work(items):
        calls.append(items)
        raise LLMError("no answer")

    assert by_halves(work, [1, 2, 3], lambda items, error: [str(error)] * len(items)) == ["no answer"] * 3
    assert calls == [[1, 2, 3]]
