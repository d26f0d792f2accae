import dataclasses
import json
import pickle
import shutil
import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from tiny_models import NEEDS_TORCH

from spacy_ontolink import errors
from spacy_ontolink.errors import ConfigError, MissingExtraError, StateError
from spacy_ontolink.rerankers.cross_encoder import CrossEncoder, make_cross_encoder
from spacy_ontolink.rerankers.networks import cross_encoder, open_network, save_network
from spacy_ontolink.types import EntityText, Mention, Reranker

SETTINGS = {"mention_tokens": 40, "entity_tokens": 40, "device": "cpu"}


@pytest.fixture(scope="session")
def folder(bert, models):
    CrossEncoder.untrained(str(bert), models / "cross", seed=3)
    return models / "cross"


@pytest.fixture
def reranker(folder):
    return make_cross_encoder(str(folder), **SETTINGS)


def letters(word):
    return [word[0], *(f"##{letter}" for letter in word[1:])]


def by_hand(folder, first, second):
    """BLINK's score, from tokens."""
    torch = pytest.importorskip("torch")
    from transformers import AutoTokenizer, BertModel

    tokens = ["[CLS]", *first, "[SEP]", *second, "[SEP]"]
    ids = AutoTokenizer.from_pretrained(folder).convert_tokens_to_ids(tokens)
    types = [0] * (len(first) + 2) + [1] * (len(second) + 1)
    with torch.no_grad():
        states = (
            BertModel.from_pretrained(folder)
            .eval()(torch.tensor([ids]), token_type_ids=torch.tensor([types]))
            .last_hidden_state
        )
    return float(load_file(folder / "head.safetensors")["score.weight"][0] @ states[0, 0].numpy())


def test_it_is_a_reranker_with_a_score_for_every_candidate(reranker, mentions, candidates):
    assert isinstance(reranker, Reranker)
    scores = reranker.score(mentions, candidates)
    assert [len(own) for own in scores] == [3, 1, 4, 3]
    assert all(own.dtype == np.float32 and np.isfinite(own).all() for own in scores)
    assert len({float(score) for own in scores for score in own}) == 8
    assert reranker.score([], []) == []
    assert [len(own) for own in reranker.score(mentions[:2], [[], candidates[1]])] == [0, 1]


def test_the_score_is_a_vector_times_cls(folder, reranker):
    mention = Mention("BF", "of ", " in pigs")
    described = EntityText("fat", ("bf",), "what pigs have", ("trait",))
    undescribed, orphan = dataclasses.replace(described, definition=""), EntityText("fat", parents=("trait", "it"))
    (scores,) = reranker.score([mention], [[described, undescribed, orphan, EntityText("fat")]])
    first = [*letters("of"), "[Ms]", *letters("bf"), "[Me]", *letters("in"), *letters("pigs")]
    name = [*letters("fat"), "[ENT]"]
    expected = [
        by_hand(folder, first, [*name, *letters("what"), *letters("pigs"), *letters("have")]),
        by_hand(folder, first, [*name, *letters("bf")]),
        by_hand(folder, first, [*name, *letters("trait"), ";", *letters("it")]),
        by_hand(folder, first, name),
    ]
    np.testing.assert_allclose(scores, expected, atol=1e-5)


def test_the_window_is_centred_on_the_mention(bert, folder):
    reranker = make_cross_encoder(str(folder), mention_tokens=16, entity_tokens=16, device="cpu")
    left, right = " ".join("abcdefghij"), " ".join("klmnopqrst")
    (scores,) = reranker.score([Mention("xy", f"{left} ", f" {right}")], [[EntityText("fat")]])
    first = [*"fghij", "[Ms]", *letters("xy"), "[Me]", *"klmno"]  # 16 with [CLS] and [SEP]
    np.testing.assert_allclose(scores, [by_hand(folder, first, [*letters("fat"), "[ENT]"])], atol=1e-5)
    (scores,) = reranker.score([Mention("x" * 50, left, right)], [[EntityText("f" * 50, (), "text")]])
    first, second = ["[Ms]", *letters("x" * 12), "[Me]"], [*letters("f" * 14), "[ENT]"]
    np.testing.assert_allclose(scores, [by_hand(folder, first, second)], atol=1e-5)


def test_batches_and_order_change_nothing(folder, reranker, mentions, candidates):
    expected = reranker.score(mentions, candidates)
    for size in (1, 2, 100):
        other = make_cross_encoder(str(folder), batch_size=size, **SETTINGS)
        for found, own in zip(other.score(mentions, candidates), expected, strict=True):
            np.testing.assert_allclose(found, own, atol=1e-5)
    np.testing.assert_allclose(reranker.score(mentions[2:3], [candidates[2][::-1]])[0][::-1], expected[2], atol=1e-5)


def test_equal_pairs_are_computed_once(reranker, mentions, candidates, monkeypatch):
    computed = []
    compute = CrossEncoder._compute
    monkeypatch.setattr(CrossEncoder, "_compute", lambda self, rows: computed.extend(rows) or compute(self, rows))
    scores = reranker.score(mentions * 3, candidates * 3)
    assert len(computed) == len(set(computed)) == 8
    assert (scores[0] == scores[3]).all() and (scores[0] == scores[8]).all()


@pytest.mark.parametrize("text", ["[SEP]", "[Ms]", "[Me] [ENT]", "[CLS][PAD]", "a [MASK] b"])
def test_special_tokens_in_texts_do_not_act(reranker, text):
    tokenizer = reranker.load()[1]
    (own,) = tokenizer.mentions([Mention(text, f"{text} ", f" {text}")])
    (line,) = tokenizer.entities([(type("Line", (), {"name": text, "description": text}))])
    special = [tokenizer._tokenizer.convert_tokens_to_ids(t) for t in ("[SEP]", "[CLS]", "[PAD]", "[MASK]", "[Ms]")]
    assert not set(own[own.index(tokenizer.start[0]) + 1 :]) & set(special)
    assert own.count(tokenizer.start[0]) == own.count(tokenizer.end[0]) == 1
    assert not set(line) & set(special)
    assert np.isfinite(reranker.score([Mention(text, "\ud83d ", text)], [[EntityText(text, (), text)]])[0]).all()


def test_a_classifier_keeps_its_own_head_and_reads_plain_text(save_classifier, tmp_path):
    torch = pytest.importorskip("torch")
    from transformers import AutoTokenizer, BertForSequenceClassification

    folder = save_classifier(1)
    reranker = make_cross_encoder(str(folder), **SETTINGS)
    mentions = [Mention("BF", "of ", " in pigs"), Mention("egg")]
    texts = [[EntityText("fat", (), "what pigs have"), EntityText("fat")], [EntityText("egg", ("ovum",))]]
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = BertForSequenceClassification.from_pretrained(folder).eval()
    pairs = [
        ("bf: of bf in pigs", "fat: what pigs have"), ("bf: of bf in pigs", "fat"), ("egg", "egg: ovum")
    ]  # fmt: skip
    with torch.no_grad():
        expected = [float(model(**tokenizer(*pair, return_tensors="pt")).logits) for pair in pairs]
    scores = reranker.score(mentions, texts)
    np.testing.assert_allclose(np.concatenate(scores), expected, atol=1e-5)
    reranker.to_disk(tmp_path / "saved")
    again = make_cross_encoder("classifier", **SETTINGS).from_disk(tmp_path / "saved")
    np.testing.assert_array_equal(np.concatenate(again.score(mentions, texts)), np.concatenate(scores))


def test_a_classifier_of_several_labels_is_refused(save_classifier):
    with pytest.raises(ConfigError, match="has one label, this model has 3"):
        make_cross_encoder(str(save_classifier(3)), **SETTINGS).load()


def test_a_plain_encoder_must_be_trained_first(bert):
    reranker = make_cross_encoder(str(bert), **SETTINGS)
    with pytest.raises(ConfigError, match=r"bert is no reranker yet: .*head\.safetensors.*Train it first"):
        reranker.load()
    with pytest.raises(ConfigError, match="Train it first"):
        _ = reranker.id


def test_a_model_that_lacks_weights_is_refused(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "part")
    weights = load_file(tmp_path / "part" / "model.safetensors")
    del weights["encoder.layer.1.output.dense.weight"]
    save_file(weights, tmp_path / "part" / "model.safetensors", {"format": "pt"})
    with pytest.raises(ConfigError, match=r"lacks 1 of its weights, such as encoder\.layer\.1\.output\.dense\.weight"):
        make_cross_encoder(str(tmp_path / "part"), **SETTINGS).load()


def test_a_head_that_does_not_fit_is_refused(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "other")
    save_file({"score.weight": np.zeros((1, 8), np.float32)}, tmp_path / "other" / "head.safetensors")
    with pytest.raises(ConfigError, match=r"head\.safetensors is not one of this kind"):
        make_cross_encoder(str(tmp_path / "other"), **SETTINGS).load()
    (tmp_path / "other" / "head.safetensors").write_bytes(b"no tensors")
    with pytest.raises(ConfigError, match=r"head\.safetensors is not one of this kind"):
        make_cross_encoder(str(tmp_path / "other"), **SETTINGS).load()


def test_untrained_is_reproducible_and_leaves_the_random_state_alone(bert, folder, tmp_path):
    torch = pytest.importorskip("torch")
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    same = CrossEncoder.untrained(str(bert), tmp_path / "same", seed=3, **SETTINGS)
    assert torch.rand(1) == expected
    other = CrossEncoder.untrained(str(bert), tmp_path / "other", seed=4, **SETTINGS)
    assert same.id == make_cross_encoder(str(folder), **SETTINGS).id != other.id
    assert same.id.startswith("cross-encoder:bert-2x16@") and same.id.endswith(":40:40")


def test_a_base_without_a_layer_on_cls_gives_the_same_untrained_model_each_time(bert, tmp_path):
    shutil.copytree(bert, tmp_path / "bare")
    weights = load_file(tmp_path / "bare" / "model.safetensors")
    bare = {name: array for name, array in weights.items() if not name.startswith("pooler.")}
    assert len(bare) < len(weights)
    save_file(bare, tmp_path / "bare" / "model.safetensors", {"format": "pt"})
    first, second = (CrossEncoder.untrained(str(tmp_path / "bare"), tmp_path / name, **SETTINGS) for name in "ab")
    assert first.id == second.id


def test_a_network_is_saved_and_opened_for_training(folder, reranker, mentions, candidates, tmp_path):
    torch = pytest.importorskip("torch")
    network, tokenizer = open_network(folder, cross_encoder, dropout=0.3)
    assert {m.p for m in network.modules() if isinstance(m, torch.nn.Dropout)} == {0.3}
    with torch.no_grad():
        network["score"].weight *= 2
    save_network(tmp_path / "trained", network, tokenizer)
    trained = make_cross_encoder(str(tmp_path / "trained"), **SETTINGS)
    expected = np.concatenate(reranker.score(mentions, candidates))
    np.testing.assert_allclose(np.concatenate(trained.score(mentions, candidates)), 2 * expected, rtol=1e-5)


def test_round_trip_without_the_first_folder(folder, mentions, candidates, tmp_path):
    shutil.copytree(folder, tmp_path / "source")
    first = make_cross_encoder(str(tmp_path / "source"), **SETTINGS)
    expected, name = first.score(mentions, candidates), first.id
    first.to_disk(tmp_path / "saved")
    shutil.rmtree(tmp_path / "source")
    second = make_cross_encoder("./source", **SETTINGS).from_disk(tmp_path / "saved")
    assert second.id == name
    for found, own in zip(second.score(mentions, candidates), expected, strict=True):
        np.testing.assert_array_equal(found, own)
    assert str(tmp_path) not in (tmp_path / "saved" / "cross-encoder.json").read_text()


def test_damage_and_other_settings_are_named(reranker, mentions, candidates, tmp_path):
    reranker.to_disk(tmp_path / "saved")
    with pytest.raises(StateError, match="mention_tokens = 40, but the config says 41"):
        make_cross_encoder("gone", mention_tokens=41, entity_tokens=40).from_disk(tmp_path / "saved")
    head = tmp_path / "saved" / "model" / "head.safetensors"
    content = bytearray(head.read_bytes())
    content[-1] ^= 1
    head.write_bytes(content)
    opened = make_cross_encoder("gone/cross", **SETTINGS).from_disk(tmp_path / "saved")
    with pytest.raises(StateError, match=r"head\.safetensors is damaged"):
        opened.score(mentions, candidates)
    head.unlink()
    with pytest.raises(StateError, match=r"head\.safetensors is damaged \(missing"):
        make_cross_encoder("gone/cross", **SETTINGS).from_disk(tmp_path / "saved")
    (tmp_path / "saved" / "cross-encoder.json").write_text("[]")
    with pytest.raises(StateError, match=r"cross-encoder\.json is damaged"):
        make_cross_encoder("gone/cross", **SETTINGS).from_disk(tmp_path / "saved")


def test_another_model_than_the_saved_one_is_refused(bert, reranker, tmp_path):
    reranker.to_disk(tmp_path / "saved")
    other = CrossEncoder.untrained(str(bert), tmp_path / "other", seed=9, **SETTINGS)
    with pytest.raises(StateError) as caught:
        other.from_disk(tmp_path / "saved")
    assert reranker.id in str(caught.value) and other.id in str(caught.value)


@NEEDS_TORCH
@pytest.mark.parametrize(
    ("setting", "value"),
    [("mention_tokens", 15), ("entity_tokens", 0), ("batch_size", 0), ("device", "gpu"), ("dtype", "float16")],
)
def test_senseless_settings(setting, value):
    with pytest.raises(ConfigError, match=f"^{setting} = {value!r} makes no sense; give "):
        make_cross_encoder("any", **{setting: value})


def test_more_tokens_than_the_model_reads(folder):
    with pytest.raises(ConfigError, match=r"mention_tokens \+ entity_tokens = 91 is above the 90 tokens"):
        make_cross_encoder(str(folder), mention_tokens=50, entity_tokens=41, device="cpu").load()


def test_bfloat16_is_close(folder, reranker, mentions, candidates):
    low = make_cross_encoder(str(folder), dtype="bfloat16", **SETTINGS)
    found, expected = (np.concatenate(r.score(mentions, candidates)) for r in (low, reranker))
    np.testing.assert_allclose(found, expected, atol=0.1)
    assert low.id == reranker.id


def test_pickle_carries_the_reranker_to_another_process(reranker, mentions, candidates):
    expected = reranker.score(mentions, candidates)
    copied = pickle.loads(pickle.dumps(reranker)).score(mentions, candidates)
    np.testing.assert_array_equal(np.concatenate(copied), np.concatenate(expected))


def test_a_missing_extra_ends_with_the_install_line(monkeypatch):
    monkeypatch.setattr(errors.importlib.util, "find_spec", lambda package: None)
    with pytest.raises(
        MissingExtraError,
        match=r'^A cross-encoder needs .*pip install "spacy-ontolink\[transformers\]" \(in a checkout: ',
    ):
        make_cross_encoder("any")


def test_making_and_opening_import_nothing_heavy(reranker, tmp_path):
    reranker.to_disk(tmp_path)
    script = (
        "import sys; from pathlib import Path; from spacy_ontolink.rerankers.cross_encoder import make_cross_encoder;"
        "import spacy_ontolink.rerankers.read_and_select;"
        f"print(make_cross_encoder('cross', **{SETTINGS}).from_disk(Path({json.dumps(str(tmp_path))})).id);"
        "sys.exit(bool({'torch', 'transformers'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == reranker.id
