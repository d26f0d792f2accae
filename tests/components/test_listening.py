import pytest
import spacy
from spacy.ty import ListenedToComponent

from spacy_ontolink.errors import ConfigError

SURFACE = "ontolink_surface_rerank"


def views(doc):
    return [[*row["scores"]] for span in doc.ents for row in span._.ontolink]


def test_a_retriever_is_what_spacy_calls_listened_to(make_nlp):
    assert isinstance(make_nlp().get_pipe("ontolink_retriever"), ListenedToComponent)


def test_the_nearest_retriever_before_a_stage_is_its_own(make_nlp, other_obo):
    nlp = make_nlp()
    nlp.add_pipe(SURFACE, "one")
    nlp.add_pipe("ontolink_retriever", "second", config={"ontology": other_obo})
    nlp.add_pipe(SURFACE, "two")
    assert nlp.get_pipe("one").provider is nlp.get_pipe("ontolink_retriever")
    assert nlp.get_pipe("two").provider is nlp.get_pipe("second")
    assert nlp.get_pipe("second").listening_components == ["two"]


def test_one_can_be_named(make_nlp, other_obo):
    nlp = make_nlp()
    nlp.add_pipe("ontolink_retriever", "second", config={"ontology": other_obo})
    nlp.add_pipe(SURFACE, config={"upstream": "ontolink_retriever"})
    assert nlp.get_pipe(SURFACE).provider is nlp.get_pipe("ontolink_retriever")
    nlp("BF")


@pytest.mark.parametrize("upstream", ["*", "nobody"])
def test_without_one_the_message_has_those_there_are(make_nlp, upstream):
    nlp = make_nlp()
    nlp.add_pipe(SURFACE, before="ontolink_retriever", config={"upstream": upstream})
    with pytest.raises(ConfigError, match=r"retrievers of the pipeline are: ontolink_retriever"):
        nlp("BF")


def test_analyze_pipes_reports_a_stage_without_a_retriever():
    nlp = spacy.blank("en")
    nlp.add_pipe(SURFACE)
    assert nlp.analyze_pipes()["problems"][SURFACE] == ["span._.ontolink"]


def test_changes_of_the_pipeline_are_followed(make_nlp):
    nlp = make_nlp()
    nlp.add_pipe(SURFACE)
    nlp.rename_pipe("ontolink_retriever", "linker")
    assert set(map(tuple, views(nlp("BF")))) == {("retriever", "surface")}
    nlp.remove_pipe("linker")
    with pytest.raises(ConfigError, match="none"):
        nlp("BF")


def test_sourced_and_reloaded_stages_listen_in_their_new_pipeline(make_nlp, tmp_path):
    nlp, other = make_nlp(), make_nlp()
    nlp.add_pipe(SURFACE)
    nlp.to_disk(tmp_path / "out")
    loaded = spacy.load(tmp_path / "out")
    assert loaded.get_pipe(SURFACE).provider is loaded.get_pipe("ontolink_retriever")
    other.add_pipe(SURFACE, source=nlp)
    assert other.get_pipe(SURFACE).provider is other.get_pipe("ontolink_retriever")


def test_a_disabled_stage_leaves_the_answer_to_the_others(make_nlp):
    nlp = make_nlp()
    nlp.add_pipe(SURFACE)
    with nlp.select_pipes(disable=SURFACE):
        assert set(map(tuple, views(nlp("BF")))) == {("retriever",)}
