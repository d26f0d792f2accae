from xml.etree import ElementTree

from spacy_ontolink.training.grids import ALPHAS, Step, weight_grid
from spacy_ontolink.training.plots import plot_tuning

PLAIN = {"weights": [1.0, 0.0, 0.0], "pooling": 0.0}


def step(name, curve, after):
    return Step(name, "recall_at_1", 9, after, after, 0.5, 0.5, 0.5, [point | {"value": 0.5} for point in curve])


STEPS = [
    step("retriever", [{"weights": w, "pooling": p} for w in weight_grid() for p in (0.0, 0.1)], PLAIN),
    step("surface", [PLAIN, PLAIN | {"pooling": 0.1}], PLAIN),
    step("fusion", [{"alpha": alpha} for alpha in ALPHAS], {"alpha": 0.5}),
    step("cascade", [{"passed_over": share} for share in (0.0, 0.5)], {}),
    step("threshold", [{"threshold": t, "precision": None if t else 0.5, "answered": 1 - t} for t in (0.0, 1.0)],
         {"threshold": None}),
    step("calibration", [{"method": "platt"}, {"method": "isotonic"}], {}),
]  # fmt: skip
MEASURES = {
    "expected_calibration_error": 0.1,
    "reliability": [{"from": 0.5, "to": 0.6, "n": 3, "probability": 0.55, "accuracy": 0.6}],
}


def test_curves_are_drawn(tmp_path):
    paths = plot_tuning(tmp_path / "curves", STEPS, MEASURES)
    assert [path.name for path in paths] == [
        "retriever.svg", "retriever-weights.svg", "surface.svg", "fusion.svg", "cascade.svg", "threshold.svg",
        "reliability.svg",
    ]  # fmt: skip
    for path in paths:
        assert "</svg>" in path.read_text("utf-8")
        ElementTree.parse(path)


def test_a_step_of_one_point_has_no_curve(tmp_path):
    assert plot_tuning(tmp_path, [step("retriever", [PLAIN], PLAIN)], None) == []
