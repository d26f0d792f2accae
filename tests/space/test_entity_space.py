import gc
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import srsly

from spacy_ontolink.encoders.lexical import LexicalEncoder
from spacy_ontolink.errors import StateError
from spacy_ontolink.files import read_checked_json, write_checked_json
from spacy_ontolink.indexes.exact import ExactIndex
from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.space import EntitySpace, Pooling, Query, open_or_build, retrieve
from spacy_ontolink.types import Entity, Mention

QUERIES = [Query(Mention(text)) for text in ("fat percent", "yield of milk", "carotene")]


@pytest.fixture
def space(traits):
    return EntitySpace.build(traits, LexicalEncoder(), ExactIndex(), Pooling(names=1.0))


@pytest.fixture
def saved(space, tmp_path):
    space.to_disk(tmp_path / "space")
    return tmp_path / "space"


def open_space(path, pooling=None):
    return EntitySpace.from_disk(path, LexicalEncoder(), ExactIndex(), pooling)


def equal(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_a_saved_space_finds_the_same_with_the_same_scores(space, saved):
    assert equal(retrieve(space, QUERIES, 5), retrieve(open_space(saved), QUERIES, 5))


def test_so_does_one_from_bytes(space):
    other = EntitySpace.from_bytes(space.to_bytes(), LexicalEncoder(), ExactIndex())
    assert equal(retrieve(space, QUERIES, 5), retrieve(other, QUERIES, 5))


def test_it_can_be_moved(space, saved, tmp_path):
    shutil.move(saved, tmp_path / "elsewhere")
    assert equal(retrieve(space, QUERIES, 5), retrieve(open_space(tmp_path / "elsewhere"), QUERIES, 5))


def every_file(folder):
    return sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file())


@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "flipped"])
def test_every_damaged_file_is_named(saved, damage, tmp_path):
    for name in every_file(saved):
        copy = tmp_path / "copy"
        shutil.copytree(saved, copy)
        data = bytearray((copy / name).read_bytes())
        if damage == "missing":
            (copy / name).unlink()
        else:
            data[len(data) // 2] ^= 0x10
            kept = {"empty": b"", "cut": bytes(data[: len(data) // 2]), "flipped": bytes(data)}[damage]
            (copy / name).write_bytes(kept)
        with pytest.raises(StateError, match=name):
            open_space(copy)
        shutil.rmtree(copy)


@pytest.mark.parametrize(
    "change",
    [
        {"files": {}},
        {"kb": {}},
        {"rows": 3},
        {"encoder": None},
        {"pooling": {"names": 1}},
        {"format": 0},
        {"index": []},
    ],
)
def test_a_manifest_that_lacks_something_is_refused(saved, change):
    manifest = read_checked_json(saved / "manifest.json")
    write_checked_json(saved / "manifest.json", manifest | change)
    with pytest.raises(StateError, match=r"manifest\.json|not in the manifest"):
        open_space(saved)


def test_files_of_another_space_are_refused(saved, tmp_path):
    kb = KnowledgeBase.from_entities([Entity("A:1", "one"), Entity("A:2", "two")])
    EntitySpace.build(kb, LexicalEncoder(), ExactIndex()).to_disk(tmp_path / "other")
    shutil.copy(tmp_path / "other" / "rows.safetensors", saved / "rows.safetensors")
    with pytest.raises(StateError, match=r"rows\.safetensors"):
        open_space(saved)


def test_another_pooling_than_the_saved_one_is_refused(saved):
    with pytest.raises(StateError, match=r"pooling \(1\.0, 0\.0\).*\(0\.0, 0\.3\)"):
        open_space(saved, Pooling(0.0, 0.3))


def test_another_encoder_is_refused_with_both_ids(saved):
    class OtherEncoder(LexicalEncoder):
        pass

    with pytest.raises(StateError, match=r"LexicalEncoder.*OtherEncoder"):
        EntitySpace.from_disk(saved, OtherEncoder(), ExactIndex())


def test_the_manifest_says_what_it_was_made_of(space, saved):
    manifest = json.loads((saved / "manifest.json").read_text())
    assert manifest["kb"]["hash"] == space.kb.hash
    assert manifest["encoder"] == {"type": "LexicalEncoder", "id": space.encoder.id}
    assert manifest["rows"]["count"] == space.kb.n_names
    assert manifest["index"]["recall"] == 1.0


def test_an_interrupted_save_keeps_the_old_one(space, saved, monkeypatch):
    monkeypatch.setattr(ExactIndex, "to_disk", lambda self, path: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        space.to_disk(saved)
    monkeypatch.undo()
    assert equal(retrieve(space, QUERIES, 5), retrieve(open_space(saved), QUERIES, 5))
    assert [path.name for path in saved.parent.iterdir()] == ["space"]


def test_the_cache_builds_once_per_content(traits, tmp_path, monkeypatch):
    def made(kb, pooling=0.0):
        return open_or_build(lambda: kb, LexicalEncoder(), ExactIndex(), Pooling(pooling), tmp_path / "cache")

    first = made(traits)
    monkeypatch.setattr(EntitySpace, "build", lambda *args, **kwargs: pytest.fail("built again"))
    assert equal(retrieve(first, QUERIES, 5), retrieve(made(traits), QUERIES, 5))
    monkeypatch.undo()
    made(traits, 0.5)
    made(KnowledgeBase.from_entities([Entity("A:1", "one")]))
    assert len(list((tmp_path / "cache").iterdir())) == 3


class FileReader:
    """Counts how often it reads its file, one name per line."""

    def __init__(self, path):
        self.paths, self._count = (path,), 0

    def __call__(self):
        self._count += 1
        names = self.paths[0].read_text().split()
        return KnowledgeBase.from_entities([Entity(f"A:{n}", name) for n, name in enumerate(names)])


def test_a_cached_file_is_not_read_again_unless_it_changed(tmp_path):
    (tmp_path / "names.txt").write_text("one two")
    reader = FileReader(tmp_path / "names.txt")

    def size():
        return len(open_or_build(reader, LexicalEncoder(), ExactIndex(), Pooling(), tmp_path / "cache").kb)

    assert (size(), size(), reader._count) == (2, 2, 1)
    (tmp_path / "names.txt").write_text("one two three")
    assert (size(), reader._count) == (3, 2)


def test_a_cache_that_cannot_be_written_costs_a_warning(traits, tmp_path, caplog):
    (tmp_path / "file").touch()
    space = open_or_build(lambda: traits, LexicalEncoder(), ExactIndex(), Pooling(), tmp_path / "file" / "cache")
    assert len(space.kb) == len(traits)
    assert "ONTOLINK_CACHE" in caplog.text


def test_a_fork_leaves_the_files_of_its_parent(space):
    other = EntitySpace.from_bytes(space.to_bytes(), LexicalEncoder(), ExactIndex())
    folder = Path(other.rows.owner.filename).parent
    if (child := os.fork()) == 0:
        del other
        gc.collect()
        os._exit(0)
    os.waitpid(child, 0)
    assert folder.exists()
    del other
    gc.collect()
    assert not folder.exists()


def test_bytes_that_name_a_file_outside_are_refused(space, tmp_path):
    files = srsly.msgpack_loads(space.to_bytes())
    with pytest.raises(StateError, match="evil"):
        EntitySpace.from_bytes(srsly.msgpack_dumps(files | {"../evil": b""}), LexicalEncoder(), ExactIndex())


def test_a_damaged_cache_entry_is_built_again(traits, tmp_path, caplog):
    def made():
        return open_or_build(lambda: traits, LexicalEncoder(), ExactIndex(), Pooling(), tmp_path)

    made()
    (entry,) = tmp_path.iterdir()
    (entry / "rows.safetensors").write_bytes(b"")
    assert equal(retrieve(made(), QUERIES, 5), retrieve(open_space(entry), QUERIES, 5))
    assert "rows.safetensors" in caplog.text


@pytest.mark.parametrize("in_memory", [0, 1 << 28])
def test_entities_encoded_a_part_at_a_time(traits, space, monkeypatch, tmp_path, in_memory):
    monkeypatch.setattr("spacy_ontolink.space.entity_space._ENTITIES", 2)
    monkeypatch.setattr("spacy_ontolink.row_files.IN_MEMORY", in_memory)
    made = EntitySpace.build(traits, LexicalEncoder(), ExactIndex(), space.pooling)
    for one, other in ((made.plain, space.plain), (made.rows, space.rows)):
        assert (one.vectors.blocks[0] != other.vectors.blocks[0]).nnz == 0
        np.testing.assert_array_equal(one.owner, other.owner)
        np.testing.assert_array_equal(one.name, other.name)
    made.to_disk(tmp_path / "made")
    space.to_disk(tmp_path / "whole")
    for name in ("rows.safetensors", "row_table.safetensors"):
        assert (tmp_path / "made" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
