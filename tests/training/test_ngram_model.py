"""The n-gram encoder learns which words mean the same."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from spacy_ontolink.encoders.learned import make_ngram_encoder  # noqa: E402
from spacy_ontolink.encoders.lexical import make_lexical_encoder  # noqa: E402
from spacy_ontolink.errors import ConfigError  # noqa: E402
from spacy_ontolink.indexes.exact import ExactIndex  # noqa: E402
from spacy_ontolink.kb import KnowledgeBase  # noqa: E402
from spacy_ontolink.space import EntitySpace, Pooling, Query, retrieve  # noqa: E402
from spacy_ontolink.training.batches import Example, Relatives, Sampler  # noqa: E402
from spacy_ontolink.training.holdout import hold_out_synonyms  # noqa: E402
from spacy_ontolink.training.loop import train  # noqa: E402
from spacy_ontolink.training.ngram_model import NgramModel  # noqa: E402
from spacy_ontolink.training.retriever import Alignment, MentionsAndNames  # noqa: E402
from spacy_ontolink.training.settings import LoopSettings  # noqa: E402
from spacy_ontolink.types import Mention  # noqa: E402


def settings(**given):
    return LoopSettings(**{"epochs": 5, "batch_size": 32, "learning_rate": 3e-3, "device": "cpu", **given})


def start(kb, dropout=0.0):
    return NgramModel.start(kb, 64, 0.05, dropout, seed=0)


def recall(kb, encoder, mentions):
    encoder.fit(kb)
    hits = retrieve(
        EntitySpace.build(kb, encoder, ExactIndex(), Pooling()), [Query(Mention(t)) for t, _ in mentions], 1
    )
    return np.mean([kb.ids_of(row[:1])[0] == id for row, (_, id) in zip(hits.entities, mentions, strict=True)])


def test_it_starts_as_a_lexical_encoder(signs):
    model = start(signs)
    model.module.eval()
    names = signs.name_texts()[:40]
    vectors = model.vectors(names).detach().numpy()
    lexical = make_lexical_encoder()
    lexical.fit(signs)
    counted = lexical.encode_mentions([Mention(name) for name in names])
    assert np.corrcoef((vectors @ vectors.T).ravel(), counted.dot(counted).ravel())[0, 1] > 0.8


def test_vectors_are_those_of_the_encoder(signs, tmp_path):
    model = start(signs)
    model.module.eval()
    model.save(tmp_path / "saved")
    texts = ["pain of the arm", "ARM  ache", "zzz"]
    encoder = make_ngram_encoder(str(tmp_path / "saved"))
    found = encoder.encode_mentions([Mention(text) for text in texts]).blocks[0]
    assert np.allclose(found, model.vectors(texts).detach().numpy(), atol=2e-3)
    opened = NgramModel.open(str(tmp_path / "saved"), 0.05, 0.0)
    opened.module.eval()
    assert np.allclose(found, opened.vectors(texts).detach().numpy(), atol=1e-6)


def test_words_of_one_meaning_are_learned_from_synonyms(signs, tmp_path):
    kept, mentions = hold_out_synonyms((signs[id] for id in signs), 0.3, 0)
    kb = KnowledgeBase.from_entities(kept)
    train(Alignment(kb, start(kb), 8, 0), settings(), tmp_path / "model")
    before = recall(kb, make_lexical_encoder(), mentions)
    assert recall(kb, make_ngram_encoder(str(tmp_path / "model")), mentions) >= max(0.9, before)
    assert before < 0.9


def test_mentions_are_learned_from(signs, tmp_path):
    examples = [
        Example(Mention(f"xyz{number % 6} in {number // 6}"), number) for number in range(len(signs)) if number >= 10
    ]
    task = MentionsAndNames(signs, start(signs), examples, Sampler(Relatives(signs)), 2, 0)
    log = train(task, settings(epochs=8), tmp_path / "model")
    assert log.steps[-1].loss < log.steps[0].loss


def test_n_grams_are_left_out_in_training_only(signs):
    model = start(signs, dropout=0.5)
    model.module.train()
    torch.manual_seed(0)
    one, other = (model.vectors(["pain of the arm"]).detach() for _ in range(2))
    assert not torch.equal(one, other)
    model.module.eval()
    one, other = (model.vectors(["pain of the arm"]).detach() for _ in range(2))
    assert torch.equal(one, other)


def test_the_same_training_twice(signs, tmp_path):
    logs = [
        train(Alignment(signs, start(signs, 0.2), 8, 0), settings(epochs=1), tmp_path / name) for name in ("one", "two")
    ]
    assert [step.loss for step in logs[0].steps] == [step.loss for step in logs[1].steps]


def test_nothing_to_go_on_from(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match="ontolink-ngrams"):
        NgramModel.open(str(tmp_path / "empty"), 0.05, 0.0)
