import json
import shutil

import pytest

from spacy_ontolink.errors import ConfigError, StateError
from spacy_ontolink.llms.gguf import gguf_file
from spacy_ontolink.llms.weights import MANIFEST, Weights, adapter_folder, causal_weights, check_positions


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
    bare, adapted = causal_weights(str(folder), None), causal_weights(str(folder), str(lora))
    assert adapted.revision.startswith(f"{bare.revision}+")
    shutil.copytree(folder, tmp_path / "copy")
    assert causal_weights(str(tmp_path / "copy"), None).revision == bare.revision
    (tmp_path / "copy" / "model.safetensors").write_bytes(b"others")
    assert causal_weights(str(tmp_path / "copy"), None).revision != bare.revision


def test_nothing_is_looked_at_before_it_is_needed(tmp_path):
    weights = causal_weights(str(tmp_path / "none"), None)
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
    model = causal_weights(str(folder), None)["model"]
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
    weights = causal_weights(str(folder), str(lora))
    weights.to_disk(tmp_path / "saved")
    return weights.revision, tmp_path / "saved"


def test_saved_copies_stand_alone(folder, lora, tmp_path):
    revision, path = saved(folder, lora, tmp_path)
    shutil.rmtree(folder)
    shutil.rmtree(lora)
    weights = causal_weights("./model", "./lora")
    weights.from_disk(path)
    weights.check()
    assert weights.revision == revision
    assert str(tmp_path) not in (path / MANIFEST).read_text()
    assert not (path / "adapter" / "README.md").exists()


def test_damage_is_found(folder, lora, tmp_path):
    _, path = saved(folder, lora, tmp_path)
    weights = causal_weights("./model", "./lora")
    (path / "model" / "model.safetensors").write_bytes(b"w3ights")
    weights.from_disk(path)
    with pytest.raises(StateError, match="not as it was saved"):
        weights.check()
    (path / "model" / "model.safetensors").unlink()
    with pytest.raises(StateError, match="missing"):
        weights.from_disk(path)


@pytest.mark.parametrize(
    "manifest", ["[]", "{}", '{"parts": {"model": {}}}', '{"parts": {"model": 3}}', "{", '{"parts": 1}']
)
def test_a_damaged_manifest(manifest, tmp_path):
    (tmp_path / MANIFEST).write_text(manifest)
    with pytest.raises(StateError, match="damaged"):
        causal_weights("model", None).from_disk(tmp_path)


def test_a_manifest_that_leads_elsewhere(folder, lora, tmp_path):
    _, path = saved(folder, lora, tmp_path)
    manifest = json.loads((path / MANIFEST).read_text())
    manifest["parts"]["../model"] = manifest["parts"].pop("model")
    (path / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(StateError, match="not the name of a file"):
        causal_weights("./model", "./lora").from_disk(path)


def test_another_model_is_refused(folder, lora, tmp_path):
    _, path = saved(folder, lora, tmp_path)
    causal_weights(str(folder), str(lora)).from_disk(path)
    with pytest.raises(StateError, match="the parts"):
        causal_weights(str(folder), None).from_disk(path)
    (folder / "model.safetensors").write_bytes(b"others")
    with pytest.raises(StateError, match="the model"):
        causal_weights(str(folder), str(lora)).from_disk(path)
    with pytest.raises(StateError, match="built with the model model, but is opened with owner/other"):
        causal_weights("owner/other", str(lora)).from_disk(path)


def test_what_is_not_the_model_does_not_matter(folder, lora, tmp_path):
    _, path = saved(folder, lora, tmp_path)
    (folder / "model.safetensors").unlink()  # a folder of that name without a model in it
    weights = causal_weights(str(folder), str(lora))
    weights.from_disk(path)
    assert weights["model"].path == path / "model"


def test_parts_are_named_by_their_sources(tmp_path):
    (tmp_path / "tiny.gguf").write_bytes(b"GGUF")
    weights = Weights({"model": (str(tmp_path / "tiny.gguf"), gguf_file)})
    weights.to_disk(tmp_path / "saved")
    assert (tmp_path / "saved" / "model" / "tiny.gguf").read_bytes() == b"GGUF"
    assert "adapter" not in weights
