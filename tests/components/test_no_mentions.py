"""Set-ups in which the retriever can see no mention are told, once."""

import logging

import pytest
import spacy

RULES = [{"label": "TRAIT", "pattern": "milk yield"}]


@pytest.fixture
def ontology(tmp_path):
    path = tmp_path / "toy.obo"
    path.write_text("[Term]\nid: T:1\nname: milk yield\n", "utf-8")
    return str(path)


def warnings_of(nlp, caplog):
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            list(nlp.pipe(["High milk yield", "Low milk yield"]))
    return [record.getMessage() for record in caplog.records if "no mention" in record.getMessage()]


def test_what_finds_mentions_stands_behind(ontology, caplog):
    nlp = spacy.blank("en")
    nlp.add_pipe("ontolink_retriever", config={"ontology": ontology})
    nlp.add_pipe("entity_ruler").add_patterns(RULES)
    (told,) = warnings_of(nlp, caplog)
    assert "'entity_ruler' stands after it" in told


def test_nothing_finds_mentions(ontology, caplog):
    nlp = spacy.blank("en")
    nlp.add_pipe("ontolink_retriever", config={"ontology": ontology})
    (told,) = warnings_of(nlp, caplog)
    assert "no component before it sets doc.ents" in told and "first 2 document(s)" in told


def test_another_span_group_is_there(ontology, caplog):
    nlp = spacy.blank("en")
    nlp.add_pipe("span_ruler", config={"spans_key": "ruler"}).add_patterns(RULES)
    nlp.add_pipe("ontolink_retriever", config={"ontology": ontology, "spans_key": "ruelr"})
    (told,) = warnings_of(nlp, caplog)
    assert "no span group 'ruelr'; the groups are: ruler" in told


def test_groups_may_come_with_the_documents(ontology, caplog):
    nlp = spacy.blank("en")
    nlp.add_pipe("ontolink_retriever", config={"ontology": ontology, "spans_key": "given"})
    assert warnings_of(nlp, caplog) == []


def test_documents_without_mentions_by_chance_are_no_matter(ontology, caplog):
    nlp = spacy.blank("en")
    nlp.add_pipe("entity_ruler").add_patterns([{"label": "TRAIT", "pattern": "wool"}])
    nlp.add_pipe("ontolink_retriever", config={"ontology": ontology})
    assert warnings_of(nlp, caplog) == []
