import math

import pytest

torch = pytest.importorskip("torch")

from spacy_ontolink.training.losses import best_of_rows, multi_positive_loss  # noqa: E402

SCORES = [[2.0, 1.0, 0.0, -1.0], [0.5, 0.5, 3.0, 1.0]]


def masks(positive, negative):
    return torch.tensor(positive, dtype=torch.bool), torch.tensor(negative, dtype=torch.bool)


def test_one_positive_is_cross_entropy():
    scores = torch.tensor(SCORES)
    positive, negative = masks([[1, 0, 0, 0], [0, 0, 0, 1]], [[0, 1, 1, 1], [1, 1, 1, 0]])
    expected = torch.nn.functional.cross_entropy(scores, torch.tensor([0, 3]))
    assert multi_positive_loss(scores, positive, negative).item() == pytest.approx(expected.item())


def test_positives_do_not_compete():
    """Equation 16 by hand: each positive against the same negatives, and not against the other."""
    scores = torch.tensor(SCORES)
    positive, negative = masks([[1, 1, 0, 0], [0, 0, 1, 0]], [[0, 0, 0, 1], [1, 0, 0, 0]])
    first = [-math.log(math.exp(s) / (math.exp(s) + math.exp(-1))) for s in (2, 1)]
    second = -math.log(math.exp(3) / (math.exp(3) + math.exp(0.5)))
    assert multi_positive_loss(scores, positive, negative).item() == pytest.approx((sum(first) / 2 + second) / 2)
    weighted = multi_positive_loss(scores, positive, negative, torch.tensor([3.0, 1.0]))
    assert weighted.item() == pytest.approx((3 * sum(first) / 2 + second) / 4)


def test_what_is_masked_gets_no_gradient():
    scores = torch.tensor(SCORES, requires_grad=True)
    positive, negative = masks([[1, 0, 0, 0], [0, 0, 0, 1]], [[0, 1, 0, 1], [0, 0, 1, 0]])
    multi_positive_loss(scores, positive, negative).backward()
    assert scores.grad[0, 2] == scores.grad[1, 0] == scores.grad[1, 1] == 0
    assert (scores.grad[positive] < 0).all()
    assert (scores.grad[negative] > 0).all()


def test_a_row_without_negatives_is_done():
    scores = torch.tensor(SCORES, requires_grad=True)
    positive, negative = masks([[1, 0, 0, 0], [0, 0, 0, 1]], [[0, 0, 0, 0], [0, 0, 1, 0]])
    loss = multi_positive_loss(scores, positive, negative)
    loss.backward()
    assert loss.item() == pytest.approx(math.log(1 + math.exp(2)) / 2)
    assert scores.grad[0].abs().sum() == 0


def test_best_of_rows():
    scores = torch.tensor([[1.0, 3.0, 2.0], [5.0, 0.0, 4.0]], requires_grad=True)
    unseen = torch.tensor([[False, True, False], [False, False, False]])
    best = best_of_rows(scores, torch.tensor([0, 0, 1]), 2, unseen)
    assert best.tolist() == [[1.0, 2.0], [5.0, 4.0]]
    best.sum().backward()
    assert scores.grad.tolist() == [[1, 0, 1], [1, 0, 1]]
