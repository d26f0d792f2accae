import gzip
import logging
from pathlib import Path

import pytest

from spacy_ontolink.errors import OntologyError
from spacy_ontolink.kb.readers import make_ontology_reader, read_ontology
from spacy_ontolink.types import Reader

TOY = "[Term]\nid: T:1\nname: milk yield\nis_a: T:3\n\n[Term]\nid: T:3\nname: yield trait\n"
OTHER = '{"id": "X:9", "name": "breast feeding", "parents": ["T:3"]}\nbroken\n'


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    toy, other = tmp_path / "toy.obo.gz", tmp_path / "other.jsonl"
    toy.write_bytes(gzip.compress(TOY.encode(), mtime=0))
    other.write_text(OTHER, "utf-8")
    return [str(toy), str(other)]


def test_files_are_merged_in_their_order(files):
    kb = read_ontology(files)
    assert list(kb) == ["T:1", "T:3", "X:9"]
    assert kb.name == "toy+other"
    assert kb.children("T:3") == ["T:1", "X:9"]


def test_problems_are_logged_once_per_file(files, caplog):
    with caplog.at_level(logging.WARNING, "spacy_ontolink"):
        read_ontology(files)
    (message,) = caplog.messages
    assert "other.jsonl: 1 problem(s)" in message
    assert "line 2: not JSON" in message


def test_problems_between_entities_are_logged_with_the_file(files, tmp_path, caplog):
    path = tmp_path / "dangling.obo"
    path.write_text(TOY + "is_a: T:99\ncolour: blue\n", "utf-8")
    with caplog.at_level(logging.WARNING, "spacy_ontolink"):
        read_ontology(path)
    (message,) = caplog.messages
    assert "dangling.obo: 2 problem(s)" in message
    with pytest.raises(OntologyError, match="dangling"):
        read_ontology(path, strict=True)


def test_the_content_hash_does_not_depend_on_packing(files, tmp_path):
    path = tmp_path / "plain.obo"
    path.write_text(TOY, "utf-8")
    assert read_ontology(path).hash == read_ontology(files[0]).hash


def test_a_reader_opens_nothing_before_it_is_called(files):
    reader = make_ontology_reader("not/there.obo")
    assert isinstance(reader, Reader)
    assert reader.paths == (Path("not/there.obo"),)
    with pytest.raises(OntologyError, match="No such file"):
        reader()
    assert len(make_ontology_reader(files)()) == 3


def test_a_reader_refuses_no_files_and_unknown_formats():
    with pytest.raises(OntologyError, match="name at least one"):
        make_ontology_reader([])
    with pytest.raises(OntologyError, match="no format 'xlsx'"):
        make_ontology_reader("a.xlsx", format="xlsx")


def test_mostly_nameless_files_are_refused(tmp_path):
    path = tmp_path / "nameless.obo"
    path.write_text("[Term]\nid: T:1\n\n[Term]\nid: T:2\nname:\n\n[Term]\nid: T:3\nname: T:3\n", "utf-8")
    with pytest.raises(OntologyError, match=r"nameless\.obo"):
        read_ontology(path)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_tables_are_read_as_spreadsheets_write_them(tmp_path, encoding):
    path = tmp_path / "terms.txt"
    path.write_bytes("id\tname\tparents\r\nT:1\tmélange\r\nT:2\tlait\tT:1\r\n".encode(encoding))
    kb = read_ontology(path, strict=True)
    assert kb["T:1"].name == "mélange" and kb.parents("T:2") == ["T:1"]
