import shutil

import pytest

from spacy_ontolink.errors import ConfigError, StateError
from spacy_ontolink.llms.gguf import gguf_file
from spacy_ontolink.llms.weights import Weights, adapter_folder, check_positions


@pytest.fixture
def folder(tmp_path):
    """What a model's folder looks like from outside."""
    made = tmp_path / "model"
    made.mkdir()
    (made / "config.json").write_text('{"model_type": "toy", "max_position_embeddings": 100}')
    (made / "model.safetensors").write_bytes(b"weights")
    return made


@pytest.fixture
def lora(tmp_path):
    made = tmp_path / "lora"
    made.mkdir()
    (made / "adapter_config.json").write_text('{"r": 16}')
    (made / "adapter_model.safetensors").write_bytes(b"more")
    (made / "README.md").write_text("trained on a Tuesday")
    return made


def test_the_revision_is_the_contents(folder, lora, tmp_path):
    bare, adapted = Weights(str(folder)), Weights(str(folder), str(lora))
    assert adapted.revision.startswith(f"{bare.revision}+")
    shutil.copytree(folder, tmp_path / "copy")
    assert Weights(str(tmp_path / "copy")).revision == bare.revision
    (tmp_path / "copy" / "model.safetensors").write_bytes(b"others")
    assert Weights(str(tmp_path / "copy")).revision != bare.revision


def test_nothing_is_looked_at_before_it_is_needed(tmp_path):
    weights = Weights(str(tmp_path / "none"))
    with pytest.raises(ConfigError, match="No model folder"):
        _ = weights.revision


def test_an_adapter_is_a_folder_with_safetensors(lora, tmp_path):
    assert set(adapter_folder(str(lora)).files) == {"adapter_config.json", "adapter_model.safetensors"}
    with pytest.raises(ConfigError, match=r"No LoRA adapter in .*none"):
        adapter_folder(str(tmp_path / "none"))
    (lora / "adapter_model.safetensors").rename(lora / "adapter_model.bin")
    with pytest.raises(ConfigError, match=r"only adapter_model\.bin; pickled weights are refused"):
        adapter_folder(str(lora))


def test_positions(folder):
    model = Weights(str(folder)).model
    check_positions(model, 60, 40)
    with pytest.raises(ConfigError, match="the 100 tokens"):
        check_positions(model, 60, 41)


def test_a_gguf_file(tmp_path):
    file = tmp_path / "tiny.gguf"
    with pytest.raises(ConfigError, match="No GGUF model"):
        gguf_file(str(file))
    file.write_bytes(b"GGML of old")
    with pytest.raises(ConfigError, match="this file is none"):
        gguf_file(str(file))
    file.write_bytes(b"GGUF and more")
    (tmp_path / "other.gguf").write_bytes(b"GGUF")
    assert set(gguf_file(str(file)).files) == {"tiny.gguf"}


def saved(folder, lora, tmp_path):
    weights = Weights(str(folder), str(lora))
    weights.to_disk(tmp_path / "saved")
    return weights.revision, tmp_path / "saved"


def test_saved_copies_stand_alone(folder, lora, tmp_path):
    revision, path = saved(folder, lora, tmp_path)
    shutil.rmtree(folder)
    shutil.rmtree(lora)
    weights = Weights("./model", "./lora")
    weights.from_disk(path)
    weights.check()
    assert weights.revision == revision
    assert not [file for file in path.rglob("*.json") if str(tmp_path) in file.read_text()]
    assert not [*path.rglob("README.md")]


def test_damage_is_found(folder, lora, tmp_path):
    _, path = saved(folder, lora, tmp_path)
    weights = Weights("./model", "./lora")
    (path / "model" / "model" / "model.safetensors").write_bytes(b"w3ights")
    weights.from_disk(path)
    with pytest.raises(StateError, match="not as it was saved"):
        weights.check()
    (path / "model" / "model" / "model.safetensors").unlink()
    with pytest.raises(StateError, match="missing"):
        weights.from_disk(path)


def test_nothing_saved(tmp_path):
    with pytest.raises(StateError, match="damaged"):
        Weights("model").from_disk(tmp_path)


def test_another_model_is_refused(folder, lora, tmp_path):
    _, path = saved(folder, lora, tmp_path)
    Weights(str(folder), str(lora)).from_disk(path)
    with pytest.raises(StateError, match="the parts"):
        Weights(str(folder)).from_disk(path)
    (folder / "model.safetensors").write_bytes(b"others")
    with pytest.raises(StateError, match="the model"):
        Weights(str(folder), str(lora)).from_disk(path)
    with pytest.raises(StateError, match="built with the model model, but is opened with owner/other"):
        Weights("owner/other", str(lora)).from_disk(path)


def test_what_is_not_the_model_does_not_matter(folder, lora, tmp_path):
    _, path = saved(folder, lora, tmp_path)
    (folder / "model.safetensors").unlink()  # a folder of that name without a model in it
    weights = Weights(str(folder), str(lora))
    weights.from_disk(path)
    assert weights.model.path == path / "model" / "model"


def test_a_file_is_told_from_another_of_its_name(tmp_path):
    file = tmp_path / "tiny.gguf"
    file.write_bytes(b"GGUF")
    weights = Weights(str(file), opener=gguf_file)
    assert weights.adapter is None
    weights.to_disk(tmp_path / "saved")
    Weights(str(file), opener=gguf_file).from_disk(tmp_path / "saved")
    file.write_bytes(b"GGUF of another")
    with pytest.raises(StateError, match="the model"):
        Weights(str(file), opener=gguf_file).from_disk(tmp_path / "saved")
