"""Hard inputs through the front door: whatever the reader inside, the behaviour is the same."""

import gzip
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spacy_ontolink.errors import OntolinkError, OntologyError
from spacy_ontolink.kb.readers import ReadReport, read_entities

FORMATS = ("obo", "obographs", "owl", "table", "jsonl")
OBO = "format-version: 1.2\n\n[Term]\nid: T:1\nname: fat yield\n"
RDF = (
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:owl="http://www.w3.org/2002/07/owl#" '
    'xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#" xmlns:oio="http://www.geneontology.org/formats/oboInOwl#">'
)


def read(path, format=None, columns=None, strict=False):
    report = ReadReport(path, strict)
    return list(read_entities(path, report=report, format=format, columns=columns)), report


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


# One clear error


@pytest.mark.parametrize("format", [None, *FORMATS])
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n \n",
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        b"<!DOCTYPE html><html><body>Not found</body></html>",
        b"\x1f\x8b",
        gzip.compress(OBO.encode() * 50, mtime=0)[:-20],
        OBO.encode("utf-16"),
        b"{" * 100_000,
        b"\xff" * 5000,
        b"just some words\n",
    ],
    ids=lambda content: repr(content[:12]),
)
def test_wrong_files_give_one_clear_error(tmp_path, content, format):
    path = write(tmp_path, "file.bin", content)
    with pytest.raises(OntolinkError) as caught:
        read(path, format)
    assert isinstance(caught.value, OntologyError)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("suffix", ["obo", "json", "owl", "csv", "tsv", "jsonl"])
def test_wrong_content_under_a_right_name(tmp_path, suffix):
    for content in (b"", b"\x89PNG\r\n\x1a\n\0\0", b"<html><p>404</p></html>"):
        with pytest.raises(OntologyError, match=f"x.{suffix}"):
            read(write(tmp_path, f"x.{suffix}", content))


def test_missing_file_and_folder(tmp_path):
    for path in (tmp_path / "no.obo", tmp_path):
        with pytest.raises(OntologyError, match=path.name):
            read(path)


# XML that is not to be trusted


@pytest.mark.parametrize(
    "doctype",
    [
        '<!DOCTYPE r [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;">]>',
        f'<!DOCTYPE r [<!ENTITY c "{"ha" * 20_000}">]>',
        '<!DOCTYPE r [<!ENTITY c SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE r [<!ENTITY % p SYSTEM "http://127.0.0.1:9/x.dtd"> %p; <!ENTITY c "x">]>',
    ],
    ids=["nested", "long", "external", "parameter"],
)
def test_entity_bombs_are_refused(tmp_path, doctype):
    body = '<owl:Class rdf:about="http://x.org/T_1"><rdfs:label>&c;</rdfs:label></owl:Class></rdf:RDF>'
    with pytest.raises(OntologyError):
        read(write(tmp_path, "bomb.owl", f"<?xml version='1.0'?>{doctype}{RDF}{body}"))


def test_entity_hidden_by_comments_and_an_encoding(tmp_path):
    bomb = '<!DOCTYPE r [<!-- ]><rdf:RDF --><!ENTITY x "<!--"><!ENTITY a SYSTEM "file:///etc/passwd">]>'
    body = '<owl:Class rdf:about="http://x.org/T_1"><rdfs:label>&a;</rdfs:label></owl:Class></rdf:RDF>'
    padded = f"<?xml version='1.0'?><!-- {'x' * 200_000} -->{bomb}{RDF}{body}"
    for content in (padded.encode(), padded.encode("utf-16")):
        with pytest.raises(OntologyError):
            read(write(tmp_path, "bomb.owl", content), "owl")


def test_namespaces_written_as_entities_are_read(tmp_path):
    doctype = '<!DOCTYPE rdf:RDF [<!ENTITY obo "http://purl.obolibrary.org/obo/">]>'
    body = '<owl:Class rdf:about="&obo;T_1"><rdfs:label>fat yield</rdfs:label></owl:Class></rdf:RDF>'
    entities, _ = read(write(tmp_path, "old.owl", f"<?xml version='1.0'?>{doctype}{RDF}{body}"))
    assert [(entity.id, entity.name) for entity in entities] == [("T:1", "fat yield")]


def test_imports_and_doctypes_are_not_fetched(tmp_path):
    doctype = '<!DOCTYPE rdf:RDF SYSTEM "http://127.0.0.1:9/none.dtd">'
    body = '<owl:Ontology><owl:imports rdf:resource="http://127.0.0.1:9/none.owl"/></owl:Ontology>'
    body += (
        '<owl:Class rdf:about="http://purl.obolibrary.org/obo/T_1"><rdfs:label>fat</rdfs:label></owl:Class></rdf:RDF>'
    )
    entities, _ = read(write(tmp_path, "import.owl", f"<?xml version='1.0'?>{doctype}{RDF}{body}"))
    assert [entity.id for entity in entities] == ["T:1"]


def test_truncated_xml_and_json_are_refused(tmp_path):
    cut = RDF + '<owl:Class rdf:about="http://x.org/T_1"><rdfs:label>fat</rdfs:label></owl:Class>'
    with pytest.raises(OntologyError):
        read(write(tmp_path, "cut.owl", cut))
    with pytest.raises(OntologyError):
        read(write(tmp_path, "cut.json", '{"graphs": [{"nodes": [{"id": "http://x.org/T_1", "lbl": "fat"}'))


# OBO


def test_definition_filed_as_a_synonym_is_no_name(tmp_path):
    text = "The proportion of one thing in another thing that somebody measured on a given day."
    path = write(tmp_path, "x.obo", f'{OBO}synonym: "{text}" EXACT [X:1]\nsynonym: "FY" EXACT []\n')
    (entity,), report = read(path)
    assert [synonym.text for synonym in entity.synonyms] == ["FY"]
    assert entity.definition == text
    assert report.counts.total() == 1


@pytest.mark.parametrize(
    ("clause", "texts"),
    [
        ('synonym: "a \\"quoted\\" word" EXACT []', ['a "quoted" word']),
        ('synonym: "a "quoted" word" EXACT []', ['a "quoted" word']),
        ('synonym: "x" EXACT own_type [A:1 "b, c]", D:2] {q="}\\"!"} ! note', ["x"]),
        ('synonym: "no scope" []', ["no scope"]),
        ('synonym: "a\\, b\\: c" NARROW []', ["a, b: c"]),
        ('exact_synonym: "old style" []', ["old style"]),
        ("synonym:", []),
    ],
)
def test_synonym_clauses(tmp_path, clause, texts):
    (entity,), _ = read(write(tmp_path, "x.obo", f"{OBO}{clause}\n"))
    assert [synonym.text for synonym in entity.synonyms] == texts
    assert entity.name == "fat yield"


@pytest.mark.parametrize(
    ("clause", "value"),
    [
        ("name: fat\\, crude ! comment", "fat, crude"),
        ('name: fat {source="a ! {b}"} ! comment', "fat"),
        ("name: {fat} in braces", "{fat} in braces"),
        ("name: wow! fat", "wow! fat"),
        ("name:fat", "fat"),
        ("name: fat\u00a0", "fat"),
    ],
)
def test_name_clauses(tmp_path, clause, value):
    (entity,), _ = read(write(tmp_path, "x.obo", f"[Term]\nid: T:1 ! c\n{clause}\n"))
    assert (entity.id, entity.name) == ("T:1", value)


def test_strict_names_file_line_and_reason(tmp_path):
    path = write(tmp_path, "x.obo", f"{OBO}xref: one two three\n")
    with pytest.raises(OntologyError, match=r"x\.obo, line 6: .*xref"):
        read(path, strict=True)
    _, report = read(path)
    assert report.counts.total() == 1
    assert "line 6" in report.summary()


def test_hostile_lines_take_linear_time(tmp_path):
    n = 200_000
    bad = ["name: " + "{a=\"" * n + "}", "name: x" + " " * n + "}", 'synonym: "' + "\\" * n, "is_a: T:2 " + "{}" * n,
           'synonym: "' + '" EXACT' * n, 'def: "' + '"' * n, "xref: " + "a " * n, "name: " + " !" * n]  # fmt: skip
    path = write(tmp_path, "x.obo", OBO + "\n".join(bad) + "\n")
    start = time.process_time()
    read(path)
    assert time.process_time() - start < 20  # quadratic time would be hours


# Tables


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_cells_never_shift(tmp_path, delimiter):
    rows = [
        ["id", "name", "synonyms", "definition"],
        ["T:1", '"fat\nyield"', "FY|yield of fat", f'"a{delimiter} b"'],
        ["T:2", "too", "few"],
        ["T:3", "one", "too", "many", "cells"],
        ["", "no id", "", ""],
        ["T:4", "milk", "", ""],
        ["T:5"],
    ]
    path = write(tmp_path, "x.csv", "\n".join(delimiter.join(row) for row in rows))
    entities, report = read(path)
    found = {
        entity.id: (" ".join(entity.name.split()), tuple(s.text for s in entity.synonyms), entity.definition)
        for entity in entities
    }
    assert found.pop("T:1") == ("fat yield", ("FY", "yield of fat"), f"a{delimiter} b")
    assert found.pop("T:2") == ("too", ("few",), "")
    assert found.pop("T:4") == ("milk", (), "")
    assert not found
    assert report.counts.total() == 3


def test_header_is_required_or_the_columns(tmp_path):
    path = write(tmp_path, "x.csv", "T:1,fat yield\nT:2,milk yield\n")
    with pytest.raises(OntologyError, match="id"):
        read(path)
    with pytest.raises(OntologyError, match="Concept"):
        read(path, columns={"id": "Concept", "name": "Label"})


def test_columns_by_number_without_a_header(tmp_path):
    path = write(tmp_path, "x.tsv", "fat yield\tT:1\nmilk yield\tT:2\n")
    entities, _ = read(path, columns={"id": "2", "name": "1"})
    assert [(entity.id, entity.name) for entity in entities] == [("T:1", "fat yield"), ("T:2", "milk yield")]


# JSON


@pytest.mark.parametrize("field", ["id", "name", "synonyms", "parents", "obsolete", "x", "graphs", "meta"])
def test_deep_json_is_a_problem_of_its_line(tmp_path, field):
    deep = [f'{{"{field}": {"[" * depth}{"]" * depth}, "definition": "d"}}' for depth in range(800, 1000, 7)]
    path = write(tmp_path, "x.jsonl", "\n".join([*deep, '{"id": "T:1", "name": "fat yield"}']))
    entities, report = read(path, "jsonl")
    assert [entity.id for entity in entities] == ["T:1"]
    assert report.counts.total() >= len(deep)


@pytest.mark.parametrize("depth", [*range(800, 1000, 7)])
def test_deep_graphs_are_refused_or_reported(tmp_path, depth):
    deep = "[" * depth + "]" * depth
    node = f'{{"id": {deep}, "lbl": {deep}, "meta": {{"synonyms": [{deep}], "definition": {deep}}}}}'
    good = '{"id": "http://purl.obolibrary.org/obo/T_1", "lbl": "fat yield"}'
    path = write(tmp_path, "x.json", f'{{"graphs": [{{"nodes": [{node}, {good}], "edges": [{deep}]}}]}}')
    try:
        entities, report = read(path)
    except OntologyError:
        return
    assert "fat yield" in [entity.name for entity in entities]
    report.summary()


# Anything at all

lines = st.sampled_from(
    ["[Term]", "[Typedef]", "[Term", "id: T:1", "id:", "name: a", "name: b ! c", 'synonym: "x" EXACT []', "is_a: T:2",
     'def: "d" []', "xref: A:1", "replaced_by: false", "is_obsolete: true", "", "! remark", "synonym", '{"id": "T:1"}',
     '{"id": "T:2", "name": "b", "synonyms": ["c", {"text": "d", "scope": "EXACT"}, 1, null, {}]}', '{"id": [1]}',
     '{"concept_id": "C1", "canonical_name": "n", "aliases": "x"}', "[]", "null",
     '{"id": "\\ud83d", "name": "\\ud83d"}']
)  # fmt: skip


@st.composite
def mutated(draw):
    text = "\n".join(draw(st.lists(lines, max_size=12))).encode()
    for _ in range(draw(st.integers(0, 4))):
        place = draw(st.integers(0, len(text)))
        text = text[:place] + draw(st.binary(max_size=3)) + text[place + draw(st.integers(0, 3)) :]
    return text


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.one_of(st.binary(max_size=300), mutated()), format=st.sampled_from([None, *FORMATS]))
def test_only_ontology_errors_escape(tmp_path, content, format):
    for strict in (False, True):
        try:
            entities, report = read(write(tmp_path, "x", content), format, strict=strict)
        except OntologyError:
            continue
        assert all(isinstance(entity.id, str) for entity in entities)
        report.summary().encode()
        for entity in entities:
            for text in (entity.id, entity.name, entity.definition, *(synonym.text for synonym in entity.synonyms)):
                text.encode()


# Real files


def test_every_real_file_loads(shared_data):
    files = [file for file in sorted((shared_data / "ontologies").rglob("*.*")) if file.is_file()]
    assert files
    for file in files:
        entities, _ = read(file)
        assert sum(bool(entity.name) for entity in entities) > 100, file


@pytest.mark.parametrize(
    ("first", "others"), [("odd/general_cell_types_upper_slim.obo", ("json", "owl")), ("lpt.obo", ("owl",))]
)
def test_one_ontology_in_several_formats(shared_data, first, others):
    def names(path):
        live = [entity for entity in read(path)[0] if entity.name and not entity.obsolete]
        return {
            entity.id: (entity.name, {(s.text, s.scope) for s in entity.synonyms}, set(entity.parents))
            for entity in live
        }

    path = shared_data / "ontologies" / first
    expected = names(path)
    assert len(expected) > 400
    for suffix in others:
        assert names(path.with_suffix(f".{suffix}")) == expected


def test_quirks_of_real_files(shared_data):
    folder = shared_data / "ontologies"
    vt = {entity.id: entity for entity in read(folder / "vt.obo")[0]}
    assert len(vt["VT:0011295"].synonyms) == 1
    assert vt["VT:0011295"].definition
    cmo = {entity.id: entity for entity in read(folder / "cmo.obo")[0]}
    assert cmo["CMO:0004106"].name == cmo["CMO:0004106"].name.strip()
    assert cmo["CMO:0003309"].parents == ()
    hp = {entity.id: entity for entity in read(folder / "hp.obo.gz")[0]}
    assert len(hp["HP:0000535"].consider) == 2
