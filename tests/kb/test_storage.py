import contextlib
from dataclasses import replace

import numpy as np
import pytest

from spacy_ontolink.errors import StateError
from spacy_ontolink.files import read_checked_json, write_checked_json
from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.kb.columns import TABLES
from spacy_ontolink.types import Entity, Synonym

FILES = [*(f"{name}.arrow" for name in TABLES), "kb.json"]


@pytest.fixture
def folder(toy, tmp_path):
    toy.to_disk(tmp_path / "kb")
    return tmp_path / "kb"


def assert_same(a, b):
    assert (a.hash, a.name, len(a), a.n_names) == (b.hash, b.name, len(b), b.n_names)
    assert [a[id_] for id_ in (*a, "T:8")] == [b[id_] for id_ in (*b, "T:8")]
    assert a.statistics() == b.statistics()
    assert a.name_texts() == b.name_texts() and (a.name_owner == b.name_owner).all()
    assert a.lookup("bf").tolist() == b.lookup("bf").tolist()


def test_round_trip_through_a_folder(toy, folder):
    assert sorted(file.name for file in folder.iterdir()) == sorted(FILES)
    assert_same(KnowledgeBase.from_disk(folder), toy)


def test_round_trip_through_bytes(toy, folder):
    assert_same(KnowledgeBase.from_bytes(toy.to_bytes()), toy)
    assert_same(KnowledgeBase.from_bytes(KnowledgeBase.from_disk(folder).to_bytes()), toy)


def test_an_opened_one_can_be_saved_over_itself(toy, folder):
    opened = KnowledgeBase.from_disk(folder)
    opened.to_disk(folder)
    assert_same(opened, toy)
    assert_same(KnowledgeBase.from_disk(str(folder)), toy)
    assert [path.name for path in folder.parent.iterdir()] == ["kb"]


def test_numbers_are_views_and_read_only(folder):
    owner = KnowledgeBase.from_disk(folder).name_owner
    assert owner.base is not None and owner.dtype == np.int32
    with pytest.raises(ValueError, match="read-only"):
        owner[0] = 1


@pytest.mark.parametrize("file", FILES)
def test_missing_file_is_named(folder, file):
    (folder / file).unlink()
    with pytest.raises(StateError, match=rf"{file} is damaged \(missing\)"):
        KnowledgeBase.from_disk(folder)


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("size", [0, 5, 0.5, 0.95])
def test_cut_file_is_named(folder, file, size):
    data = (folder / file).read_bytes()
    (folder / file).write_bytes(data[: size if isinstance(size, int) else int(len(data) * size)])
    with pytest.raises(StateError, match=f"{file} is damaged"):
        KnowledgeBase.from_disk(folder)


def test_missing_folder(tmp_path):
    with pytest.raises(StateError, match="missing"):
        KnowledgeBase.from_disk(tmp_path / "nowhere")


def read_all(kb):
    """Read what damage might make unreadable: an exception is fine (checksums were passed over), a crash is not."""
    reads = (kb.statistics, kb.name_texts, kb.types, lambda: kb.lookup("bf"))
    for read in (*reads, lambda: kb["T:0"], lambda: kb["T:2"], lambda: kb["T:8"], lambda: kb.ancestors("T:2")):
        with contextlib.suppress(Exception):
            read()
    kb.parent_matrix @ kb.child_matrix


@pytest.mark.parametrize("file", FILES)
def test_flipped_bytes_never_crash(toy, folder, file):
    whole = (folder / file).read_bytes()
    for place in range(0, len(whole), 7):
        damaged = bytearray(whole)
        damaged[place] ^= 0xFF
        (folder / file).write_bytes(damaged)
        with pytest.raises(StateError, match=f"{file} is damaged"):
            KnowledgeBase.from_disk(folder)
        try:
            opened = KnowledgeBase.from_disk(folder, checked=True)
        except StateError as error:
            assert file in str(error) or "rows instead of" in str(error)
        else:
            assert len(opened) == len(toy)
            read_all(opened)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"format": 99}, "format 99"),
        ({"rows": {}}, "row counts"),
        ({"names": 0}, "row counts"),
        ({"name": 3}, "'name' is 3"),
        ({"files": {}}, "no checksums"),
    ],
)
def test_facts_that_make_no_sense_are_refused(folder, change, reason):
    write_checked_json(folder / "kb.json", read_checked_json(folder / "kb.json") | change)
    with pytest.raises(StateError, match=rf"kb.json is damaged \(.*{reason}"):
        KnowledgeBase.from_disk(folder)


def test_table_of_another_knowledge_base_is_refused(folder, tmp_path):
    KnowledgeBase.from_entities([Entity("T:1", "one")]).to_disk(tmp_path / "other")
    (folder / "names.arrow").write_bytes((tmp_path / "other" / "names.arrow").read_bytes())
    with pytest.raises(StateError, match=r"names.arrow is damaged \(\d+ bytes instead of \d+\)"):
        KnowledgeBase.from_disk(folder)
    with pytest.raises(StateError, match=r"names.arrow is damaged \(1 rows instead of 14\)"):
        KnowledgeBase.from_disk(folder, checked=True)


def test_table_with_other_columns_is_refused(folder):
    (folder / "ids.arrow").write_bytes((folder / "lookup.arrow").read_bytes())
    with pytest.raises(StateError, match=r"ids.arrow is damaged \(unexpected columns"):
        KnowledgeBase.from_disk(folder, checked=True)


@pytest.mark.parametrize("data", [b"", b"nonsense", b"\x80", b"\x93\x01\x02\x03"])
def test_damaged_bytes_are_refused(data):
    with pytest.raises(StateError, match="knowledge base"):
        KnowledgeBase.from_bytes(data)


FULL = Entity(
    "T:1",
    "one",
    (Synonym("uno", "EXACT", "translation"),),
    "the first",
    ("T:2",),
    ("T:10",),
    False,
    ("T:3",),
    ("T:4",),
    ("X:1",),
    "numbers",
    ("odd",),
)


def hash_of(*entities, **options):
    return KnowledgeBase.from_entities([*entities, Entity("T:2", "two")], **options).hash


def test_hash_is_the_same_everywhere():
    assert hash_of(FULL) == hash_of(FULL, name="another name")
    # A literal: other processes, platforms and versions must come to the same.
    assert hash_of(FULL) == "7be80db4637ffbdffcf01669e91739a596a57ba8e9ff3d88fc1d6b9f7f43b34f"


@pytest.mark.parametrize(
    "change",
    [
        {"id": "T:11"},
        {"name": "One"},
        {"synonyms": ()},
        {"synonyms": (Synonym("uno", "BROAD", "translation"),)},
        {"synonyms": (Synonym("uno", "EXACT"),)},
        {"definition": "the 1st"},
        {"parents": ()},
        {"parents": ("T:2", "T:99")},
        {"alt_ids": ("T:1", "0")},
        {"obsolete": True},
        {"replaced_by": ()},
        {"consider": ("T:", "4")},
        {"xrefs": ("X:1", "")},
        {"namespace": "number"},
        {"types": ("od", "d")},
    ],
    ids=lambda change: next(iter(change)),
)
def test_hash_changes_with_every_field(change):
    assert hash_of(replace(FULL, **change)) != hash_of(FULL)


def test_text_cannot_move_between_neighbouring_values_unseen():
    assert hash_of(Entity("T:1", "ab"), Entity("T:3", "c")) != hash_of(Entity("T:1", "a"), Entity("T:3", "bc"))
