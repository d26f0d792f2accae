"""Properties that hold for any text, any spans and any ontology, from the file to the linked document."""

import json
import logging
from dataclasses import replace

import pytest
import spacy
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from signs import answers
from spacy.tokens import Doc, Span

from spacy_ontolink.errors import OntologyError
from spacy_ontolink.kb.readers import read_ontology
from spacy_ontolink.text import normalise

STAGES = ("ontolink_surface_rerank", "ontolink_fuse")
FUZZ = settings(
    max_examples=25,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
odd = st.sampled_from(
    ["milk yield", "\u05d7\u05dc\u05d1", "\u0644\u0628\u0646", "\U0001f600", "\U0001f469\u200d\U0001f467", 
     "\u202ebackwards",
     "cafe\u0301", "\ufb01bre", "\u00a0", "\u200b", "\x00", "NIL", "T:1", "a" * 5000, "(OH)", "\u00df", "\u0130"]
)  # fmt: skip
words = st.lists(st.one_of(odd, st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)), min_size=1,
                 max_size=12)  # fmt: skip


@pytest.fixture(scope="module")
def linked(saved):
    nlp = spacy.load(saved())
    nlp.remove_pipe("entity_ruler")
    nlp.get_pipe("ontolink_retriever")._warned.add("cut")  # said once a run
    return nlp


@st.composite
def documents(draw):
    """Words, and spans over them: of no length, equal, overlapping, with and without labels."""
    given = draw(words)
    place = st.integers(0, len(given))
    spans = draw(st.lists(st.tuples(place, place, st.sampled_from(["", "SIGN", "X"]), st.text(max_size=3)), max_size=8))
    return given, [(min(a, b), max(a, b), label, id) for a, b, label, id in spans]


@FUZZ
@given(document=documents())
def test_only_ids_of_spans_change(linked, document):
    given, spans = document
    nlp = linked
    component = nlp.get_pipe("ontolink_retriever")
    before = component.settings
    doc = Doc(nlp.vocab, words=given)
    doc.spans["sc"] = [Span(doc, start, end, label=label, span_id=id) for start, end, label, id in spans]
    doc.ents = [doc[0:1]]

    def shown():
        every = [(x.start, x.end, x.text, x.label_, x.id_) for x in [*doc.spans["sc"], *doc.ents]]
        return doc.text, every, list(doc.spans)

    expected = shown()
    try:
        component.settings = replace(before, spans_key="sc")
        for pipe in (component, *(nlp.get_pipe(name) for name in STAGES)):
            doc = pipe(doc)
    finally:
        component.settings = before
    assert shown() == expected
    known = {*component.kb, "NIL"}
    for span in doc.spans["sc"]:
        assert span.kb_id_ in (known if span.end > span.start else {""})
        assert span.text.strip() or span.kb_id_ in ("", "NIL")
    json.dumps([span._.ontolink for span in doc.spans["sc"]], allow_nan=False).encode()


ids = st.integers(0, 9).map("T:{}".format)
names = st.one_of(
    st.sampled_from(["milk yield", "Milk  Yield", "\u03b2-carotene", "BF", "", " ", "T:1", "(x)", "caf\u00e9"]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
)
entities = st.lists(
    st.fixed_dictionaries(
        {"id": ids, "name": names},
        optional={
            "synonyms": st.lists(st.fixed_dictionaries({"text": names}, optional={
                "scope": st.sampled_from(["EXACT", "RELATED", "odd"])}), max_size=3),
            "parents": st.lists(ids, max_size=2), "obsolete": st.booleans(), "alt_ids": st.lists(ids, max_size=1),
            "replaced_by": st.lists(ids, max_size=2), "consider": st.lists(ids, max_size=1), "definition": names,
        },
    ),
    min_size=1, max_size=10,
)  # fmt: skip


@FUZZ
@given(rows=entities)
def test_any_ontology_links_its_own_names_or_is_refused(tmp_path, caplog, rows):
    """Cycles, dangling references, obsolete chains, repeated ids, namesakes: all of it in ten entities."""
    caplog.set_level(logging.CRITICAL, "spacy_ontolink")
    path = tmp_path / "any.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    try:
        kb = read_ontology([path])
    except OntologyError as error:
        assert "any.jsonl" in str(error)
        return
    live = set(kb)
    for id in live:
        assert id not in kb.ancestors(id)
    nlp = spacy.blank("en")
    nlp.add_pipe("ontolink_retriever", config={"ontology": str(path), "pooling": 0.3})
    for stage in STAGES:
        nlp.add_pipe(stage)
    wanted = [name for name in dict.fromkeys(row["name"] for row in rows) if normalise(name)]
    docs = [Doc(nlp.vocab, words=[name]) for name in wanted]
    for doc in docs:
        doc.ents = [Span(doc, 0, 1, label="X")]
    try:
        found_docs = list(nlp.pipe(docs))
    except OntologyError as error:
        assert "any: none of its" in str(error)  # names without a letter
        return
    for doc in found_docs:
        (row,) = answers(doc)
        found = [id for id, _ in row[4]]
        assert {row[3]} <= {*live, "NIL"}
        assert len(set(found)) == len(found)
        assert set(found) <= live
        assert all(abs(score) < 100 for _, score in row[4])
        if owners := kb.ids_of(kb.lookup(doc.text)):
            assert row[3] in owners


def test_an_ontology_of_one_term_through_all_stages(tmp_path):
    (tmp_path / "one.jsonl").write_text('{"id": "T:1", "name": "milk yield"}\n')
    nlp = spacy.blank("en")
    nlp.add_pipe("ontolink_retriever", config={"ontology": str(tmp_path / "one.jsonl"), "pooling": 0.5})
    for stage in STAGES:
        nlp.add_pipe(stage)
    for text in ("milk yield", "yields of milk", "zzz"):
        doc = Doc(nlp.vocab, words=[text])
        doc.ents = [Span(doc, 0, 1, label="X")]
        (row,) = answers(nlp(doc))
        json.dumps(row[5], allow_nan=False)
        assert row[3] == ("NIL" if text == "zzz" else "T:1")
