import pytest

TEXTS = [("fat percentage", "T:1"), ("milk yield", "T:2"), ("yield trait", "T:3"), ("yields of milk", "T:2"),
         ("percentage of fat", "T:1"), ("yield", "T:3")]  # fmt: skip
DOCUMENTS = [(text, (0, len(text), "", [id])) for text, id in TEXTS]


@pytest.mark.parametrize("weights", [(0.5, 0.5), (0.7, 0.3), (2, 1), (1e-6, 1)])
def test_the_curve_meets_what_the_pipeline_does(evaluated, weights):
    mix = dict(zip(("retriever", "context"), weights, strict=True))
    found = evaluated(*DOCUMENTS, context={}, fused={"weights": mix}).measures
    curve = found["alpha_curve"]
    assert curve["views"] == ["retriever", "context"]
    assert curve["alpha"] == pytest.approx(weights[1] / sum(weights))
    values = {point["alpha"]: point["recall_at_1"] for point in curve["curve"]}
    assert values[curve["alpha"]] == found["recall_at_1"]
    assert list(values) == sorted(values)
    assert {0.0, 0.05, 1.0} <= values.keys()


@pytest.mark.parametrize("alpha", [0.05, 0.95])
def test_each_point_is_what_a_pipeline_of_that_weight_gives(evaluated, alpha):
    half = {"weights": {"retriever": 0.5, "context": 0.5}}
    curve = evaluated(*DOCUMENTS, context={}, fused=half).measures["alpha_curve"]["curve"]
    value = next(point["recall_at_1"] for point in curve if point["alpha"] == alpha)
    other = {"weights": {"retriever": 1 - alpha, "context": alpha}}
    assert evaluated(*DOCUMENTS, context={}, fused=other).measures["recall_at_1"] == value


def test_three_views_share_the_rest_as_before(evaluated):
    mix = {"retriever": 0.2, "surface": 0.4, "context": 0.4}
    found = evaluated(*DOCUMENTS, surface={}, context={}, fused={"weights": mix}).measures
    curve = found["alpha_curve"]
    assert curve["views"] == ["retriever", "surface", "context"]
    assert found["recall_at_1"] in [
        point["recall_at_1"] for point in curve["curve"] if point["alpha"] == curve["alpha"]
    ]


@pytest.mark.parametrize("stages", [{}, {"context": {}}, {"context": {}, "fused": {"weights": {"context": 1.0}}},
                                    {"fused": {"weights": {"surface": 0.5, "context": 0.5}}}])  # fmt: skip
def test_no_curve_without_two_views(evaluated, stages):
    assert evaluated(*DOCUMENTS, **stages).measures["alpha_curve"] is None
