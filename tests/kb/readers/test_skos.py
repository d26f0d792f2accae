import gzip
import sys

import pytest

from spacy_ontolink.errors import MissingExtraError, OntologyError
from spacy_ontolink.kb.readers import read_entities
from spacy_ontolink.kb.readers.report import ReadReport
from spacy_ontolink.kb.readers.skos import read_skos
from spacy_ontolink.types import Entity, Synonym

XML = """<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:skos="http://www.w3.org/2004/02/skos/core#"
  xmlns:owl="http://www.w3.org/2002/07/owl#" xmlns:dct="http://purl.org/dc/terms/"
  xmlns:xl="http://www.w3.org/2008/05/skos-xl#" xml:base="http://x.org/">
<skos:ConceptScheme rdf:about="scheme"><skos:prefLabel xml:lang="en">Thesaurus</skos:prefLabel></skos:ConceptScheme>
<skos:Concept rdf:about="http://x.org/milk">
  <skos:prefLabel xml:lang="fr">lait</skos:prefLabel>
  <skos:prefLabel xml:lang="en">milk</skos:prefLabel>
  <skos:altLabel xml:lang="en-GB">cow  juice</skos:altLabel>
  <skos:altLabel>lac</skos:altLabel>
  <skos:hiddenLabel xml:lang="en">mlik</skos:hiddenLabel>
  <skos:altLabel xml:lang="en"></skos:altLabel>
  <skos:scopeNote xml:lang="en">Any animal's.</skos:scopeNote>
  <skos:definition xml:lang="en">What mammals give.</skos:definition>
  <skos:notation>M1</skos:notation>
  <skos:broader rdf:resource="food"/>
  <skos:related rdf:resource="cow"/>
  <skos:exactMatch rdf:resource="http://purl.obolibrary.org/obo/FOODON_1"/>
</skos:Concept>
<rdf:Description rdf:about="http://x.org/food"><rdf:type rdf:resource="http://www.w3.org/2004/02/skos/core#Concept"/>
  <skos:prefLabel xml:lang="en">food</skos:prefLabel>
  <skos:narrower><skos:Concept rdf:about="http://x.org/cheese" skos:prefLabel="cheese"/></skos:narrower>
</rdf:Description>
<skos:Concept rdf:about="http://x.org/whey"><owl:deprecated>true</owl:deprecated>
  <skos:prefLabel xml:lang="en">whey</skos:prefLabel><dct:isReplacedBy rdf:resource="milk"/></skos:Concept>
<skos:Concept rdf:about="http://x.org/kefir"><xl:prefLabel rdf:resource="label"/></skos:Concept>
<xl:Label rdf:about="label"><xl:literalForm xml:lang="en">kefir</xl:literalForm></xl:Label>
<skos:Concept rdf:about="http://x.org/fromage"><skos:prefLabel xml:lang="fr">fromage</skos:prefLabel></skos:Concept>
</rdf:RDF>
"""
TURTLE = """# a thesaurus
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix dct: <http://purl.org/dc/terms/> .
@prefix xl: <http://www.w3.org/2008/05/skos-xl#> .
@base <http://x.org/> .
<scheme> a skos:ConceptScheme ; skos:prefLabel "Thesaurus"@en .
<milk> a skos:Concept ; skos:prefLabel "lait"@fr, "milk"@en ; skos:altLabel "cow  juice"@en-GB, "lac", ""@en ;
  skos:hiddenLabel "mlik"@en ; skos:scopeNote "Any animal's."@en ; skos:definition "What mammals give."@en ;
  skos:notation "M1" ; skos:broader <food> ; skos:related <cow> ;
  skos:exactMatch <http://purl.obolibrary.org/obo/FOODON_1> .
<food> a skos:Concept ; skos:prefLabel "food"@en ; skos:narrower <cheese> .
<cheese> a skos:Concept ; skos:prefLabel "cheese" .
<whey> a skos:Concept ; owl:deprecated true ; skos:prefLabel "whey"@en ; dct:isReplacedBy <milk> .
<kefir> a skos:Concept ; xl:prefLabel [ xl:literalForm "kefir"@en ] .
<fromage> a skos:Concept ; skos:prefLabel "fromage"@fr .
"""
MILK = Entity(
    "http://x.org/milk",
    "milk",
    (Synonym("cow juice", "EXACT"), Synonym("lac", "EXACT"), Synonym("mlik", "RELATED")),
    definition="What mammals give.",
    parents=("http://x.org/food",),
    alt_ids=("M1",),
    xrefs=("FOODON:1",),
)


@pytest.fixture
def write(tmp_path):
    def write(text, name="t.rdf"):
        if name.endswith((".ttl", ".nt")):
            pytest.importorskip("pyoxigraph", reason="Turtle needs the extra 'rdf'")
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def entities(path, strict=False, **options):
    report = ReadReport(path, strict)
    return {entity.id.removeprefix("http://x.org/"): entity for entity in read_skos(path, report, **options)}, report


@pytest.mark.parametrize(("name", "text"), [("t.rdf", XML), ("t.ttl", TURTLE)])
def test_a_thesaurus_in_either_syntax(write, name, text):
    found, report = entities(write(text, name))
    assert found["milk"] == MILK
    assert list(found) == ["milk", "food", "cheese", "whey", "kefir", "fromage"]
    assert found["cheese"] == Entity("http://x.org/cheese", "cheese", parents=("http://x.org/food",))
    assert found["whey"] == Entity("http://x.org/whey", "whey", obsolete=True, replaced_by=("http://x.org/milk",))
    assert found["kefir"].name == "kefir"
    assert found["fromage"].name == ""  # nameless in English: the builder counts it
    assert report.counts == {"empty altLabel": 1}
    with pytest.raises(OntologyError, match="empty altLabel"):
        entities(write(text, name), strict=True)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(("name", "text"), [("t", XML), ("t.ttl", TURTLE)])
def test_told_from_content(write, tmp_path, name, text, packed):
    path = write(gzip.compress(text.encode(), mtime=0) if packed else text, name)
    assert next(read_entities(path, ReadReport(path))) == MILK


def test_n_triples(write):
    skos = "http://www.w3.org/2004/02/skos/core#"
    path = write(f'<http://x.org/a> <{skos}prefLabel> "b\\u00e9"@en .\n', "t.nt")
    assert list(read_entities(path, ReadReport(path))) == [Entity("http://x.org/a", "b\u00e9")]


def test_languages_in_order_of_preference(write):
    found, _ = entities(write(XML), languages=("fr", "en"))
    assert found["milk"].name == "lait"
    assert found["milk"].synonyms[:2] == (Synonym("milk", "EXACT", "en"), Synonym("lac", "EXACT"))
    assert found["fromage"].name == "fromage"


def test_all_languages(write):
    found, _ = entities(write(XML), languages=())
    assert found["milk"].name == "milk"
    assert Synonym("lait", "EXACT", "fr") in found["milk"].synonyms


def test_no_label_in_a_language_tells_which_there_are(write):
    text = XML.replace(' skos:prefLabel="cheese"', "").replace("<skos:altLabel>lac</skos:altLabel>", "")
    with pytest.raises(OntologyError, match="6 concepts, none with a label in de; labels are in: en, en-GB, fr"):
        entities(write(text), languages=("de",))


def test_statements_that_cannot_be_read_are_passed_over(write):
    broken = TURTLE.replace('"Thesaurus"@en', "zz:unknown") + '<a> skos:prefLabel "no end .\n'
    found, report = entities(write(broken, "t.ttl"))
    assert found["milk"] == MILK
    assert report.counts["statement that cannot be read"] >= 2
    assert report.first[0][0] == 7
    with pytest.raises(OntologyError, match="line 7: statement that cannot be read"):
        entities(write(broken, "t.ttl"), strict=True)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (XML.replace("</rdf:RDF>", ""), "SKOS .*line"),
        (XML[: XML.index("<skos:ConceptScheme")] + "</rdf:RDF>", "no concept in it"),
        (XML.replace('"?>', '"?><!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>', 1), "XML entity 'a'"),
    ],
)
def test_files_that_are_something_else(write, text, reason):
    with pytest.raises(OntologyError, match=reason):
        entities(write(text))


def test_turtle_that_is_no_turtle(write):
    with pytest.raises(OntologyError, match="statement that cannot be read"):
        entities(write("@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\nnothing at all", "t.ttl"))


def test_turtle_without_its_package(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyoxigraph", None)
    path = tmp_path / "t.ttl"
    path.write_text(TURTLE)
    with pytest.raises(MissingExtraError, match=r"spacy-ontolink\[rdf\]"):
        entities(path)


NUMBERED = "".join(f'ex:c{i} a skos:Concept ;\n  skos:prefLabel "Concept {i}"@en .\n' for i in range(60))
PREFIXES = "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n@prefix ex: <http://x.org/> .\n"


@pytest.mark.parametrize(
    ("right", "wrong", "line"),
    [
        ('"Concept 2"', '"Concept 2', 8),
        ('"Concept 2"', 'Concept 2"', 8),
        ('"Concept 2"', '"""Concept 2', 8),
        ('"Concept 2"', '"Concept 2 "a" b"@en, "c"', 8),
        ('"Concept 2"@en .', '"Concept 2"@en', 9),
        ("ex:c2 ", "<http://x.org/c2 ", 7),
        ('"Concept 2"', '"Concept \\q"', 8),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_mistake_in_turtle_takes_no_other_statement_with_it(write, right, wrong, line, end):
    assert right in NUMBERED
    text = (PREFIXES + NUMBERED.replace(right, wrong)).replace("\n", end)
    found, report = entities(write(text, "t.ttl"))
    names = {entity.name for entity in found.values()}
    assert names >= {f"Concept {i}" for i in range(60) if i != 2}
    assert report.first[0][0] == line
    assert set(report.counts) <= {"statement that cannot be read", "entity without a name"}


def test_lines_are_counted_on_after_a_mistake(write):
    text = NUMBERED
    for number in (2, 40, 41):
        text = text.replace(f' {number}"', f" {number}")
    _, report = entities(write(PREFIXES + text, "t.ttl"))
    assert [line for line, _, _ in report.first] == [8, 84, 86]
    assert not any("column" in detail for _, _, detail in report.first)


def test_a_text_without_end_in_a_large_file(write):
    many = "".join(f'ex:c{i} skos:prefLabel "Concept {i} {"x" * 1000}"@en .\n' for i in range(20_000))
    found, report = entities(write(PREFIXES + many.replace('"Concept 100 ', '"""Concept 100 '), "t.ttl"))
    assert len(found) == 19_999
    assert 1 <= report.counts["statement that cannot be read"] <= 4


def test_turtle_that_can_mostly_not_be_read(write):
    with pytest.raises(OntologyError, match="prefix ex: has not been declared"):
        entities(write(PREFIXES.replace("@prefix ex", "@prefix other") + NUMBERED, "t.ttl"))
