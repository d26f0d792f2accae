import os
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from spacy_ontolink import atomic, files
from spacy_ontolink.errors import DataError, StateError
from spacy_ontolink.files import (
    cache_folder,
    open_tensors,
    read_checked_json,
    read_json,
    replacing,
    safe_join,
    write_checked_json,
    write_json,
    write_tensors,
)


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


@pytest.mark.parametrize("name", ["a.json", "1_Pooling/config.json", "..a/b..json", "./a", "spm:v2.model"])
def test_names_in_a_folder_are_joined(tmp_path, name):
    assert safe_join(tmp_path, name) == tmp_path / name


@pytest.mark.parametrize(
    "name",
    ["../../a.txt", "..", "a/../../b", "/etc/a", "//host/a", "C:/a", "c:a", "..\\a", "\\a", "a\\b", "", ".", "a\0"],
)
def test_names_that_lead_out_of_a_folder_are_refused(tmp_path, name):
    with pytest.raises(StateError, match="is not the name of a file in it"):
        safe_join(tmp_path, name)


@pytest.mark.parametrize("written", [5, 1 << 20])
def test_tensors_are_mapped_as_they_were_written(tmp_path, monkeypatch, written):
    monkeypatch.setattr(files, "_WRITTEN", written)
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
    write_tensors(tmp_path / "b.safetensors", opened)  # lets go of pages of what it reads from
    assert (tmp_path / "b.safetensors").read_bytes() == (tmp_path / "a.safetensors").read_bytes()


@pytest.mark.parametrize("keep", [0, 4, 40, -1])
def test_a_cut_tensor_file_is_named(tmp_path, keep):
    file = tmp_path / "a.safetensors"
    write_tensors(file, {"a": np.arange(100, dtype=np.float32)})
    file.write_bytes(file.read_bytes()[:keep])
    with pytest.raises(StateError, match=r"a\.safetensors"):
        open_tensors(file)


def test_links_are_followed_and_pipes_written_to(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "file")
    (tmp_path / "file").write_text("old")
    with replacing(tmp_path / "link") as scratch:
        scratch.write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "new"
    os.mkfifo(tmp_path / "pipe")
    with replacing(tmp_path / "pipe") as scratch:
        assert scratch == tmp_path / "pipe"


def test_a_folder_comes_back_when_the_new_one_cannot_take_its_place(tmp_path, monkeypatch):
    monkeypatch.setattr(atomic, "_exchanged", lambda one, other: False)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old").touch()
    real = os.replace

    def fail(source, target):
        if Path(source).parent.name.startswith(".out") and Path(source).name == "out":
            raise OSError
        real(source, target)

    with pytest.raises(OSError), replacing(tmp_path / "out") as folder:
        folder.mkdir()
        monkeypatch.setattr(os, "replace", fail)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["old"]


@pytest.mark.parametrize("can_exchange", [True, False])
def test_folders_are_exchanged_in_one_step_where_the_system_can(tmp_path, monkeypatch, can_exchange):
    if not can_exchange:
        monkeypatch.setattr(atomic, "_exchanged", lambda one, other: False)
    (tmp_path / "out").mkdir()
    seen = []
    real = os.replace
    monkeypatch.setattr(os, "replace", lambda *names: (real(*names), seen.append((tmp_path / "out").exists())))
    with replacing(tmp_path / "out") as folder:
        folder.mkdir()
        (folder / "new").touch()
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["new"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    if sys.platform == "linux" and can_exchange:
        assert seen == []


def leftover(path, age=3600):
    """What a killed process leaves: a scratch folder that is not locked."""
    path.mkdir()
    (path / "half").touch()
    os.utime(path, (time.time() - age,) * 2)
    return path


def test_what_a_killed_process_left_is_gone_with_the_next_writing(tmp_path):
    dead, young = leftover(tmp_path / ".out.abcdefgh"), leftover(tmp_path / ".out.ijklmnop", age=0)
    other = leftover(tmp_path / ".other.abcdefgh")
    with replacing(tmp_path / "out") as outer:
        (scratch := outer.parent).touch()
        os.utime(scratch, (0, 0))  # old, but held
        outer.write_text("whole")
        with replacing(tmp_path / "out") as inner:
            inner.write_text("faster")
        assert scratch.exists()
    assert not dead.exists()
    assert young.exists()
    assert other.exists()
    assert (tmp_path / "out").read_text() == "whole"


def test_what_a_killed_process_moved_aside_comes_back(tmp_path):
    (dead := leftover(tmp_path / ".out.abcdefgh")).joinpath("replaced").mkdir()
    os.utime(dead, (0, 0))
    with pytest.raises(ZeroDivisionError), replacing(tmp_path / "out"):
        assert (tmp_path / "out").is_dir()
        1 / 0  # noqa: B018
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_missing_files_are_named(tmp_path):
    for read in (open_tensors, read_json, read_checked_json):
        with pytest.raises(StateError, match="gone"):
            read(tmp_path / "gone")


def test_a_letter_changed_in_checked_json_is_noticed(tmp_path):
    value = {
        "yes": "ja",
        "wording": "Is it \u00e9 or $x?",
        "share": 0.1,
        "n": [1, None, True],
        "inner": {"b": 1, "a": 2},
    }
    file = tmp_path / "part.json"
    write_checked_json(file, value)
    assert read_checked_json(file) == value
    text = file.read_text()
    for place in [place for place, letter in enumerate(text) if letter.isalnum()]:
        file.write_text(text[:place] + ("x" if text[place] != "x" else "y") + text[place + 1 :])
        with pytest.raises(StateError, match=r"part\.json is damaged"):
            read_checked_json(file)


@pytest.mark.parametrize("content", ["", "[]", "{}", '"checksum"', '{"checksum": 1}', '{"a": 1}'])
def test_json_without_a_checksum_is_damaged(tmp_path, content):
    (tmp_path / "part.json").write_text(content)
    with pytest.raises(StateError, match=r"part\.json is damaged"):
        read_checked_json(tmp_path / "part.json")


def test_the_cache_can_be_moved(tmp_path, monkeypatch):
    monkeypatch.setenv("ONTOLINK_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv("ONTOLINK_CACHE")
    assert "spacy-ontolink" in cache_folder().parts


@pytest.mark.parametrize("there", ["file", "folder"])
def test_a_file_never_takes_the_place_of_a_folder_nor_a_folder_that_of_a_file(tmp_path, there):
    path = tmp_path / "out"
    if there == "folder":
        path.mkdir()
        (path / "kept").write_text("kept")
    else:
        path.write_text("kept")
    with pytest.raises(DataError, match=f"is a {there}"), replacing(path) as new:
        new.write_text("lost") if there == "folder" else new.mkdir()
    assert (path / "kept" if there == "folder" else path).read_text() == "kept"
    assert [file.name for file in tmp_path.iterdir()] == ["out"]
