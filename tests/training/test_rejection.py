import json

import numpy as np
import pytest

from spacy_ontolink.errors import DataError
from spacy_ontolink.metrics import expected_calibration_error
from spacy_ontolink.training.grids import folds
from spacy_ontolink.training.rejection import Present, tune_rejection
from spacy_ontolink.training.tuning import Pools


def make(n=600, seed=0):
    """Pools of mentions a third of which have no entity; the first candidate's score tells right from wrong, mostly."""
    rng = np.random.default_rng(seed)
    scores = np.sort(rng.uniform(0, 0.6, size=(n, 4)), axis=1)[:, ::-1].astype(np.float32)
    is_nil = np.arange(n) % 3 == 0
    right = np.zeros((n, 4), bool)
    right[np.arange(n), np.where(rng.uniform(size=n) < 0.85, 0, 1)] = True
    right[is_nil] = False
    scores[right[:, 0], 0] += rng.uniform(0, 0.4, right[:, 0].sum()).astype(np.float32)
    tie = np.tile(np.arange(4, dtype=np.int32), (n, 1))
    pools = Pools({"retriever": scores}, np.ones((n, 4), bool), right, tie, folds([f"t{i}" for i in range(n)]))
    return pools, pools.fused({"retriever": 1.0}), is_nil


def test_calibration_and_threshold():
    pools, fused, is_nil = make()
    found = tune_rejection(pools, fused, is_nil)
    calibration, threshold = found.steps
    assert calibration.value_after > calibration.value_before + 0.05
    assert calibration.cross_fitted > calibration.value_before + 0.05
    assert threshold.value_after > threshold.value_before + 0.05
    assert threshold.cross_fitted > threshold.value_before + 0.05
    assert threshold.after == {"threshold": found.threshold}
    measures = found.measures
    assert (measures["n"], measures["n_nil"]) == (600, 200)
    assert measures["accuracy"] == pytest.approx(threshold.cross_fitted)
    assert measures["nil_auroc"] > 0.7
    assert measures["expected_calibration_error"] < 0.08
    assert sum(row["n"] for row in measures["reliability"]) == 600
    json.dumps([measures, *(step.to_json() for step in found.steps), found.calibration.to_config()])


def test_it_holds_on_mentions_never_seen():
    found = tune_rejection(*make())
    pools, fused, is_nil = make(seed=1)
    from spacy_ontolink.calibration import features_of

    first = pools.first(fused)
    right = pools.right[np.arange(600), first]
    probability = found.calibration.probability(features_of(fused, pools.views, pools.valid, first))
    assert expected_calibration_error(probability, right) < 0.08
    accuracy = np.where(probability >= found.threshold, right, is_nil).mean()
    assert accuracy == pytest.approx(found.measures["accuracy"], abs=0.06)
    assert accuracy > right.mean() + 0.05


def test_a_precision_may_be_asked_for():
    pools, fused, is_nil = make()
    plain, strict = (tune_rejection(pools, fused, is_nil, precision) for precision in (None, 0.95))
    assert strict.threshold > plain.threshold
    assert strict.measures["precision"] > 0.9
    assert strict.measures["answered"] < plain.measures["answered"]
    assert "95%" in strict.steps[1].note
    pools.right[:, 0] = np.arange(600) % 2  # what no score tells
    with pytest.raises(DataError, match="No threshold reaches a precision of 99%"):
        tune_rejection(pools, fused, is_nil, 0.99)


def test_without_nil_nothing_is_rejected():
    pools, fused, is_nil = make()
    found = tune_rejection(pools.take(~is_nil), fused[~is_nil], np.zeros(400, bool))
    assert found.threshold is None
    assert found.measures["nil_recall"] is None
    assert found.measures["nil_auroc"] is None
    assert found.measures["answered"] == 1.0


def test_too_little_to_go_by():
    pools, fused, is_nil = make(12)
    with pytest.raises(DataError, match=r"^12 mention\(s\), .* too few to calibrate on"):
        tune_rejection(pools, fused, is_nil)


def test_too_few_different_mentions():
    pools, fused, is_nil = make(60)
    pools.fold[:] = 0
    with pytest.raises(DataError, match=r"^of 60 mentions, 60 are kept apart to check on, .*: 0 mention\(s\), "):
        tune_rejection(pools, fused, is_nil)


def test_mentions_without_candidates_are_answered_nil():
    pools, fused, is_nil = make()
    whole = tune_rejection(pools, fused, is_nil)
    empty = np.arange(600) % 10 == 0
    pools.valid[empty] = False
    pools.right[empty] = False
    found = tune_rejection(pools, pools.fused({"retriever": 1.0}), is_nil)
    rest = tune_rejection(pools.take(~empty), fused[~empty], is_nil[~empty])
    assert found.calibration == rest.calibration != whole.calibration
    measures = found.measures
    assert (measures["n"], measures["n_nil"], measures["without_candidates"]) == (600, 200, 60)
    assert rest.measures["without_candidates"] == 0
    assert measures["answered"] <= 0.9
    assert (found.probability[empty] == -1).all()
    assert found.steps[0].n == 540
    assert found.steps[1].n == 600
    none = tune_rejection(pools, pools.fused({"retriever": 1.0}), empty & is_nil)
    assert none.threshold is None
    assert none.measures["answered"] == pytest.approx(0.9)
    assert none.measures["nil_recall"] == 1
    assert none.measures["n_nil"] == 20


def test_what_is_reported_is_the_threshold_that_is_saved():
    pools, fused, is_nil = make()
    found = tune_rejection(pools, fused, is_nil & (np.arange(600) < 6))  # too few to gain anything by saying NIL
    assert found.threshold is found.measures["threshold"] is found.steps[1].after["threshold"] is None
    assert found.measures["answered"] == 1
    assert found.measures["nil_recall"] == 0
    assert found.measures["accuracy"] == pytest.approx(found.steps[1].value_after)


def test_before_is_the_present_threshold():
    pools, fused, is_nil = make()
    top = pools.views["retriever"][:, 0]
    poor = Present({"retriever_threshold": 0.9}, top >= 0.9, stays=True)
    found = tune_rejection(pools, fused, is_nil, present=poor)
    step = found.steps[1]
    assert step.before == {"threshold": None, "retriever_threshold": 0.9}
    assert step.after == {"threshold": found.threshold, "retriever_threshold": None}
    assert step.value_before == pytest.approx(np.where(top >= 0.9, pools.right[:, 0] & ~is_nil, is_nil).mean())
    assert not found.keeps
    assert "before: retriever_threshold = 0.9" in step.note
    perfect = Present({"retriever_threshold": 0.2}, ~is_nil, stays=True)
    found = tune_rejection(pools, fused, is_nil, present=perfect)
    assert found.keeps
    assert found.threshold is None
    assert found.steps[1].after == found.steps[1].before
    assert found.measures["nil_precision"] == found.measures["nil_recall"] == 1
    assert found.steps[1].value_after == found.steps[1].value_before == pytest.approx(found.measures["accuracy"])
    assert not tune_rejection(pools, fused, is_nil, present=perfect._replace(stays=False)).keeps
    assert not tune_rejection(pools, fused, is_nil, 0.8, present=perfect).keeps
