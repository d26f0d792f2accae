import pickle
import re

import numpy as np
import pytest
import spacy

from spacy_ontolink import checksums
from spacy_ontolink.errors import ConfigError, StateError
from spacy_ontolink.space import CandidateScores, Pooling, Query, Wording
from spacy_ontolink.space.differences import BUCKETS
from spacy_ontolink.types import Mention

TEXT = "The milk yield and body fat percentage of BF cows with beta-carotene level , zzzqqq ."


@pytest.fixture
def nlp(make_nlp):
    nlp = make_nlp()
    nlp.add_pipe("ontolink_surface_rerank", config={"pooling": 0.3, "name_pooling": 0.0})
    return nlp


def candidates(doc):
    return [{row["id"] for row in span._.ontolink} for span in doc.ents]


def test_it_adds_a_score_to_the_same_candidates_and_ranks_by_it(nlp, make_nlp):
    before, after = make_nlp()(TEXT), nlp(TEXT)
    assert candidates(before) == candidates(after)
    for old, new in zip(before.ents, after.ents, strict=True):
        rows = new._.ontolink
        assert [row["scores"]["retriever"] for row in sorted(rows, key=lambda row: row["id"])] == [
            row["scores"]["retriever"] for row in sorted(old._.ontolink, key=lambda row: row["id"])
        ]
        surface = [row["scores"]["surface"] for row in rows]
        assert surface == sorted(surface, reverse=True)
        assert new._.kb_ents == [(row["id"], row["scores"]["surface"]) for row in rows]
        assert new.kb_id_ == (rows[0]["id"] if rows else "NIL")


def test_scores_are_those_of_the_space(nlp):
    span = nlp("milk yield").ents[0]
    space = nlp.get_pipe("ontolink_retriever").space
    numbers = space.kb.numbers_of([row["id"] for row in span._.ontolink])[None]
    expected = CandidateScores(space, [Query(Mention("milk yield"))], numbers, Pooling(0.0, 0.3)).mixed((1, 0, 0))
    np.testing.assert_allclose([row["score"] for row in span._.ontolink], expected[0])


def test_it_holds_no_rows_and_encodes_no_entity(nlp, monkeypatch, tmp_path):
    nlp("BF")
    stage, retriever = nlp.get_pipe("ontolink_surface_rerank"), nlp.get_pipe("ontolink_retriever")
    assert stage.provider is retriever
    encoder = type(retriever.space.encoder)
    monkeypatch.setattr(encoder, "encode_entities", lambda *_: pytest.fail("encoded again"))
    nlp(TEXT)
    nlp.to_disk(tmp_path / "out")
    (file,) = (path for path in (tmp_path / "out" / "ontolink_surface_rerank" / "wording").rglob("*") if path.is_file())
    assert file.name == "wording.safetensors"
    assert file.stat().st_size < 500  # nothing is learned from so few names


def test_without_settings_of_its_own_it_ranks_as_the_retriever(make_nlp):
    config = {"weights": [0.8, 0.2, 0.0], "pooling": 0.2, "name_pooling": 0.7}
    nlp = make_nlp(**config)
    expected = [[row["id"] for row in span._.ontolink] for span in nlp(TEXT).ents]
    nlp.add_pipe("ontolink_surface_rerank", config={"wording": 0.0})
    for span, ids in zip(nlp(TEXT).ents, expected, strict=True):
        assert [row["id"] for row in span._.ontolink] == ids
        for row in span._.ontolink:
            assert row["scores"]["surface"] == pytest.approx(row["scores"]["retriever"], abs=1e-3)


def test_equal_mentions_are_scored_once(nlp, count_encodings):
    seen = count_encodings(nlp.get_pipe("ontolink_retriever"))
    nlp("BF and BF and BF")
    assert [mention.text for mention in seen] == ["BF", "BF"]  # once in retrieval, once here


def test_links_are_the_same_after_saving_pickling_and_in_processes(nlp, tmp_path, results):
    expected = results(nlp(TEXT))
    nlp.to_disk(tmp_path / "out")
    assert results(spacy.load(tmp_path / "out")(TEXT)) == expected
    assert [results(doc) for doc in nlp.pipe([TEXT] * 4, n_process=2, batch_size=2)] == [expected] * 4
    stage = pickle.loads(pickle.dumps(nlp.get_pipe("ontolink_surface_rerank")))
    nlp.remove_pipe("ontolink_surface_rerank")
    assert results(stage(nlp(TEXT))) == expected


def test_linking_twice_is_linking_once(nlp, results):
    doc = nlp(TEXT)
    expected = results(doc)
    for _, component in nlp.pipeline[-2:]:
        doc = component(doc)
    assert results(doc) == expected


def test_ids_from_elsewhere_stay_without_overwrite(make_nlp):
    nlp = make_nlp(overwrite=False)
    nlp.add_pipe("ontolink_surface_rerank")
    doc = nlp.make_doc("milk yield")
    doc = nlp.get_pipe("entity_ruler")(doc)
    for token in doc.ents[0]:
        token.ent_kb_id_ = "gold"
    for name in ("ontolink_retriever", "ontolink_surface_rerank"):
        doc = nlp.get_pipe(name)(doc)
    assert doc.ents[0].kb_id_ == "gold"
    assert "surface" in doc.ents[0]._.ontolink[0]["scores"]


def test_what_the_retriever_rejected_stays_rejected(make_nlp):
    nlp = make_nlp(threshold=0.999)
    nlp.add_pipe("ontolink_surface_rerank")
    doc = nlp.make_doc("BFP")
    doc = nlp(doc)
    assert [span.kb_id_ for span in doc.ents] == ["NIL"]


def test_spans_of_a_group(make_nlp):
    nlp = make_nlp(spans_key="sc")
    nlp.add_pipe("ontolink_surface_rerank")
    doc = nlp(TEXT)
    assert [span.kb_id_ for span in doc.spans["sc"]][:2] == ["T:2", "T:1"]
    assert all("surface" in row["scores"] for span in doc.spans["sc"] for row in span._.ontolink)
    assert not nlp("").spans["sc"]


def test_reformulations_are_asked_for_where_only_this_stage_reads_them(make_nlp, fake_reformulator):
    nlp = make_nlp(reformulator={"@ontolink_reformulators": "test.Fake.v1"})
    nlp("BF")
    assert fake_reformulator == []
    nlp.add_pipe("ontolink_surface_rerank", config={"weights": [0.5, 0.5, 0.0]})
    nlp("We saw BF again. There is BF.")
    assert [mention.text for mention in fake_reformulator] == ["BF"]


@pytest.mark.parametrize(
    "config", [{"weights": [1.0]}, {"weights": [0, 0, 0]}, {"pooling": -1}, {"name_pooling": -1}, {"wording": -1}]
)
def test_settings_are_checked(make_nlp, config):
    with pytest.raises(ConfigError, match=next(iter(config))):
        make_nlp().add_pipe("ontolink_surface_rerank", config=config)


def test_a_changed_file_is_named(nlp, tmp_path):
    surface = nlp.get_pipe("ontolink_surface_rerank")
    surface._wording = Wording(nlp.get_pipe("ontolink_retriever").kb.hash, np.ones(BUCKETS, np.float32))
    surface.to_disk(tmp_path / "surface")
    (file,) = (tmp_path / "surface" / "wording").iterdir()
    file.write_bytes(file.read_bytes()[:-1] + b"?")  # still a number
    with pytest.raises(StateError, match=re.escape(f"{file} ")):
        surface.from_disk(tmp_path / "surface")
    surface.from_disk(tmp_path / "surface", exclude=["wording"])
    (file.parent / "more").touch()
    with pytest.raises(StateError, match="more"):
        surface.from_disk(tmp_path / "surface")
    (tmp_path / "surface" / checksums.NAME).write_text("{}")
    with pytest.raises(StateError, match=re.escape(checksums.NAME)):
        surface.from_disk(tmp_path / "surface")
