"""What the retriever asks a reformulator, and what becomes of the answers."""

import pytest
import spacy

from spacy_ontolink.components.spans import read_answer
from spacy_ontolink.errors import ConfigError

FAKE = {"@ontolink_reformulators": "test.Fake.v1"}


@pytest.fixture
def make_reformulating(make_nlp, fake_reformulator):
    def make(weights=(0.5, 0.5, 0.0), **config):
        return make_nlp(reformulator=FAKE, weights=list(weights), **config)

    return make


def top(doc):
    return [span.kb_id_ for span in doc.ents]


def test_reformulations_are_mixed_into_the_query(make_reformulating, make_nlp):
    plain, mixed = make_nlp()("BF").ents[0], make_reformulating()("BF").ents[0]
    scores = [{row["id"]: row["score"] for row in span._.ontolink} for span in (plain, mixed)]
    assert scores[0] != scores[1]
    texts = read_answer(mixed, "", "ontolink_retriever").texts
    assert texts == {"standard_name": "body fat percentage", "hypernym": "fat"}


def test_an_unusable_answer_leaves_the_mention_alone(make_reformulating, make_nlp):
    doc = make_reformulating()("milk yield")
    assert top(doc) == top(make_nlp()("milk yield"))
    assert read_answer(doc.ents[0], "", "ontolink_retriever").texts == {}


def test_a_mention_is_shown_in_its_sentence(make_reformulating, fake_reformulator):
    nlp = make_reformulating()
    nlp.add_pipe("sentencizer", first=True)
    nlp("It rained. The BF of goats rose! Then it stopped.")
    (mention,) = fake_reformulator
    assert (mention.left, mention.text, mention.right) == ("The ", "BF", " of goats rose!")


def test_a_text_that_a_document_repeats_is_asked_once(make_reformulating, fake_reformulator):
    make_reformulating()("BF here . And BF there . " * 50)
    assert len(fake_reformulator) == 1


@pytest.mark.parametrize("text", ["", "no mention here"])
def test_without_mentions_nobody_is_asked(make_reformulating, fake_reformulator, text):
    make_reformulating()(text)
    assert fake_reformulator == []


def test_without_weight_nobody_is_asked(make_reformulating, fake_reformulator):
    make_reformulating(weights=(1.0, 0.0, 0.0))("BF")
    assert fake_reformulator == []


def test_the_texts_survive_saving(make_reformulating, tmp_path, results):
    nlp = make_reformulating()
    expected = results(nlp("BF and milk yield"))
    nlp.to_disk(tmp_path / "out")
    assert (tmp_path / "out" / "ontolink_retriever" / "reformulator").is_dir()
    assert results(spacy.load(tmp_path / "out")("BF and milk yield")) == expected


def test_something_else_than_a_reformulator_is_refused(make_nlp):
    with pytest.raises(ConfigError, match="reformulator"):
        make_nlp(reformulator=3)


def test_a_saved_pipeline_knows_its_served_model_and_keeps_answers_in_the_default_file(make_nlp, tmp_path, monkeypatch):
    pytest.importorskip("openai")
    server = {"@ontolink_llms": "spacy-ontolink.OpenAI.v1", "model": "/srv/models/qwen"}
    cached = {"@ontolink_llms": "spacy-ontolink.CachedLLM.v1", "llm": server, "path": str(tmp_path / "own.sqlite")}
    block = {"@ontolink_reformulators": "spacy-ontolink.LLMReformulator.v1", "llm": cached}
    nlp = make_nlp(reformulator=block)
    assert nlp.get_pipe("ontolink_retriever").reformulator.llm.path == tmp_path / "own.sqlite"
    nlp.to_disk(tmp_path / "out")
    assert str(tmp_path) not in (tmp_path / "out" / "config.cfg").read_text()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    llm = spacy.load(tmp_path / "out").get_pipe("ontolink_retriever").reformulator.llm
    assert llm.path == tmp_path / "cache" / "answers.sqlite"
    assert llm.llm.model == "/srv/models/qwen"
    path = "components.ontolink_retriever.reformulator.llm.path"
    other = spacy.load(tmp_path / "out", config={path: str(tmp_path / "b.sqlite")})
    assert other.get_pipe("ontolink_retriever").reformulator.llm.path == tmp_path / "b.sqlite"
