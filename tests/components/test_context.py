import json
import pickle

import numpy as np
import pytest
import spacy

from spacy_ontolink.errors import ConfigError, LLMError
from spacy_ontolink.files import read_json, write_json
from spacy_ontolink.registry import registry

TEXT = "In goats the milk yield fell. The body fat percentage of BF cows with beta-carotene level , zzzqqq ."
CONTEXT = "ontolink_context_rerank"


class LengthReranker:
    """Prefers long names; keeps what it was asked, and fails where it is told to."""

    def __init__(self, seen, sign=1.0, broken=(), failure="nan"):
        self.seen, self.sign, self.broken, self.failure = seen, sign, broken, failure
        self.id = f"length:{sign}"

    def score(self, mentions, candidates):
        self.seen += zip(mentions, candidates, strict=True)
        return [
            np.array(
                [float(self.failure) if text.name in self.broken else self.sign * len(text.name) for text in texts],
                np.float32,
            )
            for texts in candidates
        ]

    def to_disk(self, path):
        path.mkdir(parents=True)
        write_json(path / "length.json", {"sign": self.sign})

    def from_disk(self, path):
        self.sign = read_json(path / "length.json")["sign"]
        return self

    def __deepcopy__(self, memo):
        return LengthReranker(self.seen, self.sign, self.broken, self.failure)


@pytest.fixture
def seen():
    """Register ``test.Length.v1``; the list of all that it was asked to score."""
    seen = []
    registry.ontolink_rerankers.register(
        "test.Length.v1",
        func=lambda sign=1.0, broken=(), failure="nan": LengthReranker(seen, sign, broken, failure),
    )
    return seen


@pytest.fixture
def make_reranked(make_nlp, seen):
    def make(reranker=None, fuse=None, **config):
        nlp = make_nlp()
        block = {"@ontolink_rerankers": "test.Length.v1"} | (reranker or {})
        nlp.add_pipe(CONTEXT, config={"reranker": block} | config)
        return nlp

    return make


def scores(span, view="context"):
    return {row["id"]: row["scores"].get(view) for row in span._.ontolink}


def test_it_ranks_the_pool_by_its_scores(make_reranked):
    span = make_reranked()(TEXT).ents[0]
    assert [row["name"] for row in span._.ontolink] == sorted(
        (row["name"] for row in span._.ontolink), key=len, reverse=True
    )
    assert span.kb_id_ == span._.ontolink[0]["id"]
    assert set(scores(span, "retriever")) == set(scores(span))


def test_it_shows_the_mention_in_its_context_and_the_candidates_surroundings(make_reranked, seen):
    make_reranked(n_context=3)(TEXT)
    mention, texts = seen[0]
    assert (mention.left, mention.text, mention.right) == ("In goats the ", "milk yield", " fell. The")
    (milk,) = [text for text in texts if text.name == "milk yield"]
    assert milk.parents == ("yield trait",)
    assert "lactation amount" in milk.synonyms


def test_context_can_be_confined_to_the_sentence(make_reranked, seen):
    nlp = make_reranked(n_sents=0)
    nlp.add_pipe("sentencizer", first=True)
    nlp(TEXT)
    assert seen[0][0].right == " fell."


def test_equal_tasks_are_done_once(make_reranked, seen):
    nlp = make_reranked(n_context=0)
    list(nlp.pipe(["BF of BF", "BF", "and BF"]))
    assert [mention.text for mention, _ in seen] == ["BF"]


def test_only_the_first_candidates_are_scored_if_so_set(make_reranked, seen):
    span = make_reranked(top_n=1)(TEXT).ents[0]
    assert len(seen[0][1]) == 1
    assert [row["scores"]["context"] is None for row in span._.ontolink][:2] == [False, True]
    assert span.kb_id_ == "T:2"
    assert span._.kb_ents[1][1] == float("-inf")


def test_candidates_that_were_not_asked_count_as_the_worst_of_those_that_were(make_reranked, seen):
    nlp = make_reranked(top_n=2)
    nlp.add_pipe("ontolink_fuse", config={"weights": {"surface": 0.0, "context": 1.0}})
    for span in nlp(TEXT).ents:
        rows = [(row["scores"]["context"], row["score"]) for row in span._.ontolink]
        lowest = min((fused for context, fused in rows if context is not None), default=None)
        assert all(fused == lowest for context, fused in rows if context is None)


@pytest.mark.parametrize("failure", ["nan", "inf"])
def test_failed_items_cost_themselves_only(make_reranked, failure):
    whole, broken = make_reranked()(TEXT), make_reranked({"broken": ["body fat percentage"], "failure": failure})(TEXT)
    for one, other in zip(whole.ents, broken.ents, strict=True):
        expected = scores(one) | ({"T:1": None} if "T:1" in scores(one) else {})
        assert scores(other) == expected
        json.dumps(other._.ontolink, allow_nan=False)


def test_a_reranker_that_fails_at_all_changes_no_answer(make_reranked, make_nlp):
    names = ["body fat percentage", "milk yield", "yield trait", "β-carotene level", "café fibre"]
    doc = make_reranked({"broken": names})(TEXT)
    assert [span.kb_id_ for span in doc.ents] == [span.kb_id_ for span in make_nlp()(TEXT).ents]


def test_a_missing_answer_costs_its_batch_where_errors_are_handled(make_reranked, monkeypatch):
    score = LengthReranker.score

    def refuse(self, mentions, candidates):
        if any(mention.left.startswith("odd") for mention in mentions):
            raise LLMError("'no' is not among the most probable next tokens")
        return score(self, mentions, candidates)

    monkeypatch.setattr(LengthReranker, "score", refuse)
    nlp = make_reranked(batch_size=1)
    with pytest.raises(LLMError, match="not among"):
        list(nlp.pipe(["milk yield", "odd milk yield"]))
    failed = []
    nlp.set_error_handler(lambda name, component, docs, error: failed.append((name, len(docs), str(error))))
    docs = list(nlp.pipe(["milk yield", "odd milk yield", "BF"]))
    assert [doc.text for doc in docs] == ["milk yield", "BF"]
    assert failed == [(CONTEXT, 1, "'no' is not among the most probable next tokens")]


def test_the_cascade_passes_over_unique_names_and_counts_them(make_reranked, seen):
    nlp = make_reranked(cascade_exact=True)
    doc = nlp("milk yield BFP")
    assert doc.ents[0].kb_id_ == "T:2"
    assert "context" not in doc.ents[0]._.ontolink[0]["scores"]
    assert all(mention.text != "milk yield" for mention, _ in seen)
    stage = nlp.get_pipe(CONTEXT)
    assert (stage.n_passed, stage.n_seen) == (1, 1 + bool(doc.ents[1]._.ontolink))


def test_a_name_of_two_entities_is_not_decided(make_reranked, tmp_path, seen):
    path = tmp_path / "two.obo"
    path.write_text('[Term]\nid: A:1\nname: stature\n\n[Term]\nid: A:2\nname: height\nsynonym: "stature" RELATED []\n')
    nlp = make_reranked(cascade_exact=True)
    nlp.replace_pipe("ontolink_retriever", "ontolink_retriever", config={"ontology": str(path)})
    nlp.get_pipe("entity_ruler").add_patterns([{"label": "TRAIT", "pattern": "stature"}])
    nlp("stature")
    assert len(seen) == 1


def test_the_cascade_passes_over_decisive_leads(make_reranked, seen):
    spans = make_reranked(cascade_margin=1e-6)(TEXT).ents
    assert seen == []
    assert all("context" not in row["scores"] for span in spans for row in span._.ontolink)
    make_reranked(cascade_margin=1.5)(TEXT)
    assert seen


def test_nobody_runs_a_view_that_has_no_weight(make_reranked, seen):
    nlp = make_reranked()
    nlp.add_pipe("ontolink_surface_rerank", before=CONTEXT)
    nlp.add_pipe("ontolink_fuse", config={"weights": {"surface": 1.0, "context": 0.0}})
    doc = nlp(TEXT)
    assert seen == []
    with nlp.select_pipes(disable="ontolink_fuse"):
        nlp(TEXT)
    assert seen
    assert list(doc.ents[0]._.ontolink[0]["scores"]) == ["retriever", "surface", "fused"]
    nlp.replace_pipe("ontolink_fuse", "ontolink_fuse", config={"weights": {"surface": 0.0, "context": 1.0}})
    assert list(nlp(TEXT).ents[0]._.ontolink[0]["scores"]) == ["retriever", "context", "fused"]


def test_links_are_the_same_after_saving_pickling_and_in_processes(make_reranked, tmp_path, results):
    nlp = make_reranked({"sign": -1.0})
    expected = results(nlp(TEXT))
    nlp.to_disk(tmp_path / "out")
    assert results(spacy.load(tmp_path / "out")(TEXT)) == expected
    assert [results(doc) for doc in nlp.pipe([TEXT] * 4, n_process=2, batch_size=2)] == [expected] * 4
    stage = pickle.loads(pickle.dumps(nlp.get_pipe(CONTEXT)))
    bytes_ = nlp.get_pipe(CONTEXT).to_bytes()
    nlp.get_pipe(CONTEXT).from_bytes(bytes_)
    assert results(nlp(TEXT)) == expected
    nlp.remove_pipe(CONTEXT)
    assert results(stage(nlp(TEXT))) == expected


def test_something_else_than_a_reranker_is_refused(make_nlp):
    with pytest.raises(ConfigError, match="reranker"):
        make_nlp().add_pipe(CONTEXT, config={"reranker": 3})


@pytest.mark.parametrize(
    "config",
    [{"top_n": 0}, {"n_context": -1}, {"n_sents": -1}, {"n_siblings": -1}, {"cascade_margin": 0.0}],
)
def test_settings_are_checked(make_reranked, config):
    with pytest.raises(ConfigError, match=next(iter(config))):
        make_reranked(**config)
