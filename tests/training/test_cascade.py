import numpy as np
import pytest

from spacy_ontolink.training.cascade import OFF, leads, passed_over, tune_cascade
from spacy_ontolink.training.grids import folds
from spacy_ontolink.training.tuning import Pools

HALF = {"surface": 0.5, "context": 0.5}
NONE = np.zeros(200, bool)


def test_the_cascade_passes_over_what_is_decided(pools):
    decided = np.zeros(200, bool)
    decided[:20] = True
    weights = {"surface": 0.5, "context": 0.5}
    step = tune_cascade(pools, "surface", "context", weights, decided)
    assert step.before == {"cascade_exact": False, "cascade_margin": None}
    assert step.curve[0]["passed_over"] == 0
    assert step.curve[1]["passed_over"] == pytest.approx(0.1)
    assert step.value_after >= step.value_before
    chosen = next(p for p in step.curve if p["cascade_margin"] == step.after["cascade_margin"] and p["cascade_exact"])
    assert 0.3 < chosen["passed_over"] < 0.8
    shares = [point["passed_over"] for point in step.curve[2:]]
    assert shares == sorted(shares, reverse=True)


def test_what_a_rule_passes_over():
    decided, lead = np.array([True, False, False, False]), np.array([0.1, 0.5, np.inf, np.nan], np.float32)
    assert passed_over(OFF, decided, lead).tolist() == [False] * 4
    assert passed_over({"cascade_exact": True, "cascade_margin": None}, decided, lead).tolist() == [True, *[False] * 3]
    assert passed_over({"cascade_exact": False, "cascade_margin": 0.5}, decided, lead).tolist() == [
        False, True, True, False,
    ]  # fmt: skip


def test_without_mentions_the_cascade_stays(pools):
    present = {"cascade_exact": True, "cascade_margin": None}
    step = tune_cascade(pools.take(NONE), "surface", "context", HALF, NONE[:0], present)
    assert (step.n, step.before, step.after, step.value_before) == (0, present, present, None)
    assert step.note == "no mention to tune on"


def test_before_is_the_present_cascade(pools):
    present = {"cascade_exact": True, "cascade_margin": 0.0}  # no mention gets to the context stage
    step = tune_cascade(pools, "surface", "context", HALF, NONE, present)
    assert step.before == present
    assert step.value_before == pytest.approx(pools.right_first(pools.views["surface"]).mean())
    assert step.value_after > step.value_before  # what loses so much gives way to no cascade, or a better one
    assert step.curve[-1]["passed_over"] == 1


@pytest.mark.parametrize("present", [OFF, {"cascade_exact": True, "cascade_margin": 0.7}])
def test_what_loses_on_other_mentions_is_not_taken(present):
    kept = changed = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        right = np.zeros((60, 4), bool)
        right[np.arange(60), rng.integers(0, 4, 60)] = True
        views = {view: (rng.normal(size=(60, 4)) + right).astype("f4") for view in ("surface", "context")}
        tie = np.tile(np.arange(4, dtype=np.int32), (60, 1))
        few = Pools(views, np.ones((60, 4), bool), right, tie, folds([f"t{i}" for i in range(60)]))
        step = tune_cascade(few, "surface", "context", HALF, NONE[:60], present)
        assert step.before == present
        if step.changed:
            assert step.cross_fitted >= step.value_before
        else:
            assert step.value_after == step.value_before
        changed += step.changed
        kept += "kept: on other mentions" in step.note
    assert kept > 2
    assert changed > 2


def test_leads_by_hand():
    scores = np.array([[1, 4, 2], [5, np.nan, -np.inf], [3, 3, 9]], np.float32)
    valid = np.array([[True] * 3, [True] * 3, [True, True, False]])
    assert leads(scores, valid).tolist() == [2, np.inf, 0]
    assert np.isnan(leads(np.full((1, 2), np.nan, np.float32), np.ones((1, 2), bool))[0])
