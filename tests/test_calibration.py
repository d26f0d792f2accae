import json

import numpy as np
import pytest

from spacy_ontolink.calibration import Calibration, features_of, fit_calibration
from spacy_ontolink.errors import ConfigError, DataError
from spacy_ontolink.metrics import auroc, expected_calibration_error

NAN = float("nan")


@pytest.fixture(scope="module")
def mentions():
    """Answers whose chance to be right follows a known curve of one score; the other one is noise."""
    rng = np.random.default_rng(0)
    score = rng.uniform(0, 1, 4000)
    right = rng.uniform(size=4000) < score**3
    return {"retriever": score.astype(np.float32), "noise": rng.normal(size=4000).astype(np.float32)}, right


def cut(features, part):
    return {name: values[part] for name, values in features.items()}


def test_features_by_hand():
    fused = np.array([[0.5, 1.5, 9.0], [2.0, 0.0, 0.0]], np.float32)
    valid = np.array([[True, True, False], [True, False, False]])
    views = {"retriever": np.array([[0.9, 0.6, 1], [0.7, -np.inf, -np.inf]], np.float32),
             "context": np.array([[NAN, 2, 5], [NAN, NAN, NAN]], np.float32)}  # fmt: skip
    features = features_of(fused, views, valid)
    np.testing.assert_allclose(features["fused"], [1.5, 2.0])
    np.testing.assert_allclose(features["retriever"], [0.6, 0.7])
    np.testing.assert_allclose(features["retriever_lead"], [-0.3, NAN], rtol=1e-6)  # it leads in the mix only
    np.testing.assert_allclose(features["context"], [2, NAN])
    np.testing.assert_allclose(features["context_lead"], [NAN, NAN])
    chosen = features_of(fused, views, valid, np.array([0, 0]))
    np.testing.assert_allclose(chosen["retriever"], [0.9, 0.7])


@pytest.mark.parametrize("method", ["platt", "isotonic"])
def test_probabilities_hold_on_mentions_not_fitted_on(mentions, method):
    features, right = mentions
    half = np.arange(4000) < 2000
    calibration = fit_calibration(cut(features, half), right[half], method)
    probability = calibration.probability(cut(features, ~half))
    assert expected_calibration_error(probability, right[~half]) < 0.05
    assert auroc(probability, right[~half]) > 0.8
    assert (probability > 0).all() and (probability < 1).all()


@pytest.mark.parametrize("method", ["platt", "isotonic"])
def test_a_better_score_never_makes_an_answer_less_probable(mentions, method):
    features, right = mentions
    calibration = fit_calibration(features, right, method)
    for name in features:
        grid = {other: np.zeros(50, np.float32) for other in features} | {name: np.linspace(-2, 2, 50, dtype="f4")}
        assert (np.diff(calibration.probability(grid)) >= 0).all()


def test_isotonic_bends_what_a_logistic_curve_misses(mentions):
    features, right = mentions
    right = features["retriever"] > 0.9  # a step
    errors = {
        method: expected_calibration_error(fit_calibration(features, right, method).probability(features), right)
        for method in ("platt", "isotonic")
    }
    assert errors["isotonic"] < errors["platt"] / 2


def test_a_feature_that_counts_against_itself_is_left_out(mentions):
    features, right = mentions
    calibration = fit_calibration({**features, "context": -features["retriever"]}, right)
    assert calibration.views >= {"retriever"}
    assert "context" not in calibration.features
    assert "fused" not in fit_calibration({"fused": features["retriever"]}, right).views


def test_features_that_tell_nothing_leave_the_base_rate(mentions):
    _, right = mentions
    calibration = fit_calibration({"retriever": np.ones(4000, np.float32), "context": np.full(4000, NAN)}, right)
    np.testing.assert_allclose(calibration.probability({"retriever": np.ones(3)}), right.mean(), rtol=1e-5)


def test_it_goes_through_a_config(mentions):
    features, right = mentions
    calibration = fit_calibration(features, right)
    again = Calibration.from_config(json.loads(json.dumps(calibration.to_config())))
    assert again == calibration
    np.testing.assert_array_equal(again.probability(features), calibration.probability(features))


def test_missing_scores_count_as_average(mentions):
    features, right = mentions
    calibration = fit_calibration(features, right, "platt")
    odd = {"retriever": np.array([NAN, -np.inf, np.inf], np.float32), "noise": np.full(3, NAN, np.float32)}
    average = calibration.probability({"retriever": np.full(1, features["retriever"].mean())})
    np.testing.assert_allclose(calibration.probability(odd), np.repeat(average, 3), rtol=1e-4)
    assert calibration.probability({name: values[:0] for name, values in features.items()}).shape == (0,)


@pytest.mark.parametrize("right", [[True] * 50, [False] * 50, [True, False] * 5, [True] * 46 + [False] * 4])
def test_too_little_to_calibrate_on(right):
    with pytest.raises(DataError, match=r"too few to calibrate on: at least 20 .*hide more entities"):
        fit_calibration({"retriever": np.linspace(0, 1, len(right))}, np.array(right))


@pytest.mark.parametrize(
    "change",
    [
        {"bias": None},
        {"bias": NAN},
        {"weights": [-1.0]},
        {"scales": [0.0]},
        {"means": []},
        {"knots": [0.0, 1.0], "levels": [0.9, 0.1]},
        {"knots": [0.0]},
        {"levels": [1.5], "knots": [0.0]},
        {"unknown": 1},
        {"weights": "x"},
    ],
)
def test_numbers_that_do_not_fit_are_refused(change):
    config = {"features": ["retriever"], "means": [0.5], "scales": [0.1], "weights": [2.0], "bias": 0.0}
    assert Calibration.from_config(config).views == {"retriever"}
    with pytest.raises(ConfigError, match="calibration"):
        Calibration.from_config(config | change)
    with pytest.raises(ConfigError, match="calibration"):
        Calibration.from_config({})
