import numpy as np
import pytest

from spacy_ontolink.indexes import checking
from spacy_ontolink.indexes.checking import RecallCheck, measure_recall
from spacy_ontolink.indexes.exact import make_exact_index
from spacy_ontolink.types import EntityRows
from spacy_ontolink.vectors import Vectors


class Rows:
    """Counts how often pages are let go."""

    left = 0

    def leave_pages(self):
        self.left += 1


@pytest.fixture
def exact():
    dense = np.random.default_rng(0).normal(size=(300, 8)).astype(np.float32)
    index = make_exact_index()
    index.build(EntityRows(Vectors((dense,)).normalised(), np.arange(300), np.arange(300)), 300)
    return index


@pytest.fixture
def queries():
    return Vectors((np.random.default_rng(1).normal(size=(50, 8)).astype(np.float32),))


def test_pages_are_let_go_after_each_batch(exact, queries, monkeypatch):
    monkeypatch.setattr(checking, "_QUERIES", 20)
    rows = Rows()
    assert measure_recall(exact, exact, queries, rows) == 1
    assert rows.left == 3


def test_the_share_that_is_found(exact, queries):
    class Half:
        """Finds every other one."""

        def search(self, queries, k):
            hits = exact.search(queries, k)
            hits.scores[:, ::2], hits.entities[:, ::2] = -np.inf, -1
            return hits

    assert RecallCheck(exact, queries).recall(Half()) == 0.5
    assert RecallCheck(exact, queries.take(slice(0, 0))).recall(exact) is None
