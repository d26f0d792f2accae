"""Damage to what was saved: each damaged file is named when it is opened, with the command that builds it again."""

import re
import shutil

import pytest
import spacy
from signs import KINDS

from spacy_ontolink import checksums
from spacy_ontolink.cli.pipelines import load_pipeline
from spacy_ontolink.errors import OntolinkError, StateError
from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.space import manifest

DAMAGE = ("missing", "empty", "cut", "flipped", "swapped")
REMEDY = "ontolink build ONTOLOGY OUT"


def files_in(folder):
    return sorted(file for file in folder.rglob("*") if file.is_file())


def damaged(file, damage, other=None):
    """Damage a file; say whether that could be done to it."""
    data = bytearray(file.read_bytes())
    if damage == "missing":
        file.unlink()
    elif damage == "empty":
        file.write_bytes(b"")
    elif damage == "cut":
        file.write_bytes(data[: len(data) // 2])
    elif damage == "flipped" and data:
        data[len(data) // 2] ^= 0x10
        file.write_bytes(data)
    elif damage == "swapped" and other and other.exists() and other.read_bytes() != data:
        shutil.copy(other, file)
    else:
        return False
    return True


def check_every_file(folder, other, load):
    """Damage each file in turn and load; then mend it."""
    tried = set()
    for file in files_in(folder):
        whole = file.read_bytes()
        for damage in DAMAGE:
            if not whole and damage in ("empty", "cut"):
                continue
            if damaged(file, damage, other / file.relative_to(folder)):
                tried.add(damage)
                with pytest.raises(OntolinkError) as caught:
                    load(folder)
                # A manifest that is whole but another one's names the first file that is not as it says.
                named = folder if damage == "swapped" and file.name in ("manifest.json", "kb.json") else file
                assert str(named) in str(caught.value), damage
                assert REMEDY in str(caught.value)
                file.write_bytes(whole)
    assert tried == set(DAMAGE)
    load(folder)


@pytest.mark.parametrize("kind", KINDS)
def test_every_file_of_a_space(saved, copied, kind):
    copy, other = copied(kind), saved(kind, "others")
    component = spacy.load(copy).get_pipe("ontolink_retriever")
    check_every_file(copy / "ontolink_retriever", other / "ontolink_retriever", component.from_disk)


def test_every_file_of_a_knowledge_base(saved, copied):
    inner = "ontolink_retriever/space/kb"
    check_every_file(copied() / inner, saved("default", "others") / inner, KnowledgeBase.from_disk)


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped"])
def test_files_that_spacy_wrote(copied, damage):
    """spaCy has no checksums: what it can still read it takes, and a config may be edited. No traceback is left."""
    copy = copied()
    for file in files_in(copy):
        whole = file.read_bytes()
        if "space" in file.parts or not damaged(file, damage):
            continue
        try:
            load_pipeline(str(copy))
        except OntolinkError as error:
            assert str(file.with_suffix("")) in str(error)
            assert REMEDY in str(error)
        else:
            assert damage == "flipped" or file.name == "patterns.jsonl"
        file.write_bytes(whole)


@pytest.mark.parametrize("wrong", ["refrmulator = null", 'encoder = "no.such.v1"', "k = many"])
def test_a_config_with_a_wrong_setting(copied, wrong):
    """Wherever a letter of it is another one: the block is named, and the way out."""
    config = copied() / "config.cfg"
    text = config.read_text("utf-8")
    block = "[components.ontolink_retriever]\n"
    assert block in text
    config.write_text(text.replace(block, f"{block}{wrong}\n"), "utf-8")
    with pytest.raises(OntolinkError, match=re.escape(str(config))) as caught:
        load_pipeline(str(config.parent))
    assert REMEDY in str(caught.value)


@pytest.mark.parametrize(
    "name", ["tokenizer", "config.cfg", "meta.json", "vocab/strings.json", "entity_ruler/patterns.jsonl"]
)
def test_files_that_spacy_misses(copied, name):
    copy = copied()
    (copy / name).unlink()
    with pytest.raises(OntolinkError, match=name) as caught:
        load_pipeline(str(copy))
    assert REMEDY in str(caught.value)


# Files that are too large to be read whole whenever they are opened


@pytest.fixture
def large(monkeypatch):
    """Let the files of the toy count as large: samples of eight bytes are looked at, 64 of them."""
    monkeypatch.setattr(checksums, "ALWAYS", 2000)
    monkeypatch.setattr(checksums, "IN_ALL", 4000)
    monkeypatch.setattr(checksums, "SAMPLE", 8)


@pytest.fixture
def space(large, copied, tmp_path):
    """A space saved with samples."""
    loaded = spacy.load(copied()).get_pipe("ontolink_retriever")
    loaded.space.to_disk(tmp_path / "large")
    return tmp_path / "large"


ROWS = "rows.safetensors"


def rows_of_another(space):
    """Rows of the right size and form with other numbers."""
    file = space / ROWS
    data = bytearray(file.read_bytes())
    data[len(data) // 2 :] = bytes(byte ^ 1 for byte in data[len(data) // 2 :])
    file.write_bytes(data)


def one_bit_between_samples(space):
    file = space / ROWS
    data = bytearray(file.read_bytes())
    step = (len(data) - 8) / 63
    data[int(10 * step) + 9] ^= 1
    file.write_bytes(data)


def test_other_content_of_the_same_size_shows_in_samples(space):
    assert (space / ROWS).stat().st_size > 2000
    manifest.read_manifest(space)
    rows_of_another(space)
    with pytest.raises(StateError, match=ROWS):
        manifest.read_manifest(space)


def test_a_single_bit_is_found_when_everything_is_verified(space, ontolink):
    assert "files verified" in ontolink("info", space / "kb", "--verify").out
    one_bit_between_samples(space)
    manifest.read_manifest(space)  # the price of opening fast
    with pytest.raises(StateError, match=ROWS):
        manifest.read_manifest(space, whole=True)


def test_a_pipeline_is_verified_as_one(large, copied, ontolink):
    copy = copied()
    assert "files verified" in ontolink("info", copy, "--verify").out
    file = copy / "ontolink_retriever" / "space" / "kb" / "names.arrow"
    damaged(file, "flipped")
    found = ontolink("info", copy, "--verify")
    assert (found.code, str(file) in found.err) == (2, True)


def test_what_has_no_checksums_cannot_be_verified(files, ontolink):
    found = ontolink("info", files / "signs.obo", "--verify")
    assert (found.code, "no checksums" in found.err) == (2, True)


def test_samples_hold_both_ends(tmp_path, large):
    file = tmp_path / "file"
    file.write_bytes(bytes(5000))
    before = checksums.sampled(file)
    for place in (0, 7, 4992, 4999):
        file.write_bytes(bytes(place) + b"x" + bytes(4999 - place))
        assert checksums.sampled(file) != before
