"""The one loss of the retrievers: in-batch cross-entropy with several positives (Sci-ZSEL, equations 16 and 17)."""

from __future__ import annotations

from typing import Any

import torch

Tensor = Any
FAR = -1e30  # of masked scores: the exponential is 0, and so is the gradient


def multi_positive_loss(scores: Tensor, positive: Tensor, negative: Tensor, weights: Tensor | None = None) -> Tensor:
    """Return the mean over rows of ``-1/|P| sum over p in P of log(exp s(p) / (exp s(p) + sum over N of exp s))``.

    A column that is neither positive nor negative has no part in it and gets no gradient. The positives of a row do not
    compete with one another.

    Args:
        scores: Of each mention with each candidate, (B, C) float32.
        positive: Where a candidate is right, (B, C) bool; at least one in each row.
        negative: Where it is to be told from, (B, C) bool.
        weights: What each row counts, (B,); all alike by default.
    """
    rest = scores.masked_fill(~negative, FAR).logsumexp(1, keepdim=True)
    losses = torch.logaddexp(scores, rest) - scores
    rows = losses.masked_fill(~positive, 0.0).sum(1) / positive.sum(1)
    if weights is None:
        return rows.mean()
    return (rows * weights).sum() / weights.sum()


def best_of_rows(scores: Tensor, column: Tensor, n_columns: int, unseen: Tensor | None = None) -> Tensor:
    """Return the best score of each entity's rows, (B, C), as an index does.

    Args:
        scores: Of each mention with each row, (B, R).
        column: The column of each row's entity, (R,); each column has a row.
        n_columns: Number of columns, C.
        unseen: True where a mention is not to be compared with a row, (B, R).
    """
    if unseen is not None:
        scores = scores.masked_fill(unseen, FAR)
    best = scores.new_full((len(scores), n_columns), FAR)
    return best.scatter_reduce(1, column.expand(len(scores), -1), scores, "amax", include_self=False)
