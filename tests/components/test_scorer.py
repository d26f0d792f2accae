import pytest
import spacy
from spacy.scorer import Scorer
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_ontolink.components.scorer import linking_score
from spacy_ontolink.components.spans import NO_ANSWER, Answer, read_spans, register_extensions, write_answers

WORDS = "a b c d e".split()
GOLD = ["T:1", "T:2", "NIL", "T:4", ""]


def answer(*ids):
    return Answer(ids[0], {"id": list(ids), "name": list(ids), "matched": list(ids), "scope": ["NAME"] * len(ids),
                           "scores": {"retriever": [1.0] * len(ids)}})  # fmt: skip


def make_doc(vocab, group, ids=None):
    doc = Doc(vocab, words=WORDS)
    labels = ["X", "X", "Y", "Y", "Y"]
    spans = [Span(doc, i, i + 1, label=labels[i], kb_id=ids[i] if ids else "") for i in range(5)]
    if group:
        doc.spans[group] = spans
    else:
        doc.ents = spans
    return doc


@pytest.fixture(params=["", "sc"])
def group(request):
    register_extensions()
    return request.param


def score(group, answers):
    vocab = spacy.blank("en").vocab
    example = Example(make_doc(vocab, group), make_doc(vocab, group, GOLD))
    spans = read_spans(example.predicted, group)
    write_answers(spans, answers, group=group, component="r", overwrite=True)
    return linking_score([example], spans_key=group or None), example


def test_scores_ids_and_candidates(group):
    answers = [answer("T:1", "T:2"), answer("T:9", "T:2"), NO_ANSWER, answer("T:9"), None]
    scores, example = score(group, answers)
    assert scores["nel_recall_at_1"] == pytest.approx(1 / 3)
    assert scores["nel_recall_at_k"] == pytest.approx(2 / 3)
    assert scores["nel_micro_p"] == pytest.approx(1 / 3)
    assert scores["nel_micro_r"] == pytest.approx(1 / 3)
    assert set(scores["nel_f_per_type"]) == {"X", "Y"}
    if not group:
        assert scores.items() >= Scorer.score_links([example], negative_labels=["NIL", ""]).items()


def test_the_measure_is_the_same_for_both_kinds_of_mention():
    answers = [answer("T:1", "T:2"), NO_ANSWER, answer("T:3"), answer("T:4"), answer("T:5")]
    assert score("", answers)[0] == score("sc", answers)[0]


def test_nothing_looked_up_is_no_recall(group):
    scores, _ = score(group, [None] * 5)
    assert scores["nel_recall_at_1"] is scores["nel_recall_at_k"] is None
    assert linking_score([], spans_key=group or None)["nel_micro_f"] == 0


def test_overlapping_labels_are_scored_apart():
    register_extensions()
    vocab = spacy.blank("en").vocab
    docs = []
    for ids in (["T:1", "T:2"], ["T:1", "T:2"]):
        doc = Doc(vocab, words=WORDS)
        doc.spans["sc"] = [Span(doc, 0, 2, label=label, kb_id=id) for label, id in zip("XY", ids, strict=True)]
        docs.append(doc)
    assert linking_score([Example(*docs)], spans_key="sc")["nel_micro_f"] == 1
