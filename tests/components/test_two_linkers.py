"""Two components that give ids to the same mentions: told once, with the way out; others are left in peace."""

import logging

import pytest
import spacy
from spacy.language import Language


@pytest.fixture
def told(make_nlp, other_obo, caplog):
    """Link with a second retriever of these settings; return the warnings."""

    def told(first=None, **config):
        nlp = make_nlp(**(first or {}))
        nlp.add_pipe("ontolink_retriever", "second", config={"ontology": other_obo} | config)
        with caplog.at_level(logging.WARNING):
            for _ in range(2):
                list(nlp.pipe(["BF and milk yield", "BF again"]))
        return [record.getMessage() for record in caplog.records if "replaced" in record.getMessage()]

    return told


def test_a_second_retriever_replaces_ids_aloud(told):
    (warning,) = told()
    assert warning.startswith("second: ids that 'ontolink_retriever' gave")
    assert all(way in warning for way in ("overwrite = false", "labels", "spans_key"))


@pytest.mark.parametrize(
    "config",
    [{"overwrite": False}, {"labels": ["OTHER"]}, {"labels_discard": ["TRAIT"]}, {"spans_key": "sc"}],
    ids=lambda config: next(iter(config)),
)
def test_peaceful_neighbours(told, config):
    assert told(**config) == []


def test_a_first_retriever_that_leaves_them_alone(told):
    assert told(first={"labels": ["OTHER"]}) == []


def test_a_second_retriever_of_the_same_answers(told, obo):
    assert told(ontology=obo) == []


def test_ids_that_came_with_the_documents_are_nobodys(make_nlp, caplog):
    nlp = make_nlp()
    doc = nlp.make_doc("milk yield")
    doc.ents = [spacy.tokens.Span(doc, 0, 2, label="TRAIT", kb_id="T:1")]
    with nlp.select_pipes(disable=["entity_ruler"]), caplog.at_level(logging.WARNING):
        assert nlp(doc).ents[0].kb_id_ == "T:2"
    assert "replaced" not in caplog.text


def test_ids_that_came_with_the_documents_hide_no_clash(make_nlp, other_obo, caplog):
    """The first document has an id of nobody's; those that the first retriever gives are replaced later."""
    nlp = make_nlp(labels=["TRAIT"])
    nlp.add_pipe("ontolink_retriever", "second", config={"ontology": other_obo})
    doc = nlp.make_doc("milk yield")
    doc.ents = [spacy.tokens.Span(doc, 0, 2, label="OTHER", kb_id="T:1")]
    with nlp.select_pipes(disable=["entity_ruler"]), caplog.at_level(logging.WARNING):
        assert nlp(doc).ents[0].kb_id_ != "T:1"
        assert "replaced" not in caplog.text
    with caplog.at_level(logging.WARNING):
        list(nlp.pipe(["BF", "BF"]))
    (warning,) = [record.getMessage() for record in caplog.records if "replaced" in record.getMessage()]
    assert warning.startswith("second: ids that 'ontolink_retriever' gave")


def test_linking_again_with_the_same_pipeline(told, make_nlp, other_obo, caplog):
    """The first retriever meets ids that the second gave in an earlier run: nothing to warn the first of."""
    nlp = make_nlp()
    nlp.add_pipe("ontolink_retriever", "second", config={"ontology": other_obo})
    doc = nlp("BF")
    caplog.clear()
    with nlp.select_pipes(disable=["entity_ruler"]), caplog.at_level(logging.WARNING):
        nlp(doc)
    assert "replaced" not in caplog.text


def test_ids_of_another_linker(make_nlp, caplog):
    @Language.component("toy_linker", assigns=["token.ent_kb_id"])
    def toy_linker(doc):
        for token in doc:
            token.ent_kb_id_ = "Q:1"
        return doc

    nlp = make_nlp()
    nlp.add_pipe("toy_linker", before="ontolink_retriever")
    with caplog.at_level(logging.WARNING):
        assert [nlp(text).ents[0].kb_id_ for text in ("BF", "milk yield")] == ["T:1", "T:2"]
    assert [record.getMessage() for record in caplog.records if "'toy_linker' gave" in record.getMessage()][1:] == []
    assert "'toy_linker' gave" in caplog.text
