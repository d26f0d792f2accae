import logging
import pickle

import pytest
import spacy
from spacy.tokens import Doc, DocBin, Span, SpanGroup
from spacy.training import Example

from spacy_ontolink.components import spans as s
from spacy_ontolink.components.spans import NIL, NO_ANSWER, Answer


def columns(*ids, stage="retriever"):
    scores = [1.0 - 0.25 * i for i in range(len(ids))]
    names = [f"name of {id}" for id in ids]
    return {
        "id": list(ids), "name": names, "matched": names, "scope": ["NAME"] * len(ids), "scores": {stage: scores}
    }  # fmt: skip


ONE, TWO = Answer("T:1", columns("T:1", "T:2")), Answer("T:2", columns("T:2"))


@pytest.fixture(autouse=True)
def extensions():
    s.register_extensions()


@pytest.fixture
def doc():
    doc = Doc(spacy.blank("en").vocab, words="The body fat percentage of BF rose .".split())
    doc.ents = [Span(doc, 1, 4, label="TRAIT", span_id="first"), Span(doc, 5, 6, label="TRAIT")]
    doc.spans["sc"] = SpanGroup(
        doc,
        name="other name",
        attrs={"scores": [0.5]},
        spans=[
            Span(doc, 1, 4, label="A", span_id="x"),
            Span(doc, 2, 4, label="A"),
            Span(doc, 3, 3, label="A"),
            Span(doc, 1, 4, label="B"),
        ],
    )
    return doc


def link(doc, answers, group="", component="retriever", overwrite=True):
    s.write_answers(s.read_spans(doc, group), answers, group=group, component=component, overwrite=overwrite)
    return doc


def shape(doc):
    read = {"": doc.ents, **doc.spans}
    groups = {key: [(x.start, x.end, x.label_, x.id_, x.text) for x in group] for key, group in read.items()}
    return groups, {key: (group.name, dict(group.attrs)) for key, group in doc.spans.items()}


def test_entities_get_ids_and_candidates_and_nothing_else_changes(doc):
    before = shape(doc)
    link(doc, [ONE, NO_ANSWER])
    assert [ent.kb_id_ for ent in doc.ents] == ["T:1", NIL]
    assert doc[1:4]._.kb_ents == doc.ents[0]._.kb_ents  # a slice has no label and may take any
    assert [token.ent_kb_id_ for token in doc] == ["", "T:1", "T:1", "T:1", "", NIL, "", ""]
    assert doc.ents[0]._.kb_ents == [("T:1", 1.0), ("T:2", 0.75)]
    assert doc.ents[1]._.kb_ents == doc.ents[1]._.ontolink == []
    assert doc.ents[0]._.ontolink[1] == {
        "id": "T:2", "name": "name of T:2", "matched": "name of T:2", "scope": "NAME", "score": 0.75,
        "scores": {"retriever": 0.75}, "rank": 2, "probability": None,
    }  # fmt: skip
    assert shape(doc) == before


def test_groups_keep_their_spans_and_each_span_its_own_candidates(doc):
    before = shape(doc)
    link(doc, [TWO, NO_ANSWER])
    link(doc, [ONE, TWO, None, NO_ANSWER], "sc")
    assert shape(doc) == before
    assert [span.kb_id_ for span in doc.spans["sc"]] == ["T:1", "T:2", "", NIL]
    assert [len(span._.kb_ents) for span in doc.spans["sc"]] == [2, 1, 0, 0]
    assert doc.ents[0].kb_id_ == "T:2"
    assert doc.ents[0]._.kb_ents == [("T:2", 1.0)]


def test_absent_group_is_not_created(doc):
    assert s.read_spans(doc, "absent") == []
    assert "absent" not in doc.spans


def test_writing_again_replaces(doc):
    link(doc, [ONE, None])
    once = dict(doc.user_data)
    link(doc, [ONE, None])
    assert doc.user_data == once
    link(doc, [TWO, None])
    assert doc.ents[0]._.kb_ents == [("T:2", 1.0)]


def test_of_two_components_the_one_that_gave_the_id_is_shown(doc):
    link(doc, [ONE, None], component="a")
    link(doc, [TWO, None], component="b", overwrite=False)
    assert doc.ents[0].kb_id_ == "T:1"
    assert doc.ents[0]._.kb_ents[0] == ("T:1", 1.0)
    link(doc, [TWO, None], component="b")
    assert doc.ents[0]._.kb_ents == [("T:2", 1.0)]
    for token in doc.ents[0]:
        token.ent_kb_id_ = "by hand"
    assert doc.ents[0]._.kb_ents == [("T:2", 1.0)]


def test_without_overwrite_only_missing_ids_are_set(doc):
    link(doc, [NO_ANSWER, None])
    link(doc, [ONE, TWO], overwrite=False)
    assert [ent.kb_id_ for ent in doc.ents] == ["T:1", "T:2"]
    link(doc, [TWO, NO_ANSWER], overwrite=False)
    assert [ent.kb_id_ for ent in doc.ents] == ["T:1", "T:2"]


def results(doc):
    read = [*doc.ents, *(span for key in sorted(doc.spans) for span in doc.spans[key])]
    return [(span.text, span.label_, span.kb_id_, span._.kb_ents, span._.ontolink) for span in read]


def test_results_survive_every_way_to_store_a_doc(doc):
    link(doc, [ONE, NO_ANSWER])
    link(doc, [TWO, ONE, None, NO_ANSWER], "sc")
    expected = results(doc)
    assert results(Doc(spacy.blank("en").vocab).from_bytes(doc.to_bytes())) == expected
    stored = DocBin(store_user_data=True, docs=[doc]).to_bytes()
    (loaded,) = DocBin(store_user_data=True).from_bytes(stored).get_docs(spacy.blank("en").vocab)
    assert results(loaded) == expected
    link(loaded, [TWO, NO_ANSWER])  # DocBin makes tuples of lists
    assert loaded.ents[0]._.kb_ents == [("T:2", 1.0)]
    assert results(pickle.loads(pickle.dumps(doc))) == expected
    assert results(doc[1:6].as_doc(copy_user_data=True))[:2] == expected[:2]


def test_results_survive_joining_and_copying_docs(doc):
    doc.spans["sc"] = [span for span in doc.spans["sc"] if span.start < span.end]  # spaCy itself refuses empty ones
    link(doc, [ONE, NO_ANSWER])
    link(doc, [TWO, ONE, NO_ANSWER], "sc")
    expected = results(doc)
    assert results(doc.copy()) == expected
    joined = results(Doc.from_docs([doc, doc.copy()]))
    assert joined == expected[:2] * 2 + expected[2:] * 2


def test_another_package_keeps_its_extension(doc, caplog):
    ours = Span.remove_extension("kb_ents")
    try:
        Span.set_extension("kb_ents", default=[])
        with caplog.at_level(logging.WARNING):
            s.register_extensions()
        assert "kb_ents" in caplog.text
        link(doc, [ONE, None])
        assert doc.ents[0]._.kb_ents == []
        assert len(doc.ents[0]._.ontolink) == 2
    finally:
        Span.set_extension("kb_ents", getter=ours[2], force=True)


def test_mentions_keep_offsets_and_context(doc):
    span = doc.ents[0]
    mention, cut = s.read_mention(span, doc.text, 2)
    assert (mention.text, mention.left, mention.right, cut) == ("body fat percentage", "The ", " of BF", False)
    assert s.read_mention(span, doc.text)[0].left == ""


def test_context_can_be_confined_to_sentences():
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    doc = nlp("One here. Two here. The fat pig. Four here. Five here.")
    span = doc.char_span(24, 27)
    assert span.text == "fat"
    for n_sents, left, right in [
        (0, "The ", " pig."),
        (1, "Two here. The ", " pig. Four here."),
        (9, "One here. Two here. The ", " pig. Four here. Five here."),
        (None, "One here. Two here. The ", " pig. Four here. Five here."),
    ]:
        mention, _ = s.read_mention(span, doc.text, 64, n_sents)
        assert (mention.left, mention.right.rstrip()) == (left, right)
    assert s.read_mention(span, doc.text, 2, 0)[0].left == "The "


def test_long_mentions_are_cut_alike():
    doc = Doc(spacy.blank("en").vocab, words=["word"] * 700 + ["x" * 5000])
    mention, cut = s.read_mention(doc[:700], doc.text, 8)
    assert cut
    assert len(mention.text.split()) == s.MAX_TOKENS
    mention, cut = s.read_mention(doc[700:701], doc.text)
    assert cut
    assert len(mention.text) == s.MAX_CHARS


def test_abbreviations_of_scispacy_come_first():
    doc = Doc(spacy.blank("en").vocab, words="body fat percentage ( BFP ) of BFP".split())
    assert s.read_abbreviations(doc, doc.text) == {"BFP": "body fat percentage"}
    Doc.set_extension("abbreviations", default=[])
    Span.set_extension("long_form", default=None)
    try:
        assert s.read_abbreviations(doc, doc.text) == {"BFP": "body fat percentage"}
        short = doc[6:7]
        short._.long_form = doc[1:3]
        doc._.abbreviations = [short]
        assert s.read_abbreviations(doc, doc.text) == {"of": "fat percentage"}
        doc._.abbreviations = [{"short_text": "BFP", "long_text": "fat"}]
        assert s.read_abbreviations(doc, doc.text) == {"BFP": "fat"}
    finally:
        Doc.remove_extension("abbreviations")
        Span.remove_extension("long_form")


@pytest.mark.parametrize("group", ["", "sc"])
def test_copying_mentions_leaves_ids_behind(doc, group):
    link(doc, [ONE, TWO] if not group else [ONE, TWO, None, TWO], group)
    example = Example(Doc(doc.vocab, words=[token.text for token in doc]), doc)
    s.copy_mentions([example], group)
    copies = s.read_spans(example.predicted, group)
    assert [(x.text, x.label_) for x in copies if x] == [(x.text, x.label_) for x in s.read_spans(doc, group) if x]
    assert {x.kb_id_ for x in copies} == {""}


@pytest.mark.parametrize("group", ["", "sc"])
def test_a_nil_does_not_replace_the_id_of_another_component(doc, group):
    rest = [None] * (len(s.read_spans(doc, group)) - 1)
    for _ in range(2):
        link(doc, [ONE, *rest], group, component="a")
        link(doc, [NO_ANSWER, *rest], group, component="b")
        span = s.read_spans(doc, group)[0]
        assert span.kb_id_ == "T:1"
        assert span._.kb_ents == [("T:1", 1.0), ("T:2", 0.75)]
    link(doc, [NO_ANSWER, *rest], group, component="a")  # nobody gives an id any more
    assert s.read_spans(doc, group)[0].kb_id_ == NIL


def test_an_id_replaces_a_nil_and_another_id_in_any_order_of_runs(doc):
    for _ in range(2):
        link(doc, [NO_ANSWER, ONE], component="a")
        link(doc, [TWO, TWO], component="b")
        assert [ent.kb_id_ for ent in doc.ents] == ["T:2", "T:2"]
        assert [ent._.kb_ents for ent in doc.ents] == [[("T:2", 1.0)]] * 2


def test_of_two_nils_the_one_with_candidates_is_shown(doc):
    link(doc, [Answer(NIL, columns("T:1")), None], component="a")
    link(doc, [NO_ANSWER, None], component="b")
    assert doc.ents[0].kb_id_ == NIL
    assert doc.ents[0]._.kb_ents == [("T:1", 1.0)]
