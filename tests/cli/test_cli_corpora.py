import json

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import DocBin, Span

from spacy_ontolink.cli.corpora import REACH, read_corpus
from spacy_ontolink.errors import ConfigError, DataError

TEXT = "The milk yield fell. BF rose in 2020.  Fat percentage"
MENTIONS = [
    {"start": 4, "end": 14, "label": "TRAIT", "kb_ids": ["T:2"]},
    {"start": 21, "end": 23, "kb_ids": ["T:1", "X:9"]},
]


@Language.component("trait_spans", assigns=["doc.spans"])
def trait_spans(doc):
    doc.spans["traits"] = [Span(doc, 1, 3, label="T")]
    return doc


@pytest.fixture
def nlp(pipeline):
    return spacy.load(pipeline)


def written(tmp_path, *rows):
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def read(path, nlp, **options):
    how, documents = read_corpus(path, nlp, "pipeline", **options)
    return how, list(documents)


def seen(document):
    return [(mention.text, mention.sentence) for mention in document.mentions]


def test_given_mentions_with_gold_and_sentences(nlp, tmp_path):
    how, (document,) = read(written(tmp_path, {"id": "a", "text": TEXT, "mentions": MENTIONS}), nlp)
    assert (how, document.id, document.text) == ("given", "a", TEXT)
    first, second = document.mentions
    assert (first.doc, first.start, first.end, first.text) == ("a", 4, 14, "milk yield")
    assert (first.sentence_start, first.sentence) == (0, "The milk yield fell.")
    assert (first.label, first.gold, second.label, second.gold) == ("TRAIT", ("T:2",), "", ("T:1", "X:9"))
    assert (second.sentence_start, second.sentence) == (21, "BF rose in 2020.")
    assert TEXT[second.sentence_start :].startswith(second.sentence)


def test_offsets_inside_tokens_stay_as_they_are(nlp, tmp_path):
    path = written(tmp_path, {"text": "Milkyields.", "mentions": [{"start": 4, "end": 9}]})
    assert seen(read(path, nlp)[1][0]) == [("yield", "Milkyields.")]


def test_mentions_over_several_sentences(nlp, tmp_path):
    path = written(tmp_path, {"text": TEXT, "mentions": [{"start": 15, "end": 23}]})
    assert seen(read(path, nlp)[1][0]) == [("fell. BF", "The milk yield fell. BF rose in 2020.")]


def test_text_without_end_is_cut_around_the_mention(nlp, tmp_path):
    words = ["word"] * 1000 + ["fat percentage"] + ["word"] * 1000
    (tmp_path / "notes.txt").write_text(" ".join(words), "utf-8")
    how, (document,) = read(tmp_path / "notes.txt", nlp)
    (mention,) = document.mentions
    assert how == "dictionary"
    assert mention.sentence.split() == ["word"] * REACH + ["fat", "percentage"] + ["word"] * REACH
    place = mention.start - mention.sentence_start
    assert mention.sentence[place : place + len(mention.text)] == mention.text


def test_found_mentions_get_gold_at_equal_offsets(nlp, tmp_path):
    path = written(tmp_path, {"text": TEXT, "mentions": [*MENTIONS, {**MENTIONS[0], "kb_ids": ["T:3", "T:2"]}]})
    how, (document,) = read(path, nlp, mentions="dictionary")
    assert how == "dictionary"
    assert [(mention.text, mention.gold) for mention in document.mentions] == [
        ("milk yield", ("T:2", "T:3")), ("Fat percentage", ())]  # fmt: skip


def test_entities_of_the_pipeline_and_not_of_the_file(ner_pipeline, tmp_path):
    nlp = spacy.load(ner_pipeline)
    doc = nlp.make_doc("The milk yields and fat percentage fell. None rose.")
    doc.ents = [Span(doc, 0, 1, label="X", kb_id="T:3")]
    DocBin(docs=[doc]).to_disk(tmp_path / "corpus.spacy")
    assert seen(read(tmp_path / "corpus.spacy", nlp)[1][0])[0][0] == "The"  # given, by default
    how, (document,) = read(tmp_path / "corpus.spacy", nlp, mentions="ner")
    assert how == "ner"
    sentence = "The milk yields and fat percentage fell."
    assert seen(document) == [("milk yields", sentence), ("fat percentage", sentence)]


def test_span_groups_of_the_pipeline(nlp, tmp_path):
    (tmp_path / "notes.txt").write_text("The milk yield fell.\n", "utf-8")
    with pytest.raises(ConfigError, match=r"finds spans \(group 'traits'\)"):
        read(tmp_path / "notes.txt", nlp, mentions="spans", spans_key="traits")
    nlp.add_pipe("trait_spans", first=True)
    how, (document,) = read(tmp_path / "notes.txt", nlp, mentions="spans", spans_key="traits")
    assert (how, seen(document)) == ("spans", [("milk yield", "The milk yield fell.")])
    assert document.mentions[0].label == "T"
    assert not read(tmp_path / "notes.txt", nlp, mentions="spans")[1][0].mentions  # the group is "sc"


def test_the_pipelines_own_sentences_count(nlp, tmp_path):
    nlp.add_pipe("sentencizer", first=True, config={"punct_chars": [";"]})
    (tmp_path / "notes.txt").write_text("Milk yield fell. So; BF rose.\n", "utf-8")
    (document,) = read(tmp_path / "notes.txt", nlp)[1]
    assert seen(document) == [("Milk yield", "Milk yield fell. So;")]


def test_blank_mentions_and_texts(nlp, tmp_path):
    path = written(
        tmp_path, {"text": "", "mentions": []}, {"text": "a \n b", "mentions": [{"start": 1, "end": 4}]}, {"text": " "}
    )
    _, documents = read(path, nlp)
    assert [seen(document) for document in documents] == [[], [(" \n ", "a \n b")], []]


def test_documents_stream(nlp, tmp_path):
    path = written(tmp_path, *({"text": TEXT, "mentions": MENTIONS} for _ in range(200)), {"text": 1})
    _, documents = read_corpus(path, nlp, "pipeline")
    assert len(next(documents).mentions) == 2
    with pytest.raises(DataError, match="line 201"):
        list(documents)


def test_an_empty_corpus(nlp, tmp_path):
    (tmp_path / "notes.txt").write_text("\n \n", "utf-8")
    with pytest.raises(DataError, match="no document in it"):
        read(tmp_path / "notes.txt", nlp)


def test_gold_ids_on_the_same_offsets_are_united(nlp, tmp_path):
    mentions = [{"start": 4, "end": 14, "label": label, "kb_ids": [id]} for label, id in (("A", "T:2"), ("B", "T:5"))]
    path = written(tmp_path, {"text": TEXT, "mentions": mentions})
    for source, expected in (("given", [("A", ("T:2", "T:5")), ("B", ("T:2", "T:5"))]),
                             ("dictionary", [("", ("T:2", "T:5"))])):  # fmt: skip
        (document,) = read(path, nlp, mentions=source)[1]
        assert [(one.label, one.gold) for one in document.mentions if one.start == 4] == expected
