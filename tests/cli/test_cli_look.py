"""info and search: looking at what is there."""

import json

import pytest
import spacy


def test_search_ranks_candidates(ontolink, pipeline):
    lines = ontolink("search", pipeline, "percentage of fat", "-k", 2).out.splitlines()
    assert 1 <= len(lines) <= 2
    score, id, rest = lines[0].split(maxsplit=2)
    assert 0 < float(score) <= 1.001
    assert id == "T:1"
    assert rest.startswith("body fat percentage")


def test_search_as_json(ontolink, pipeline):
    first = json.loads(ontolink("search", pipeline, "fat percentage", "--json").out.splitlines()[0])
    assert (first["id"], first["matched"], first["scope"]) == ("T:1", "fat percentage", "EXACT")


def test_search_for_what_is_not_there(ontolink, pipeline):
    assert ontolink("search", pipeline, "≈≈≈").out == "NIL\n"


def test_words_without_quotes(ontolink, pipeline):
    quoted = ontolink("search", pipeline, "percentage of fat", "-k", 2).out
    assert ontolink("search", pipeline, "percentage", "of", "fat", "-k", 2).out == quoted


def test_blank_search(refused, pipeline):
    assert "blank" in refused("search", pipeline, " ")


def test_info_on_an_ontology(ontolink, toy):
    facts = json.loads(ontolink("info", toy, "--json").out)
    assert (facts["kind"], facts["entities"], facts["names"]) == ("ontology", 4, 7)
    assert (facts["depth"], facts["obsolete"], facts["alt_ids"]) == (2, 1, 1)
    text = ontolink("info", toy).out
    assert "entities" in text
    assert "depth" in text


def test_info_on_a_pipeline(ontolink, pipeline):
    facts = json.loads(ontolink("info", pipeline, "--json").out)
    assert facts["kind"] == "pipeline"
    assert facts["ontolink_retriever"]["entities"] == 4
    assert facts["ontolink_retriever"]["index"]["kind"] == "exact"
    assert "ontolink_retriever" in ontolink("info", pipeline).out


def test_info_on_a_knowledge_base(ontolink, pipeline, tmp_path):
    spacy.load(pipeline).get_pipe("ontolink_retriever").kb.to_disk(tmp_path / "kb")
    assert json.loads(ontolink("info", tmp_path / "kb", "--json").out)["kind"] == "knowledge base"


@pytest.mark.parametrize("what", ["missing", "folder", "text"])
def test_info_on_something_else(refused, tmp_path, what):
    path = tmp_path / what
    if what == "folder":
        path.mkdir()
    elif what == "text":
        path.write_text("hello\n")
    assert what in refused("info", path)


def test_search_with_one_of_several_retrievers(ontolink, refused, two_retrievers):
    assert "--component: ontolink_retriever, second" in refused("search", two_retrievers, "fat percentage")
    for component, id in (("ontolink_retriever", "T:1"), ("second", "X:1")):
        result = ontolink("search", two_retrievers, "fat percentage", "--component", component, "--json")
        assert json.loads(result.out.splitlines()[0])["id"] == id
