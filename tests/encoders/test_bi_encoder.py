import pickle
import shutil
import subprocess
import sys

import numpy as np
import pytest

from spacy_ontolink.encoders.bi_encoder import BiEncoder, make_bi_encoder
from spacy_ontolink.errors import ConfigError, StateError
from spacy_ontolink.indexes.exact import make_exact_index
from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.space import EntitySpace
from spacy_ontolink.types import Encoder, Entity, Mention, Synonym

SETTINGS = {"mention_tokens": 30, "entity_tokens": 28, "device": "cpu"}


@pytest.fixture(scope="module")
def folder(plain_model, tmp_path_factory):
    """Two towers, of which the one for entities differs a little, as if trained."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("models") / "two"
    BiEncoder.untrained(str(plain_model), folder, seed=3)
    tower = transformers.BertModel.from_pretrained(folder / "entity")
    with torch.no_grad():
        tower.embeddings.word_embeddings.weight += 0.1 * torch.randn(1, 16)
    tower.save_pretrained(folder / "entity")
    return folder


@pytest.fixture
def encoder(folder):
    return make_bi_encoder(str(folder), **SETTINGS)


@pytest.fixture
def ontology():
    return KnowledgeBase.from_entities(
        [
            Entity("T:0", "trait"),
            Entity("T:1", "fat", (Synonym("bf"), Synonym("fatness")), "how fat", parents=("T:0",)),
            Entity("T:2", "milk", (Synonym("my"), Synonym("lait")), parents=("T:0",)),
            Entity("T:3", "egg", parents=("T:0", "T:2")),
        ]
    )


def letters(word):
    return [word[0], *(f"##{letter}" for letter in word[1:])]


def by_hand(folder, tokens):
    torch = pytest.importorskip("torch")
    from transformers import AutoModel, AutoTokenizer

    ids = AutoTokenizer.from_pretrained(folder).convert_tokens_to_ids(["[CLS]", *tokens, "[SEP]"])
    with torch.no_grad():
        vector = AutoModel.from_pretrained(folder).eval()(torch.tensor([ids])).last_hidden_state[0, 0].numpy()
    return vector / np.linalg.norm(vector)


def encode(encoder, *mentions):
    (block,) = encoder.encode_mentions(mentions).blocks
    return block


MENTIONS = (Mention("BF", "of ", " in pigs"), Mention("bf"), Mention("egg", "one ", "s a day and so on and on and on"))


def test_it_is_an_encoder_of_unit_vectors_that_reads_context(encoder):
    assert isinstance(encoder, Encoder)
    assert encoder.uses_context
    block = encode(encoder, *MENTIONS)
    assert block.shape == (3, 16)
    assert block.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(block, axis=1), 1, rtol=1e-5)
    assert np.abs(block[0] - block[1]).max() > 1e-3  # one mention, two contexts
    assert encode(encoder).shape == (0, 16)


def test_mentions_equal_a_forward_pass_by_hand(folder, encoder):
    tokens = [*letters("of"), "[Ms]", *letters("bf"), "[Me]", *letters("in"), *letters("pigs")]
    block = encode(encoder, MENTIONS[0], Mention("bf"))
    np.testing.assert_allclose(block[0], by_hand(folder / "mention", tokens), atol=1e-5)
    np.testing.assert_allclose(block[1], by_hand(folder / "mention", ["[Ms]", *letters("bf"), "[Me]"]), atol=1e-5)


def test_entities_equal_a_forward_pass_by_hand(folder, encoder, ontology):
    rows = encoder.encode_entities(ontology)
    expected = [
        ["trait", "[ENT]"],
        ["fat", "[ENT]", "how", "fat"],
        ["milk", "[ENT]", "my", "[UNK]", "lait"],
        ["egg", "[ENT]", "trait", "[UNK]", "milk"],
    ]
    for vector, words in zip(rows.vectors.blocks[0], expected, strict=True):
        tokens = [token for word in words for token in ([word] if word[0] == "[" else letters(word))]
        np.testing.assert_allclose(vector, by_hand(folder / "entity", tokens), atol=1e-5)


def test_one_row_per_entity_under_its_primary_name(encoder, ontology, traits):
    for kb in (ontology, traits):
        rows = encoder.encode_entities(kb)
        assert rows.vectors.dims == (16,)
        assert rows.owner.tolist() == list(range(len(kb)))
        assert kb.texts_of(rows.name) == kb.names_of(range(len(kb)))
        assert rows.owner.dtype == rows.name.dtype == np.int32


def test_some_entities_get_the_rows_that_they_have_among_all(encoder, traits, monkeypatch):
    everything = encoder.encode_entities(traits)
    monkeypatch.setattr("spacy_ontolink.encoders.bi_encoder.BLOCK", 2)
    seen = []
    encoder.progress = lambda done, total: seen.append((done, total))
    some = encoder.encode_entities(traits, np.array([1, 4, 5], np.int32))
    assert some.owner.tolist() == [1, 4, 5]
    np.testing.assert_allclose(some.vectors.blocks[0], everything.vectors.blocks[0][[1, 4, 5]], atol=1e-5)
    assert seen == [(2, 3), (3, 3)]
    assert len(encoder.encode_entities(traits, np.empty(0, np.int32)).vectors) == 0


def test_blank_text_is_a_zero_vector(encoder):
    block = encode(encoder, Mention("", "left", "right"), Mention(" \n "), Mention("\u200b"), Mention("egg"))
    assert not block[:3].any()
    assert block[3].any()
    assert encode(encoder, Mention(" ")).shape == (1, 16)


def test_order_and_batches_change_nothing_and_equal_mentions_are_encoded_once(folder, encoder, monkeypatch):
    block = encode(encoder, *MENTIONS, MENTIONS[0])
    assert (block[0] == block[3]).all()
    one_by_one = make_bi_encoder(str(folder), batch_size=1, **SETTINGS)
    np.testing.assert_allclose(encode(one_by_one, *MENTIONS[::-1])[::-1], block[:3], atol=1e-5)
    encoded = []
    inner = BiEncoder._encode
    monkeypatch.setattr(
        BiEncoder, "_encode", lambda self, tower, rows: encoded.extend(rows) or inner(self, tower, rows)
    )
    encode(encoder, *MENTIONS * 100)
    assert len(encoded) == 3


@pytest.mark.parametrize("text", ["[SEP]", "[Ms]", "[Me] [ENT]", "[CLS] [PAD]"])
def test_special_tokens_in_texts_do_not_act(encoder, text):
    mentions, _ = encoder.load()
    (own,) = mentions.tokenizer.mentions([Mention(text, f"{text} ", f" {text}")])
    special = mentions.tokenizer._tokenizer.convert_tokens_to_ids(["[PAD]", "[CLS]", "[SEP]", "[ENT]"])
    assert not set(own) & set(special)
    assert own.count(mentions.tokenizer.start[0]) == own.count(mentions.tokenizer.end[0]) == 1
    kb = KnowledgeBase.from_entities([Entity("T:1", text, (), f"{text} {text}"), Entity("T:2", "egg")])
    assert np.isfinite(encoder.encode_entities(kb).vectors.blocks[0]).all()
    assert np.isfinite(encode(encoder, Mention(text, "\ud83d"))).all()


def test_a_space_of_it_is_built_searched_saved_and_opened(folder, encoder, ontology, tmp_path):
    space = EntitySpace.build(ontology, encoder, make_exact_index())
    hits = space.search(encoder.encode_mentions(MENTIONS), 4)
    rows = space.rows.vectors.blocks[0].astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = encode(encoder, *MENTIONS) @ rows.T
    for found, scores, own in zip(hits.entities, hits.scores, cosines, strict=True):
        expected = [number for number in np.argsort(-own) if own[number] > 0]
        assert [number for number in found if number >= 0] == expected
        np.testing.assert_allclose(scores[: len(expected)], own[expected], atol=2e-3)
    space.to_disk(tmp_path / "space")
    opened = EntitySpace.from_disk(tmp_path / "space", make_bi_encoder("./two", **SETTINGS), make_exact_index())
    again = opened.search(opened.encoder.encode_mentions(MENTIONS), 4)
    assert again.entities.tolist() == hits.entities.tolist()
    np.testing.assert_allclose(again.scores, hits.scores, atol=1e-3)


def test_one_folder_serves_both_sides(folder, tmp_path):
    shared = make_bi_encoder(str(folder / "mention"), **SETTINGS)
    mentions, entities = shared.load()
    assert mentions is entities
    block = encode(shared, *MENTIONS)
    np.testing.assert_array_equal(block, encode(make_bi_encoder(str(folder), **SETTINGS), *MENTIONS))


def test_untrained_towers_are_equal_and_reproducible(plain_model, tmp_path):
    first = BiEncoder.untrained(str(plain_model), tmp_path / "first", seed=1, **SETTINGS)
    again = BiEncoder.untrained(str(plain_model), tmp_path / "again", seed=1, **SETTINGS)
    other = BiEncoder.untrained(str(plain_model), tmp_path / "other", seed=2, **SETTINGS)
    assert first.id == again.id != other.id
    assert first.id.startswith("bi-encoder:bert-2x16@") and first.id.endswith(":30:28")
    (a, b) = ((tmp_path / "first" / tower / "model.safetensors").read_bytes() for tower in ("mention", "entity"))
    assert a == b


def test_a_model_without_markers_is_refused(plain_model):
    with pytest.raises(ConfigError, match=r"lacks the markers of a bi-encoder; BiEncoder\.untrained adds them"):
        make_bi_encoder(str(plain_model), **SETTINGS).load()


def test_a_tower_without_weights_is_refused(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "model")
    (tmp_path / "model" / "entity" / "model.safetensors").unlink()
    with pytest.raises(ConfigError, match=r"entity cannot be loaded"):
        make_bi_encoder(str(tmp_path / "model"), **SETTINGS).load()
    shutil.rmtree(tmp_path / "model" / "entity")
    with pytest.raises(ConfigError, match="No model folder"):
        make_bi_encoder(str(tmp_path / "model"), **SETTINGS).load()


@pytest.mark.parametrize("setting", ["mention_tokens", "entity_tokens"])
def test_lengths(folder, setting):
    with pytest.raises(ConfigError, match=f"{setting} = 41 is above the 40 tokens"):
        make_bi_encoder(str(folder), **(SETTINGS | {setting: 41})).load()
    with pytest.raises(ConfigError, match=f"{setting} = 3 makes no sense; give 16 or more"):
        make_bi_encoder(str(folder), **(SETTINGS | {setting: 3}))


def test_round_trip_and_damage(encoder, traits, tmp_path):
    expected, name = encode(encoder, *MENTIONS), encoder.id
    encoder.to_disk(tmp_path / "saved")
    second = make_bi_encoder("./two", **SETTINGS).from_disk(tmp_path / "saved")
    assert second.id == name
    np.testing.assert_array_equal(encode(second, *MENTIONS), expected)
    np.testing.assert_array_equal(encode(pickle.loads(pickle.dumps(second)), *MENTIONS), expected)
    with pytest.raises(StateError, match="entity_tokens = 28, but the config says 29"):
        make_bi_encoder("./two", **(SETTINGS | {"entity_tokens": 29})).from_disk(tmp_path / "saved")
    weights = tmp_path / "saved" / "model" / "entity" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-8])
    opened = make_bi_encoder("./two", **SETTINGS).from_disk(tmp_path / "saved")
    with pytest.raises(StateError, match=r"entity/model\.safetensors is damaged"):
        opened.encode_entities(traits)


def test_making_and_opening_import_nothing_heavy(encoder, tmp_path):
    encoder.to_disk(tmp_path)
    script = (
        "import sys; from pathlib import Path; from spacy_ontolink.encoders.bi_encoder import make_bi_encoder;"
        f"print(make_bi_encoder('two', **{SETTINGS}).from_disk(Path({str(tmp_path)!r})).id);"
        "sys.exit(bool({'torch', 'transformers'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == encoder.id
