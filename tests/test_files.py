import numpy as np
import pytest

from spacy_ontolink.errors import StateError
from spacy_ontolink.files import open_tensors, read_json, replacing, write_json, write_tensors


def test_a_failing_write_leaves_the_old_file(tmp_path):
    file = tmp_path / "result.json"
    write_json(file, {"version": 1})
    with pytest.raises(RuntimeError), replacing(file) as scratch:
        scratch.write_text("half")
        raise RuntimeError
    assert read_json(file) == {"version": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]


def test_a_folder_takes_the_place_of_the_old_one(tmp_path):
    for content in ("one", "two"):
        with replacing(tmp_path / "out") as folder:
            folder.mkdir()
            (folder / content).touch()
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["two"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_tensors_are_mapped_as_they_were_written(tmp_path):
    arrays = {
        "half": np.arange(6, dtype=np.float16).reshape(2, 3),
        "whole": np.arange(5, dtype=np.uint64),
        "none": np.empty((0, 4), np.float32),
    }
    write_tensors(tmp_path / "a.safetensors", arrays)
    opened = open_tensors(tmp_path / "a.safetensors")
    assert isinstance(opened["half"], np.memmap)
    for name, array in arrays.items():
        assert opened[name].dtype == array.dtype
        np.testing.assert_array_equal(opened[name], array)


@pytest.mark.parametrize("keep", [0, 4, 40, -1])
def test_a_cut_tensor_file_is_named(tmp_path, keep):
    file = tmp_path / "a.safetensors"
    write_tensors(file, {"a": np.arange(100, dtype=np.float32)})
    file.write_bytes(file.read_bytes()[:keep])
    with pytest.raises(StateError, match=r"a\.safetensors"):
        open_tensors(file)


def test_missing_files_are_named(tmp_path):
    for read in (open_tensors, read_json):
        with pytest.raises(StateError, match="gone"):
            read(tmp_path / "gone")
