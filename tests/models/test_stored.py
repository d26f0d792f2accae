import json
import pickle
import shutil

import pytest

from spacy_ontolink.errors import ConfigError, StateError
from spacy_ontolink.files import write_checked_json
from spacy_ontolink.models.folder import ModelFolder
from spacy_ontolink.models.stored import StoredModel


def save_model(path, weights=b"weights"):
    """What makes a model folder, if nobody loads it."""
    path.mkdir()
    (path / "config.json").write_text(json.dumps({"model_type": "bert", "num_hidden_layers": 2, "hidden_size": 8}))
    (path / "model.safetensors").write_bytes(weights)
    (path / "notes.md").write_text("not a part of the model")
    return path


@pytest.fixture
def folder(tmp_path):
    return save_model(tmp_path / "source")


def complete(folder, given):
    if given["length"] == 0:
        raise ConfigError("too short")
    return {**given, "length": given["length"] or 7}


def make(name, length=None):
    return StoredModel("part", str(name), {"length": length}, complete)


def test_nothing_is_read_before_it_is_needed():
    stored = make("/no/such/folder")
    with pytest.raises(ConfigError, match="No model folder"):
        _ = stored.folder


def test_settings_left_open_are_the_models_own(folder):
    assert make(folder).settings == {"length": 7}
    assert make(folder, 5).settings == {"length": 5}
    assert make(folder).id.startswith("part:bert-2x8@") and make(folder).id.endswith(":7")
    assert make(folder, 5).id != make(folder).id
    with pytest.raises(ConfigError, match="too short"):
        _ = make(folder, 0).id


def test_round_trip_of_a_copy(folder, tmp_path):
    first = make(folder, 5)
    name = first.id
    first.to_disk(tmp_path / "saved")
    shutil.rmtree(folder)
    assert sorted(f.name for f in (tmp_path / "saved").rglob("*") if f.is_file()) == [
        "config.json", "model.safetensors", "part.json"
    ]  # fmt: skip
    second = make("./source")
    second.from_disk(tmp_path / "saved")
    assert (second.id, second.settings) == (name, {"length": 5})
    assert second.checked().path == tmp_path / "saved" / "model"
    second.to_disk(tmp_path / "saved")  # onto itself
    third = pickle.loads(pickle.dumps(second))
    assert third.id == name
    assert json.loads((tmp_path / "saved" / "part.json").read_text())["name"] == "source"


def test_damage_is_named(folder, tmp_path):
    make(folder).to_disk(tmp_path / "saved")
    shutil.rmtree(folder)
    (tmp_path / "saved" / "model" / "model.safetensors").write_bytes(b"Weights")
    stored = make("source")
    stored.from_disk(tmp_path / "saved")
    with pytest.raises(StateError, match=r"model\.safetensors is damaged \(not as it was saved\)"):
        stored.checked()
    file = tmp_path / "saved" / "part.json"
    file.write_text(file.read_text().replace('"length": 7', '"length": 8'))
    with pytest.raises(StateError, match=r"part\.json is damaged \(its checksum differs"):
        make("source").from_disk(tmp_path / "saved")
    write_checked_json(file, {"files": []})
    with pytest.raises(StateError, match=r"part\.json is damaged"):
        make("source").from_disk(tmp_path / "saved")
    (tmp_path / "saved" / "part.json").unlink()
    with pytest.raises(StateError, match=r"part\.json is damaged \(missing\)"):
        make("source").from_disk(tmp_path / "saved")


def test_another_model_or_setting_is_refused(folder, tmp_path):
    make(folder).to_disk(tmp_path / "saved")
    other = make(save_model(tmp_path / "other", b"others"))
    with pytest.raises(StateError) as caught:
        other.from_disk(tmp_path / "saved")
    assert make(folder).id in str(caught.value) and other.id in str(caught.value)
    with pytest.raises(StateError, match="with the model source, but is opened with some/model"):
        make("some/model").from_disk(tmp_path / "saved")
    with pytest.raises(StateError, match="length = 7, but the config says 8"):
        make("source", 8).from_disk(tmp_path / "saved")


def test_an_own_opener_for_what_is_no_whole_transformer(tmp_path):
    def opener(name):
        return ModelFolder(tmp_path / name, {"adapter.safetensors": "0" * 64})

    (tmp_path / "small").mkdir()
    (tmp_path / "small" / "adapter.safetensors").write_bytes(b"adapter")
    stored = StoredModel("adapter", "small", {}, opener=opener)
    assert stored.folder.path == tmp_path / "small"
    stored.to_disk(tmp_path / "saved")
    assert (tmp_path / "saved" / "model" / "adapter.safetensors").read_bytes() == b"adapter"
