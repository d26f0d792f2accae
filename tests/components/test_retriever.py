import logging
import unicodedata
from dataclasses import dataclass

import pytest
import spacy
from spacy.schemas import validate_init_settings
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_ontolink.components.retriever import OntologyRetriever
from spacy_ontolink.components.settings import RetrieverSettings
from spacy_ontolink.errors import ConfigError
from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.types import Entity

TEXT = "The milk yield and body fat percentage of BF cows with beta-carotene level , zzzqqq ."


def link_text(nlp, text, label="TRAIT"):
    """Link the whole text as one entity."""
    doc = nlp.make_doc(text)
    doc.ents = [Span(doc, 0, len(doc), label=label)]
    return nlp.get_pipe("ontolink_retriever")(doc).ents[0]


def test_entities_carry_ids_after_two_lines(make_nlp):
    doc = make_nlp()(TEXT)
    ids = {ent.text: ent.kb_id_ for ent in doc.ents}
    assert ids == {
        "milk yield": "T:2",
        "body fat percentage": "T:1",
        "BF": "T:1",
        "beta-carotene level": "T:4",
        "zzzqqq": "NIL",
    }
    best = doc.ents[2]._.ontolink[0]
    assert (best["id"], best["name"], best["matched"], best["scope"]) == ("T:1", "body fat percentage", "BF", "RELATED")
    assert best["score"] == best["scores"]["retriever"] == doc.ents[2]._.kb_ents[0][1] == pytest.approx(1, abs=1e-3)
    assert [span.kb_id_ for span in doc.spans["sc"]] == [""] * 5


def test_span_groups_are_linked_in_place(make_nlp):
    nlp = make_nlp(spans_key="sc")
    doc = nlp.make_doc("BF and milk yield trait")
    doc.spans["sc"] = [
        Span(doc, 2, 4, label="A", span_id="i"),
        Span(doc, 2, 5, label="A"),
        Span(doc, 3, 5, label="B"),
        Span(doc, 1, 1, label="B"),
    ]
    component = nlp.get_pipe("ontolink_retriever")
    doc = component(doc)
    assert [(x.start, x.end, x.label_, x.id_) for x in doc.spans["sc"]] == [
        (2, 4, "A", "i"), (2, 5, "A", ""), (3, 5, "B", ""), (1, 1, "B", "")
    ]  # fmt: skip
    assert [x.kb_id_ for x in doc.spans["sc"]] == ["T:2", "T:3", "T:3", ""]
    assert not doc.ents


def test_empty_docs_and_absent_groups_are_left_alone(make_nlp, count_encodings):
    nlp = make_nlp(spans_key="absent")
    seen = count_encodings(nlp.get_pipe("ontolink_retriever"))
    for doc in [nlp(""), nlp(TEXT)]:
        assert "absent" not in doc.spans
        assert not any("ontolink" in str(key) for key in doc.user_data)
    assert not nlp("").user_data
    assert seen == []


@pytest.mark.parametrize("text", [" \n ", "\u00a0"])
def test_blank_mentions_are_nil_without_being_encoded(make_nlp, count_encodings, text):
    nlp = make_nlp(ruler=False, spans_key="sc")
    component = nlp.get_pipe("ontolink_retriever")
    seen = count_encodings(component)
    doc = Doc(nlp.vocab, words=["a", text], spaces=[True, False])
    doc.spans["sc"] = [Span(doc, 1, 2, label="X")]
    component(doc)
    assert doc.spans["sc"][0].kb_id_ == "NIL"
    assert doc.spans["sc"][0]._.kb_ents == []
    assert seen == []


@pytest.mark.parametrize(
    ("text", "id"),
    [
        ("milk\n\tyield", "T:2"),
        ("β-carotene level", "T:4"),
        ("beta-carotene level", "T:4"),
        ("Beta Carotene Level", "T:4"),
        ("café ﬁbre", "T:5"),
        (unicodedata.normalize("NFD", "café fibre"), "T:5"),
        ("lactation amount", "T:2"),
    ],
)
def test_spelling_variants_lead_to_one_entity(make_nlp, text, id):
    ent = link_text(make_nlp(ruler=False), text)
    assert (ent.kb_id_, ent.text) == (id, text)


@pytest.mark.parametrize("text", ["إنتاج الحليب", "תנובת חלב", "😀 milk yield 😀", "👩‍👩‍👧", "\x00", "a" * 100_000])
def test_odd_text_does_not_crash(make_nlp, text):
    nlp = make_nlp(ruler=False)
    doc = Doc(nlp.vocab, words=["Text", text, "end"])
    doc.ents = [Span(doc, 1, 2, label="X")]
    ent = nlp.get_pipe("ontolink_retriever")(doc).ents[0]
    assert ent.text == text
    assert ent.kb_id_
    assert "T:8" not in [id for id, _ in ent._.kb_ents]


def test_a_long_mention_is_cut_with_one_warning(make_nlp, caplog):
    nlp = make_nlp(ruler=False)
    with caplog.at_level(logging.WARNING, "spacy_ontolink"):
        first = link_text(nlp, "milk yield " * 350)
        second = link_text(nlp, "milk yield " * 350)
    assert first._.kb_ents == second._.kb_ents
    assert len(first) == 700
    assert len([record for record in caplog.records if "700 tokens" in record.getMessage()]) == 1


def test_equal_mentions_are_encoded_once(make_nlp, count_encodings):
    nlp = make_nlp(ruler=False)
    component = nlp.get_pipe("ontolink_retriever")
    seen = count_encodings(component)
    docs = [Doc(nlp.vocab, words=["BF"] * 2000) for _ in range(5)]
    for doc in docs:
        doc.ents = [Span(doc, i, i + 1, label="X") for i in range(2000)]
    list(component.pipe(docs))
    assert [mention.text for mention in seen] == ["BF"]
    assert {ent.kb_id_ for doc in docs for ent in doc.ents} == {"T:1"}


@pytest.mark.parametrize(
    ("uses_context", "expected"), [(False, [("BF", "", "")]), (True, [("BF", "", " is"), ("BF", "is ", "")])]
)
def test_only_an_encoder_that_uses_context_gets_it(make_nlp, count_encodings, uses_context, expected):
    nlp = make_nlp()
    component = nlp.get_pipe("ontolink_retriever")
    seen = count_encodings(component)
    component.space.encoder.uses_context = uses_context
    list(nlp.pipe(["BF is", "is BF"]))
    assert [(mention.text, mention.left, mention.right) for mention in seen] == expected


def test_several_ontologies_in_one_kb(make_nlp, obo, other_obo):
    nlp = make_nlp(ontology=[obo, other_obo])
    ent = nlp("BF").ents[0]
    ids = [id for id, _ in ent._.kb_ents]
    assert ids[:2] == ["X:9", "T:1"]  # the EXACT synonym goes before the RELATED one
    assert ent._.kb_ents[0][1] == ent._.kb_ents[1][1]


def test_two_retrievers_in_one_pipeline(make_nlp, other_obo):
    nlp = make_nlp()
    nlp.add_pipe("ontolink_retriever", "other", config={"ontology": other_obo, "spans_key": "sc"})
    nlp.add_pipe("ontolink_retriever", "third", config={"ontology": other_obo, "overwrite": False})
    doc = nlp("BF")
    assert doc.ents[0].kb_id_ == "T:1"
    assert doc.ents[0]._.kb_ents[0][0] == "T:1"
    assert doc.spans["sc"][0].kb_id_ == "X:9"
    assert nlp.get_pipe("other").kb.name != nlp.get_pipe("ontolink_retriever").kb.name


def test_two_retrievers_on_the_same_entities(make_nlp, other_obo, results):
    nlp = make_nlp()
    nlp.add_pipe("ontolink_retriever", "other", config={"ontology": other_obo, "threshold": 0.99})
    doc = nlp("body fat percentage")
    assert doc.ents[0].kb_id_ == "T:1"  # the other one says NIL
    assert doc.ents[0]._.kb_ents[0][0] == "T:1"
    once = results(doc)
    assert results(nlp(doc)) == once
    assert nlp("BF").ents[0].kb_id_ == "X:9"  # of two ids the later one stays


def test_one_synonym_of_many_entities_reaches_all_of_them(tmp_path, make_nlp):
    path = tmp_path / "many.obo"
    terms = [f'[Term]\nid: M:{i:03}\nname: thing {i:03}\nsynonym: "shared name" EXACT []\n' for i in range(500)]
    path.write_text("format-version: 1.2\n\n" + "\n".join(terms), encoding="utf-8")
    nlp = make_nlp(ruler=False, ontology=str(path), k=500)
    first = [id for id, _ in link_text(nlp, "shared name")._.kb_ents]
    assert len(set(first)) == len(first) == 500
    assert first == [id for id, _ in link_text(nlp, "shared name")._.kb_ents]


def test_linking_twice_is_linking_once(make_nlp, results):
    nlp = make_nlp()
    doc = nlp(TEXT)
    once, data = results(doc), dict(doc.user_data)
    doc = nlp.get_pipe("ontolink_retriever")(doc)
    assert results(doc) == once
    assert dict(doc.user_data) == data


@pytest.mark.parametrize("batch_size", [1, 2, 100])
def test_batches_do_not_matter(make_nlp, results, batch_size):
    nlp = make_nlp()
    texts = [TEXT, "", "BF", "no mention", "milk yield of BF"] * 3
    expected = [results(nlp(text)) for text in texts]
    assert [results(doc) for doc in nlp.pipe(texts, batch_size=batch_size)] == expected
    backwards = [results(doc) for doc in nlp.pipe(texts[::-1], batch_size=batch_size)]
    assert backwards[::-1] == expected


def test_labels_choose_what_is_linked(make_nlp):
    nlp = make_nlp(ruler=False, labels=["A", "B"], labels_discard=["B"])
    assert [link_text(nlp, "milk yield", label).kb_id_ for label in "ABC"] == ["T:2", "NIL", ""]


def test_filters_act_inside_retrieval(make_nlp, obo, other_obo):
    config = {"ontology": [obo, other_obo], "k": 1}
    assert link_text(make_nlp(ruler=False, **config), "BF").kb_id_ == "X:9"
    nlp = make_nlp(ruler=False, **config, filters={"prefixes": ["T"]})
    assert link_text(nlp, "BF").kb_id_ == "T:1"
    nlp = make_nlp(ruler=False, **config, label_filters={"A": {"prefixes": ["T"]}})
    assert [link_text(nlp, "BF", label).kb_id_ for label in "AC"] == ["T:1", "X:9"]
    nlp = make_nlp(ruler=False, **config, label_filters={"A": {"prefixes": ["X"]}, "B": {"branches": ["T:3"]}})
    assert [link_text(nlp, "milk yield", label).kb_id_ for label in "ABC"] == ["X:10", "T:2", "T:2"]
    nlp = make_nlp(ruler=False, **config, filters={"branches": ["T:3"]}, label_filters={"A": {"prefixes": ["X"]}})
    assert link_text(nlp, "BF", "A").kb_id_ == "NIL"


def test_an_unknown_branch_is_an_error(make_nlp):
    with pytest.raises(ConfigError, match="T:77"):
        make_nlp(filters={"branches": ["T:77"]})("BF")


def test_unknown_labels_give_one_warning(make_nlp, caplog):
    nlp = make_nlp(labels=["TRAIT", "TRIAT"])
    with caplog.at_level(logging.WARNING, "spacy_ontolink"):
        nlp(TEXT)
        nlp(TEXT)
    assert caplog.text.count("TRIAT") == 1
    assert "TRAIT" in caplog.text.replace("TRIAT", "")


def test_a_threshold_makes_nil_but_keeps_candidates(make_nlp):
    nlp = make_nlp(ruler=False, threshold=0.95)
    assert link_text(nlp, "milk yield").kb_id_ == "T:2"
    ent = link_text(nlp, "milk yield per day")
    assert ent.kb_id_ == "NIL"
    assert ent._.kb_ents[0][0] == "T:2"


def test_overwrite(make_nlp):
    for overwrite, id in [(True, "T:2"), (False, "old")]:
        nlp = make_nlp(overwrite=overwrite)
        doc = Doc(nlp.vocab, words=["milk", "yield"])
        doc.ents = [Span(doc, 0, 2, label="X", kb_id="old")]
        assert nlp.get_pipe("ontolink_retriever")(doc).ents[0].kb_id_ == id
        assert doc.ents[0]._.kb_ents[0][0] == "T:2"


def test_long_forms_of_the_document_are_looked_up_too(make_nlp):
    text = "Its body fat percentage (BFP) rose; BFP is BF."
    assert [ent.kb_id_ for ent in make_nlp()(text).ents] == ["T:1"] * 4
    without = make_nlp(abbreviations=False)(text)
    assert without.ents[1]._.kb_ents != make_nlp()(text).ents[1]._.kb_ents


def test_k_bounds_the_candidates(make_nlp):
    assert len(link_text(make_nlp(ruler=False, k=1), "yield")._.kb_ents) == 1


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"k": 0}, "k = 0"),
        ({"weights": [1.0, 0.0]}, "three weights"),
        ({"weights": [0.0, 0.0, 0.0]}, "above 0"),
        ({"weights": [1.0, -1.0, 0.0]}, "three weights"),
        ({"threshold": 2.0}, "threshold = 2.0"),
        ({"threshold": "0.5"}, "a number is wanted"),
        ({"pooling": -0.1}, "pooling"),
        ({"name_pooling": -0.1}, "name_pooling"),
        ({"spans_key": ""}, "spans_key"),
        ({"batch_size": 0}, "batch_size"),
        ({"n_context": -1}, "n_context"),
        ({"n_sents": -1}, "n_sents"),
        ({"filters": {"prefix": ["T"]}}, "prefixes, branches, types"),
        ({"label_filters": {"A": {"x": ["T"]}}}, "label_filters.A.x"),
        ({"k": 0, "batch_size": 0}, "k = 0.*batch_size = 0"),
        ({"ontology": "absent.obo"}, "absent.obo"),
        ({"encoder": {"@ontolink_indexes": "spacy-ontolink.ExactIndex.v1"}}, "'encoder' must be a Encoder|Encoder"),
        ({"index": None}, "'index' must"),
    ],
)
def test_bad_settings_are_refused_at_once(make_nlp, config, message):
    with pytest.raises(ConfigError, match=message):
        make_nlp(**config)


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
@pytest.mark.parametrize("setting", ["pooling", "threshold", "weights"])
def test_settings_must_be_finite(setting, number):
    with pytest.raises(ConfigError, match=setting):
        RetrieverSettings(**{setting: [number, 1.0, 0.0] if setting == "weights" else number})


def test_without_an_ontology_the_error_names_the_ways(make_nlp):
    nlp = make_nlp(ontology=None)
    for use in (lambda: nlp("BF"), lambda: list(nlp.pipe(["BF"])), lambda: nlp.get_pipe("ontolink_retriever").kb):
        with pytest.raises(ConfigError, match=r"'ontology'.*kb_loader.*ontolink build"):
            use()


def test_errors_go_to_the_error_handler(make_nlp, monkeypatch):
    nlp = make_nlp()
    component = nlp.get_pipe("ontolink_retriever")
    assert component.space
    failed = []
    nlp.set_error_handler(lambda name, proc, docs, error: failed.append((name, len(docs))))
    monkeypatch.setattr("spacy_ontolink.components.pipe.answer", lambda *args, **kwargs: 1 / 0)
    assert list(nlp.pipe(["BF", "milk yield"])) == []
    assert failed == [("ontolink_retriever", 2)]


def test_initialize_takes_the_kb_from_a_reader(make_nlp, obo):
    nlp = make_nlp(ruler=False, ontology=None)
    nlp.config["initialize"]["components"]["ontolink_retriever"] = {
        "kb_loader": {"@ontolink_readers": "spacy-ontolink.OntologyReader.v1", "path": obo}
    }
    nlp.initialize()
    assert link_text(nlp, "BF").kb_id_ == "T:1"
    assert nlp.get_pipe("ontolink_retriever").kb["T:1"].name == "body fat percentage"
    assert "toy.obo" in nlp.config.to_str()
    assert obo not in nlp.config.to_str()


@dataclass(frozen=True)
class DataclassReader:
    name: str

    def __call__(self):
        return KnowledgeBase.from_entities([Entity("Z:1", "BF")], name=self.name)


def test_initialize_gets_readers_as_they_are(make_nlp):
    nlp = make_nlp(ruler=False, ontology=None)
    component = nlp.get_pipe("ontolink_retriever")
    settings = validate_init_settings(component.initialize, {"kb_loader": DataclassReader("z")})
    component.initialize(lambda: [], nlp=nlp, **settings)
    assert component.kb.name == "z"
    assert link_text(nlp, "BF").kb_id_ == "Z:1"


def test_initialize_refuses_what_is_no_reader(make_nlp):
    nlp = make_nlp()
    with pytest.raises(ConfigError, match="kb_loader"):
        nlp.get_pipe("ontolink_retriever").initialize(lambda: [], nlp=nlp, kb_loader="toy.obo")


@pytest.mark.parametrize("key", [None, "sc"])
@pytest.mark.parametrize("ruler", [True, False])
def test_evaluate_reports_linking(make_nlp, key, ruler):
    nlp = make_nlp(ruler=ruler, spans_key=key)
    blank = make_nlp()
    examples = []
    for text, ids in [("BF cows", {"BF": "T:1"}), ("milk yield and zzzqqq", {"milk yield": "T:3", "zzzqqq": "NIL"})]:
        gold = blank(text)
        spans = [Span(gold, x.start, x.end, label=x.label, kb_id=ids[x.text]) for x in gold.ents]
        gold.ents, gold.spans["sc"] = spans, spans
        examples.append(Example(nlp.make_doc(text), gold))
    scores = nlp.evaluate(examples)
    assert scores["nel_micro_f"] == pytest.approx(0.5)
    assert scores["nel_f_per_type"]["TRAIT"]["f"] == pytest.approx(0.5)
    assert (scores["nel_recall_at_1"], scores["nel_recall_at_k"]) == (0.5, 1.0)


@pytest.mark.parametrize(("finder", "key"), [("entity_ruler", None), ("span_ruler", "sc")])
def test_evaluate_takes_no_gold_mentions_where_a_component_should_find_them(make_nlp, finder, key):
    nlp = make_nlp(ruler=False, spans_key=key)
    nlp.add_pipe(finder, first=True).add_patterns([{"label": "TRAIT", "pattern": "not in the text"}])
    gold = make_nlp(spans_key=key)("BF cows")
    scores = nlp.evaluate([Example(nlp.make_doc("BF cows"), gold)])
    assert (scores["nel_micro_f"], scores["nel_recall_at_1"]) == (0, None)
    nlp.disable_pipe(finder)
    assert nlp.evaluate([Example(nlp.make_doc("BF cows"), gold)])["nel_recall_at_1"] == 1


def test_a_sourced_component_does_not_ask_the_pipeline_it_came_from(make_nlp, caplog):
    source, target = make_nlp(labels=["TRAIT", "GENE"]), make_nlp()
    target.remove_pipe("ontolink_retriever")
    target.add_pipe("ontolink_retriever", source=source)
    assert target("BF").ents[0].kb_id_ == "T:1"
    assert "GENE" not in caplog.text
    target.get_pipe("ontolink_retriever").initialize(list, nlp=target)
    assert target("BF").ents[0].kb_id_ == "T:1"
    assert "no component assigns the label(s) GENE" in caplog.text


def test_the_component_can_be_made_without_a_pipeline(obo):
    from spacy_ontolink.encoders.lexical import make_lexical_encoder
    from spacy_ontolink.indexes.exact import make_exact_index

    component = OntologyRetriever(encoder=make_lexical_encoder(), index=make_exact_index(), ontology=obo)
    doc = Doc(spacy.blank("en").vocab, words=["BF"], ents=["B-X"])
    assert component(doc).ents[0].kb_id_ == "T:1"
