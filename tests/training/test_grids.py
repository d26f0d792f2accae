import json

import numpy as np
import pytest

from spacy_ontolink.training.grids import ALPHAS, FOLDS, POOLING, cross_fitted, folds, tune_grid, weight_grid


def test_the_papers_grids():
    weights = weight_grid()
    assert weights[0] == [1.0, 0.0, 0.0]
    assert len(weights) == 1 + 7 * 3
    assert all(sum(mix) == pytest.approx(1) for mix in weights)
    assert {mix[0] for mix in weights} == {1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3}
    assert [0.6, 0.4, 0.0] in weights
    assert [0.6, 0.2, 0.2] in weights
    assert [0.6, 0.0, 0.4] in weights
    assert POOLING == (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
    assert sorted(ALPHAS) == [round(0.05 * i, 2) for i in range(21)]
    assert ALPHAS[:2] == (0.0, 1.0)


def test_equal_texts_share_a_fold():
    texts = [f"text {i % 40}" for i in range(200)] + ["TEXT  7"]
    fold = folds(texts)
    assert set(fold.tolist()) == set(range(FOLDS))
    assert all(len({int(f) for t, f in zip(texts, fold, strict=True) if t == text}) == 1 for text in set(texts))
    assert fold[-1] == fold[7]
    assert len(folds([])) == 0


def tune(table, present, fold=None):
    table = np.asarray(table, bool)
    grid = [{"x": number} for number in range(len(table) - 1)]
    fold = np.arange(table.shape[1]) % 2 if fold is None else np.asarray(fold)
    return tune_grid("step", "accuracy", grid, lambda s: table[s["x"]], present={"x": present}, fold=fold)


def test_the_best_setting_is_taken_and_of_equal_ones_the_first():
    step = tune([[0, 0, 0, 0], [1, 1, 1, 0], [1, 1, 0, 1], [0, 0, 0, 0]], present=0)
    assert step.after == {"x": 1}
    assert step.changed
    assert (step.value_before, step.value_after, step.n) == (0.0, 0.75, 4)
    assert step.curve == [{"x": 0, "value": 0.0}, {"x": 1, "value": 0.75}, {"x": 2, "value": 0.75}]


def test_a_gain_that_does_not_hold_on_other_mentions_is_not_taken():
    # Each setting is good on one half only: chosen on the one, it fails on the other.
    step = tune([[1, 0, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 0, 0]], present=0)
    assert step.cross_fitted == 0.0
    assert not step.changed
    assert step.value_after == step.value_before == 0.25
    assert "x = 1 gains none" in step.note


def test_a_present_setting_off_the_grid_is_tried_too():
    step = tune([[0, 0], [0, 0], [1, 1]], present=2)
    assert step.after == step.before == {"x": 2}
    assert step.note == ""
    assert len(step.curve) == 3


def test_nothing_to_tune_on():
    step = tune(np.zeros((3, 0)), present=1)
    assert (step.n, step.value_after, step.after) == (0, None, {"x": 1})


def test_one_fold_chooses_nothing():
    right = np.array([[True, False], [True, True]])
    assert cross_fitted(right, np.array([0, 0]), lambda part: 1).tolist() == [True, False]


def test_steps_are_plain():
    json.dumps(tune([[0, 1], [1, 1], [0, 0]], present=0).to_json())


def test_progress_is_told():
    seen = []
    tune_grid("s", "m", [{"x": 0}], lambda s: np.ones(3, bool), present={"x": 1}, fold=np.zeros(3, int),
              tick=lambda done, total: seen.append((done, total)))  # fmt: skip
    assert seen == [(1, 2), (2, 2)]


def test_one_fold_shows_no_gain():
    """All mentions are one text: there are no others on which a gain could hold."""
    right = {0: np.zeros(30, bool), 1: np.ones(30, bool)}
    for present in (0, 1):
        step = tune_grid(
            "x", "share", [{"a": 0}, {"a": 1}], lambda setting: right[setting["a"]],
            present={"a": present}, fold=np.zeros(30, np.int32),
        )  # fmt: skip
        assert step.after == {"a": present}
        assert step.cross_fitted == present
