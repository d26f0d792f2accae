import gzip
import zipfile

import pytest

from spacy_ontolink.errors import OntologyError
from spacy_ontolink.kb.readers.sniff import sniff

OBO = b"format-version: 1.2\n\n[Term]\nid: T:1\nname: milk yield\n"
ROW = b'{"id": "T:1", "name": "milk yield"}\n'
OWL = b'<?xml version="1.0"?>\n<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"></rdf:RDF>'

SKOS_XML = OWL.replace(
    b"></rdf:RDF>", b' xmlns:skos="http://www.w3.org/2004/02/skos/core#"><skos:Concept rdf:about="x"/></rdf:RDF>'
)


@pytest.mark.parametrize(
    ("name", "data", "format"),
    [
        ("a.obo", OBO, "obo"),
        ("a.owl", OBO, "obo"),
        ("a.csv", b"format-version: 1.2\n\n[Term]\nid: T:1\n", "obo"),
        ("a", OBO, "obo"),
        ("a", b"\xef\xbb\xbf\r\n[Term]\r\nid: T:1\r\n", "obo"),
        ("a", b"! by hand\n[Term]\nid: T:1\n", "obo"),
        ("a.jsonl", ROW, "jsonl"),
        ("a.txt", ROW, "jsonl"),
        ("a.jsonl", b'{"id": "T:1", "definition": "' + b"x" * 100_000 + b'"}', "jsonl"),
        ("a.json", b'{\n  "graphs" : [ {} ]\n}', "obographs"),
        ("a", b'{"graphs": []}', "obographs"),
        ("a.owl", OWL, "owl"),
        ("a.xml", OWL, "owl"),
        ("a.csv", b"id;name\nT:1;milk yield\n", "table"),
        ("a.txt", b"id\tname\nT:1\tmilk yield\n", "table"),
        ("a", b"id,name\nT:1,milk yield\n", "table"),
        ("a.txt", "id\tname\nT:1\tmélange\n".encode("utf-16"), "table"),
        ("a.xml", b'<?xml version="1.0"?>\n<!DOCTYPE x>\n<DescriptorRecordSet LanguageCode="eng">', "mesh"),
        ("a", b"<SupplementalRecordSet/>", "mesh"),
        ("a.rdf", SKOS_XML, "skos"),
        ("a.owl", SKOS_XML.replace(b"<skos:Concept ", b"<owl:Class "), "owl"),
        ("a.ttl", b"# made\n@prefix s: <http://www.w3.org/2004/02/skos/core#> .\n", "skos"),
        ("a.nt", b'<urn:x> <http://www.w3.org/2004/02/skos/core#prefLabel> "x" .\n', "skos"),
        ("MRCONSO.RRF", b"C0000005|ENG|P|L0000005|PF|S0007492|Y|A26634265||M1|D1|MSH|PEP|D1|x|0|N|256|\n", "umls"),
        ("a.csv", "\ufeffid,name\nT:1,milk yield\n".encode("utf-16-be"), "table"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_formats_are_told_from_content_then_name(tmp_path, name, data, format, packed):
    path = tmp_path / (f"{name}.gz" if packed else name)
    path.write_bytes(gzip.compress(data, mtime=0) if packed else data)
    assert sniff(path) == format


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b" \n\n", "empty"),
        (gzip.compress(b"", mtime=0), "empty"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "PNG image"),
        (b"\x00\x01\x02", "binary"),
        (b"PK\x03\x04abc", "zip"),
        ("\ufeffid: T:1".encode("utf-16-le"), "UTF-16"),
        (ROW.decode().encode("utf-16"), "UTF-16"),
        ("\ufeff\n".encode("utf-16-be"), "empty"),
        (b"\xff\xfe\x00\x00\x01\x00", "binary"),
        (b"<!DOCTYPE html>\n<html>", "HTML page"),
        (b"\n<html><head>", "HTML page"),
        (b"<?xml version='1.0'?><!DOCTYPE html PUBLIC 'x'><html>", "HTML page"),
        (b"@prefix owl: <http://www.w3.org/2002/07/owl#> .", "Turtle"),
        (b"# made\n<http://x.org/a> <http://x.org/b> <http://x.org/c> .", "N-Triples, but not SKOS"),
        (gzip.compress(OBO * 100, mtime=0)[:40], "cannot be read"),
    ],
)
@pytest.mark.parametrize("format", [None, "obo"])
def test_what_is_no_ontology_is_one_clear_error(tmp_path, data, reason, format):
    path = tmp_path / "a.obo"
    path.write_bytes(data)
    with pytest.raises(OntologyError, match=reason) as caught:
        sniff(path, format)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("data", [b"<svg></svg>", b"[1, 2]", b"once upon a time", b'{"a":\n 1}'])
def test_unknown_text_is_refused_with_the_formats_there_are(tmp_path, data):
    path = tmp_path / "a"
    path.write_bytes(data)
    with pytest.raises(OntologyError, match="Give one of: obo, obographs, owl, table, jsonl"):
        sniff(path)


def test_missing_files_folders_and_unknown_formats_are_refused(tmp_path):
    with pytest.raises(OntologyError, match="No such file"):
        sniff(tmp_path / "none.obo")
    with pytest.raises(OntologyError, match="folder"):
        sniff(tmp_path)
    with pytest.raises(OntologyError, match="no format 'xlsx'"):
        sniff(tmp_path, "xlsx")


def test_turtle_is_skos_where_the_user_says_so(tmp_path):
    path = tmp_path / "a.ttl"
    path.write_bytes(b"# " * 10_000 + b"\n@prefix x: <http://x.org/> .\n")
    assert sniff(path, "skos") == "skos"
    path.write_bytes(b"# " * 10_000 + b"\nid,name\n")  # comments that no pattern may get lost in
    assert sniff(path, "table") == "table"


@pytest.mark.parametrize(
    ("names", "format"),
    [
        (["META/MRCONSO.RRF", "META/MRREL.RRF"], "umls"),
        (["MRCONSO.RRF.gz"], "umls"),
        (["Snapshot/Terminology/sct2_Concept_Snapshot_INT_20260101.txt", "README.txt"], "snomed"),
        (["Snapshot/Terminology/xsct2_Concept_Snapshot_INT_20260101.txt"], "snomed"),
        (["Snapshot/Terminology/sct2_Concept_UKCLSnapshot_1000000_20260101.txt"], "snomed"),
        (["desc2026.xml"], "mesh"),
    ],
)
@pytest.mark.parametrize("archived", [False, True])
def test_releases_are_told_from_the_names_of_their_files(tmp_path, names, format, archived):
    path = tmp_path / ("release.zip" if archived else "release")
    for name in names:
        if archived:
            with zipfile.ZipFile(path, "a") as archive:
                archive.writestr(name, "")
        else:
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_text("")
    assert sniff(path) == sniff(path, format) == format
    with pytest.raises(OntologyError, match=f"it holds a release in the format '{format}'"):
        sniff(path, "obo")


@pytest.mark.parametrize(
    "names", [["a.obo"], ["desc2026.xml", "other.txt"], ["Full/sct2_Concept_Full_INT_20260101.txt"]]
)
def test_folders_and_archives_of_other_things_are_refused(tmp_path, names):
    for name in names:
        (tmp_path / "folder" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "folder" / name).write_text("")
        with zipfile.ZipFile(tmp_path / "archive.zip", "a") as archive:
            archive.writestr(name, "")
    with pytest.raises(OntologyError, match="it is a folder"):
        sniff(tmp_path / "folder")
    with pytest.raises(OntologyError, match="zip archive or Office document"):
        sniff(tmp_path / "archive.zip")
