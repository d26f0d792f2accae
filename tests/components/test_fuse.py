import numpy as np
import pytest
import spacy

from spacy_ontolink.errors import ConfigError
from spacy_ontolink.fusion import zscores

TEXT = "The milk yield and body fat percentage of BF cows with beta-carotene level , zzzqqq ."
FUSE = "ontolink_fuse"


@pytest.fixture
def make_fused(make_nlp):
    def make(surface=True, **config):
        nlp = make_nlp()
        if surface:
            nlp.add_pipe("ontolink_surface_rerank", config={"pooling": 0.4})
        nlp.add_pipe(FUSE, config=config)
        return nlp

    return make


def column(span, view):
    return np.array([row["scores"][view] for row in span._.ontolink], np.float32)


def test_it_mixes_zscores(make_fused):
    # The config adds to the defaults, so a view is left out by weight 0.
    doc = make_fused(weights={"retriever": 0.25, "surface": 0.75, "context": 0.0})(TEXT)
    for span in doc.ents:
        if span._.ontolink:
            expected = 0.25 * zscores(column(span, "retriever")) + 0.75 * zscores(column(span, "surface"))
            np.testing.assert_allclose(column(span, "fused"), expected, atol=1e-5)
            assert (np.diff(column(span, "fused")) <= 0).all()
            assert span.kb_id_ == span._.ontolink[0]["id"]


@pytest.mark.parametrize("surface", [True, False])
def test_views_that_are_absent_leave_the_answer_to_those_there_are(make_fused, make_nlp, surface):
    nlp = make_nlp()
    if surface:
        nlp.add_pipe("ontolink_surface_rerank", config={"pooling": 0.4})
    expected = [span.kb_id_ for span in nlp(TEXT).ents]
    assert [span.kb_id_ for span in make_fused(surface)(TEXT).ents] == expected


def test_ties_go_to_the_exact_name_then_the_synonym_in_the_order_of_the_retriever(make_nlp, tmp_path):
    path = tmp_path / "ties.obo"
    terms = [("A:1", "wool", "stature"), ("A:2", "stature", ""), ("A:0", "hair", "stature")]
    path.write_text("\n".join(
        f"[Term]\nid: {id}\nname: {name}\n" + (f'synonym: "{synonym}" EXACT []\n' if synonym else "")
        for id, name, synonym in terms
    ))  # fmt: skip
    nlp = make_nlp(ontology=str(path), name_pooling=0.0)
    nlp.get_pipe("entity_ruler").add_patterns([{"label": "TRAIT", "pattern": "stature"}])
    nlp.add_pipe(FUSE)
    (span,) = nlp("stature").ents
    assert [row["id"] for row in span._.ontolink] == ["A:2", "A:1", "A:0"]
    assert {row["scores"]["fused"] for row in span._.ontolink} == {0.0}


def test_saved_pipelines_link_the_same(make_fused, tmp_path, results):
    nlp = make_fused(weights={"surface": 0.4, "retriever": 0.6})
    expected = results(nlp(TEXT))
    nlp.to_disk(tmp_path / "out")
    assert results(spacy.load(tmp_path / "out")(TEXT)) == expected


@pytest.mark.parametrize("late", ["ontolink_surface_rerank", FUSE])
def test_nothing_may_follow_the_stage_that_decides(make_fused, late):
    nlp = make_fused()
    nlp.add_pipe(late, "late")
    with pytest.raises(ConfigError, match=f"'late' stands after '{FUSE}'"):
        nlp(TEXT)
    with nlp.select_pipes(disable=FUSE):
        nlp(TEXT)
    nlp.add_pipe("ontolink_retriever", "other", before="late", source=make_fused())
    nlp(TEXT)


def test_a_threshold_needs_a_calibration(make_fused):
    with pytest.raises(ConfigError, match="ontolink tune"):
        make_fused(threshold=0.5)


@pytest.mark.parametrize(
    "config",
    [
        {"weights": {"surface": 0.0, "context": 0.0}},
        {"weights": {"surface": -1.0}},
        {"weights": {"nothing": 1.0}},
        {"threshold": 1.5},
    ],
)
def test_settings_are_checked(make_fused, config):
    with pytest.raises(ConfigError, match=next(iter(config))):
        make_fused(**config)
