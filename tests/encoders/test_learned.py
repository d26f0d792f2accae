import json
import subprocess
import sys

import numpy as np
import pytest

from spacy_ontolink.encoders.learned import find_codes, make_ngram_encoder, weigh, write_model
from spacy_ontolink.encoders.ngrams import whole_words, words
from spacy_ontolink.errors import ConfigError, StateError
from spacy_ontolink.files import write_tensors
from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.types import Entity, Mention, Synonym

NAMES = ["kidney pain", "renal pain", "β-carotene level", "milk yield"]


@pytest.fixture
def model(tmp_path):
    """Random vectors for all that these names are made of."""
    vocabulary = np.unique(find_codes(NAMES)[0])
    vectors = np.random.default_rng(0).normal(size=(len(vocabulary), 8)).astype(np.float32)
    write_model(tmp_path / "model", vocabulary, vectors)
    return tmp_path / "model"


def encode(encoder, *texts):
    return encoder.encode_mentions([Mention(text) for text in texts]).blocks[0]


def test_whole_words():
    codes, owner = whole_words([words(text) for text in ("milk yield", "", "yield of milk", "yields")])
    assert owner.tolist() == [0, 0, 2, 2, 2, 3]
    assert codes[0] == codes[4]
    assert codes[1] == codes[2]
    assert len(set(codes.tolist())) == 4
    assert [len(part) for part in whole_words([])] == [0, 0]
    assert [len(part) for part in whole_words(["", ""])] == [0, 0]


def test_words_of_the_same_letters_differ():
    codes, _ = whole_words(["ab ba aab aba baa", "ab"])
    assert len(set(codes.tolist())) == 5


def test_counts_are_damped():
    vocabulary = np.unique(find_codes(["dodo"])[0])
    once, twice = weigh(["dodo", "dodo dodo"], vocabulary).toarray()
    assert np.allclose(twice, np.where(once > 0, 1 + np.log(2 * np.exp(once - 1)), 0))


def test_vectors_have_unit_length_or_none(model):
    vectors = encode(make_ngram_encoder(str(model)), "kidney", " \n", "qqq", "\ud83d", "Milk\tYield", "milk yield")
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), [1, 0, 0, 0, 1, 1], atol=1e-6)
    assert np.array_equal(vectors[4], vectors[5])


def test_batches_change_nothing(model):
    encoder = make_ngram_encoder(str(model))
    together = encode(encoder, *NAMES)
    assert all(np.array_equal(encode(encoder, text)[0], row) for text, row in zip(NAMES, together, strict=True))
    assert encode(encoder).shape == (0, 8)


def test_a_row_for_each_name(model):
    kb = KnowledgeBase.from_entities(
        [Entity("T:1", "kidney pain", (Synonym("renal pain"),)), Entity("T:2", "milk yield")]
    )
    encoder = make_ngram_encoder(str(model))
    rows = encoder.encode_entities(kb)
    assert rows.owner.tolist() == [0, 0, 1]
    assert rows.name.tolist() == [0, 1, 2]
    assert np.array_equal(rows.vectors.blocks[0], encode(encoder, "kidney pain", "renal pain", "milk yield"))
    some = encoder.encode_entities(kb, np.array([1], np.int32))
    assert np.array_equal(some.vectors.blocks[0], rows.vectors.blocks[0][2:])


def test_saved_copies(model, tmp_path):
    encoder = make_ngram_encoder(str(model))
    encoder.to_disk(tmp_path / "saved")
    id, expected = encoder.id, encode(encoder, *NAMES)
    model.rename(tmp_path / "gone")
    opened = make_ngram_encoder(str(model)).from_disk(tmp_path / "saved")
    assert opened.id == id
    assert np.array_equal(encode(opened, *NAMES), expected)
    weights = tmp_path / "saved" / "model" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-2])
    with pytest.raises(StateError, match=r"model\.safetensors"):
        encode(make_ngram_encoder(str(model)).from_disk(tmp_path / "saved"), "kidney")


def test_another_model_is_refused(model, tmp_path):
    make_ngram_encoder(str(model)).to_disk(tmp_path / "saved")
    write_model(tmp_path / "other", np.arange(3, dtype=np.uint64), np.ones((3, 2), np.float32))
    with pytest.raises(StateError, match="model"):
        make_ngram_encoder(str(tmp_path / "other")).from_disk(tmp_path / "saved")


@pytest.mark.parametrize(
    "arrays",
    [
        {"codes": np.array([2, 1], np.uint64), "vectors": np.ones((2, 3), np.float16)},
        {"codes": np.array([1, 2], np.uint64), "vectors": np.ones((3, 3), np.float16)},
        {"codes": np.array([1, 2], np.int64), "vectors": np.ones((2, 3), np.float16)},
        {"vectors": np.ones((2, 3), np.float16)},
    ],
    ids=["order", "shape", "type", "missing"],
)
def test_weights_that_make_no_sense(model, arrays):
    write_tensors(model / "model.safetensors", arrays)
    with pytest.raises(ConfigError, match=r"model\.safetensors"):
        encode(make_ngram_encoder(str(model)), "kidney")


def test_a_folder_of_another_kind(model):
    (model / "config.json").write_text(json.dumps({"model_type": "bert"}))
    with pytest.raises(ConfigError, match="ontolink-ngrams"):
        encode(make_ngram_encoder(str(model)), "kidney")
    with pytest.raises(ConfigError):
        encode(make_ngram_encoder(str(model / "nowhere")), "kidney")


def test_no_torch_is_needed(model):
    code = (
        "import sys; sys.modules['torch'] = None; from spacy_ontolink.encoders.learned import make_ngram_encoder as m;"
        "from spacy_ontolink.types import Mention;"
        f"assert m({str(model)!r}).encode_mentions([Mention('kidney')]).blocks[0].any()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
