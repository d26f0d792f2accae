import pytest
import spacy
from spacy.tokens import DocBin, Span

from spacy_ontolink.documents.records import mention_records

TERMS = """format-version: 1.2
ontology: cancers

[Term]
id: C:1
name: breast cancer

[Term]
id: C:2
name: ovarian cancer

[Term]
id: C:3
name: hereditary breast and ovarian cancer syndrome

[Term]
id: C:4
name: breast pain
"""
MENTION = "breast and ovarian cancer"


@pytest.fixture
def make(tmp_path):
    path = tmp_path / "cancers.obo"
    path.write_text(TERMS, encoding="utf-8")

    def make(**config):
        nlp = spacy.blank("en")
        nlp.add_pipe("entity_ruler").add_patterns([
            {"label": "DISEASE", "pattern": text} for text in (MENTION, "breast cancer", "BOC")
        ])  # fmt: skip
        nlp.add_pipe("ontolink_retriever", config={"ontology": str(path), **config})
        return nlp

    return make


def test_without_the_setting_a_mention_is_one(make):
    (span,) = make()(MENTION).ents
    assert len(span._.ontolink) == 4
    assert span._.kb_parts == [] and "part" not in span._.ontolink[0]


def test_each_part_has_an_id(make):
    (span,) = make(composites=True)(MENTION).ents
    assert span.kb_id_ == "C:1"  # spaCy has room for one: the first part's
    assert [id for id, _ in span._.kb_ents[:2]] == ["C:1", "C:2"]
    assert [(text, id) for text, id, _ in span._.kb_parts] == [("breast cancer", "C:1"), ("ovarian cancer", "C:2")]
    assert [row["part"] for row in span._.ontolink[:2]] == ["breast cancer", "ovarian cancer"]


def test_the_parts_of_a_long_form(make):
    doc = make(composites=True)(f"BOC ({MENTION}) and BOC")
    assert [ent.text for ent in doc.ents] == ["BOC", MENTION, "BOC"]
    assert [[id for _, id, _ in ent._.kb_parts] for ent in doc.ents] == [["C:1", "C:2"]] * 3


def test_other_mentions_are_as_before(make):
    text = "breast cancer"
    (one,), (other,) = make()(text).ents, make(composites=True)(text).ents
    assert one._.ontolink == other._.ontolink and other._.kb_parts == []


def test_the_surface_stage_scores_by_part(make):
    nlp = make(composites=True)
    nlp.add_pipe("ontolink_surface_rerank")
    (span,) = nlp(MENTION).ents
    assert {id for _, id, _ in span._.kb_parts} == {"C:1", "C:2"}
    assert [id for id, _ in span._.kb_ents[:2]] == ["C:1", "C:2"]
    first, second = (row["scores"]["surface"] for row in span._.ontolink[:2])
    assert first == pytest.approx(second)


def test_a_rejected_mention_has_no_parts(make):
    nlp = make(composites=True, threshold=1.0)
    (span,) = nlp(MENTION).ents
    assert span.kb_id_ == "C:1"  # both are names
    (rejected,) = nlp.pipe([_with_ent(nlp, "breasts and ovary cancers")])
    assert rejected.ents[0].kb_id_ == "NIL" and rejected.ents[0]._.kb_parts == []


def _with_ent(nlp, text):
    doc = nlp.make_doc(text)
    doc.set_ents([Span(doc, 0, len(doc), label="DISEASE")])
    return doc


def test_parts_outlive_a_file_and_stand_in_records(make):
    nlp = make(composites=True)
    bin = DocBin(docs=[nlp(MENTION)], store_user_data=True)
    (doc,) = DocBin().from_bytes(bin.to_bytes()).get_docs(nlp.vocab)
    (span,) = doc.ents
    assert [id for _, id, _ in span._.kb_parts] == ["C:1", "C:2"]
    (record,) = mention_records(doc, None, 1)
    assert [(part["text"], part["kb_id"]) for part in record["parts"]] == [
        ("breast cancer", "C:1"),
        ("ovarian cancer", "C:2"),
    ]


def test_pipe_gives_what_single_calls_give(make):
    nlp = make(composites=True)
    texts = [MENTION, "breast cancer", f"{MENTION} and breast cancer"]
    assert [[ent._.ontolink for ent in doc.ents] for doc in nlp.pipe(texts)] == [
        [ent._.ontolink for ent in nlp(text).ents] for text in texts
    ]
