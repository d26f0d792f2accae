import pickle
import shutil
from functools import partial

import numpy as np
import pytest
from safetensors.numpy import load_file

from spacy_ontolink.errors import ConfigError, StateError
from spacy_ontolink.rerankers.cross_encoder import CrossEncoder
from spacy_ontolink.rerankers.read_and_select import ReadAndSelect, make_read_and_select
from spacy_ontolink.types import EntityText, Mention, Reranker

SETTINGS = {"mention_tokens": 46, "entity_tokens": 48, "device": "cpu"}


@pytest.fixture(scope="session")
def folder(roberta, models):
    ReadAndSelect.untrained(str(roberta), models / "res", seed=3)
    return models / "res"


@pytest.fixture
def reranker(folder):
    return make_read_and_select(str(folder), **SETTINGS)


def read_by_hand(folder, texts):
    """The mean of the hidden states at the mention's markers, (K, D)."""
    torch = pytest.importorskip("torch")
    from transformers import AutoTokenizer, RobertaModel

    tokenizer, model = AutoTokenizer.from_pretrained(folder), RobertaModel.from_pretrained(folder).eval()
    vectors = []
    for text in texts:
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        marks = [ids.index(tokenizer.convert_tokens_to_ids(marker)) for marker in ("[Ms]", "[Me]")]
        with torch.no_grad():
            vectors.append(model(torch.tensor([ids])).last_hidden_state[0, marks].mean(0))
    return torch.stack(vectors)


def linear_by_hand(weights, x, name):
    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def norm_by_hand(weights, x, name):
    centred = x - x.mean(-1, keepdim=True)
    spread = (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    return centred / spread * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def select_by_hand(folder, vectors):
    """Two layers of self-attention without positions, normalised after each step, and a scoring vector."""
    torch = pytest.importorskip("torch")
    head = {name: torch.from_numpy(array) for name, array in load_file(folder / "head.safetensors").items()}
    for layer in range(2):
        w = {name.removeprefix(f"select.layers.{layer}."): array for name, array in head.items()}
        linear = partial(linear_by_hand, w)
        norm = partial(norm_by_hand, w)
        projected = vectors @ w["self_attn.in_proj_weight"].T + w["self_attn.in_proj_bias"]
        queries, keys, values = (part.unflatten(1, (2, 8)).transpose(0, 1) for part in projected.chunk(3, 1))
        attended = ((queries @ keys.transpose(1, 2)) / 8**0.5).softmax(-1) @ values
        vectors = norm(vectors + linear(attended.transpose(0, 1).flatten(1), "self_attn.out_proj"), "norm1")
        vectors = norm(vectors + linear(linear(vectors, "linear1").relu(), "linear2"), "norm2")
    return (vectors @ head["score.weight"][0]).numpy()


def test_it_is_a_reranker_with_a_score_for_every_candidate(reranker, mentions, candidates):
    assert isinstance(reranker, Reranker)
    scores = reranker.score(mentions, candidates)
    assert [len(own) for own in scores] == [3, 1, 4, 3]
    assert all(own.dtype == np.float32 and np.isfinite(own).all() for own in scores)
    assert reranker.score([], []) == []
    assert [len(own) for own in reranker.score(mentions[:2], [[], candidates[1]])] == [0, 1]
    assert [len(own) for own in reranker.score(mentions[:2], [[], []])] == [0, 0]


def test_scores_equal_a_forward_pass_by_hand(folder, reranker):
    mention = Mention("BF", "pigs (with ", "), sold")
    texts = [EntityText("body fat", ("bf",), "how fat"), EntityText("egg", ("ovum",)), EntityText("milk")]
    before = "<s> pigs (with[Ms] BF[Me]), sold</s></s>"
    by_hand = [f"{before} body fat[ENT] how fat</s>", f"{before} egg[ENT] ovum</s>", f"{before} milk[ENT]</s>"]
    (scores,) = reranker.score([mention], [texts])
    np.testing.assert_allclose(scores, select_by_hand(folder, read_by_hand(folder, by_hand)), atol=1e-5)
    assert np.ptp(scores) > 1e-2


def test_the_order_of_candidates_has_no_meaning(reranker, mentions, candidates):
    expected = reranker.score(mentions, candidates)
    for own, texts, scores in zip(mentions, candidates, expected, strict=True):
        (turned,) = reranker.score([own], [texts[::-1]])
        np.testing.assert_allclose(turned[::-1], scores, atol=1e-5)


def test_a_score_depends_on_the_other_candidates(reranker, mentions, candidates):
    (three,) = reranker.score(mentions[:1], candidates[:1])
    (two,) = reranker.score(mentions[:1], [candidates[0][:2]])
    assert np.abs(three[:2] - two).max() > 1e-3


def test_batches_change_nothing(folder, reranker, mentions, candidates):
    expected = reranker.score(mentions, candidates)
    for size in (1, 3, 100):
        other = make_read_and_select(str(folder), batch_size=size, **SETTINGS)
        for found, own in zip(other.score(mentions, candidates), expected, strict=True):
            np.testing.assert_allclose(found, own, atol=1e-5)
    for mention, texts, own in zip(mentions, candidates, expected, strict=True):
        np.testing.assert_allclose(reranker.score([mention], [texts])[0], own, atol=1e-5)


def test_equal_pairs_are_read_and_equal_pools_selected_once(reranker, mentions, candidates, monkeypatch):
    rows, pools = [], []
    read, select = ReadAndSelect._read, ReadAndSelect._select
    monkeypatch.setattr(ReadAndSelect, "_read", lambda self, some: rows.extend(some) or read(self, some))
    monkeypatch.setattr(ReadAndSelect, "_select", lambda self, some: pools.extend(some) or select(self, some))
    scores = reranker.score(mentions * 2, candidates * 2)
    assert len(rows) == len(set(rows)) == 8
    assert len(pools) == 3
    assert (scores[0] == scores[7]).all()


@pytest.mark.parametrize("text", ["</s>", "<s>", "[Ms]", "[Me] [ENT]", "<mask> <pad>"])
def test_special_tokens_in_texts_do_not_act(reranker, text):
    tokenizer = reranker.load()[1]
    (own,) = tokenizer.mentions([Mention(text, f"{text} ", f" {text}")])
    assert own.count(tokenizer.start[0]) == own.count(tokenizer.end[0]) == 1
    assert not set(own) & set(range(5))  # the ids of RoBERTa's special tokens
    (scores,) = reranker.score([Mention(text, "\ud83d ")], [[EntityText(text, (), text), EntityText("egg")]])
    assert np.isfinite(scores).all()


def test_a_folder_of_another_kind_is_refused(roberta, tmp_path):
    with pytest.raises(ConfigError, match=r"roberta is no reranker yet: read-and-select .*Train it first"):
        make_read_and_select(str(roberta), **SETTINGS).load()
    CrossEncoder.untrained(str(roberta), tmp_path / "cross")
    with pytest.raises(ConfigError, match=r"head\.safetensors is not one of this kind of reranker: .*select"):
        make_read_and_select(str(tmp_path / "cross"), **SETTINGS).load()
    ReadAndSelect.untrained(str(roberta), tmp_path / "res")
    cross = CrossEncoder.untrained(str(roberta), tmp_path / "cross", **SETTINGS)
    shutil.copy(tmp_path / "res" / "head.safetensors", tmp_path / "cross" / "head.safetensors")
    with pytest.raises(ConfigError, match=r"head\.safetensors is not one of this kind of reranker: .*select"):
        cross.load()


def test_round_trip_and_damage(folder, reranker, mentions, candidates, tmp_path):
    expected = reranker.score(mentions, candidates)
    reranker.to_disk(tmp_path / "saved")
    second = make_read_and_select("res", **SETTINGS).from_disk(tmp_path / "saved")
    assert second.id == reranker.id
    for found, own in zip(second.score(mentions, candidates), expected, strict=True):
        np.testing.assert_array_equal(found, own)
    copied = pickle.loads(pickle.dumps(second)).score(mentions, candidates)
    np.testing.assert_array_equal(np.concatenate(copied), np.concatenate(expected))
    weights = tmp_path / "saved" / "model" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-8])
    opened = make_read_and_select("res", **SETTINGS).from_disk(tmp_path / "saved")
    with pytest.raises(StateError, match=r"model\.safetensors is damaged"):
        opened.score(mentions, candidates)


def test_the_papers_lengths_are_above_what_this_tiny_model_reads(folder):
    with pytest.raises(ConfigError, match=r"mention_tokens \+ entity_tokens = 512 is above the 94 tokens"):
        make_read_and_select(str(folder), device="cpu").load()
