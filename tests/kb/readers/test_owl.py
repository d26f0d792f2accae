import gzip
import os
from pathlib import Path

import pytest

from spacy_ontolink.errors import OntologyError
from spacy_ontolink.kb.readers import read_ontology
from spacy_ontolink.kb.readers.iris import compact, compact_reference, short_name
from spacy_ontolink.kb.readers.owl import read_owl
from spacy_ontolink.kb.readers.report import ReadReport
from spacy_ontolink.text import normalise
from spacy_ontolink.types import Entity, Synonym

OBO = "http://purl.obolibrary.org/obo/"
HEAD = """<?xml version="1.0"?>{doctype}
<rdf:RDF xmlns="http://example.org/t#" xml:base="http://example.org/t"
  xmlns:obo="http://purl.obolibrary.org/obo/" xmlns:owl="http://www.w3.org/2002/07/owl#"
  xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#"
  xmlns:skos="http://www.w3.org/2004/02/skos/core#" xmlns:oio="http://www.geneontology.org/formats/oboInOwl#">
"""


@pytest.fixture
def read(tmp_path):
    def read(body: str, doctype: str = "", strict: bool = False) -> dict[str, Entity]:
        path = tmp_path / "t.owl"
        path.write_text(HEAD.replace("{doctype}", doctype) + body + "</rdf:RDF>", encoding="utf-8")
        entities = list(read_owl(path, ReadReport(path, strict)))
        assert len({entity.id for entity in entities}) == len(entities)
        return {entity.id: entity for entity in entities}

    return read


def test_everything_said_about_a_class(read):
    entities = read(f"""
    <owl:Ontology rdf:about="{OBO}t.owl"><owl:imports rdf:resource="http://example.invalid/other.owl"/></owl:Ontology>
    <owl:ObjectProperty rdf:about="{OBO}RO_1"><rdfs:label>part of</rdfs:label></owl:ObjectProperty>
    <owl:Class rdf:about="{OBO}T_1">
      <rdfs:subClassOf rdf:resource="{OBO}T_0"/>
      <rdfs:subClassOf><owl:Restriction><owl:onProperty rdf:resource="{OBO}RO_1"/>
        <owl:someValuesFrom rdf:resource="{OBO}T_9"/></owl:Restriction></rdfs:subClassOf>
      <rdfs:subClassOf rdf:resource="http://www.w3.org/2002/07/owl#Thing"/>
      <owl:equivalentClass><owl:Class><owl:intersectionOf rdf:parseType="Collection">
        <rdf:Description rdf:about="{OBO}T_9"/></owl:intersectionOf></owl:Class></owl:equivalentClass>
      <obo:IAO_0000115>Share of
        fat.</obo:IAO_0000115>
      <rdfs:label xml:lang="de">Fettanteil</rdfs:label>
      <rdfs:label xml:lang="en">fat percentage</rdfs:label>
      <skos:prefLabel>fat percentage</skos:prefLabel>
      <skos:altLabel xml:lang="fr">taux de graisse</skos:altLabel>
      <oio:hasExactSynonym>BF</oio:hasExactSynonym>
      <oio:hasNarrowSynonym>back fat</oio:hasNarrowSynonym>
      <oio:hasBroadSynonym>fat</oio:hasBroadSynonym>
      <oio:hasRelatedSynonym>fatness</oio:hasRelatedSynonym>
      <oio:hasAlternativeId>T:10</oio:hasAlternativeId>
      <oio:hasDbXref>X:1</oio:hasDbXref>
      <oio:hasOBONamespace>traits</oio:hasOBONamespace>
      <oio:inSubset rdf:resource="{OBO}t#slim"/>
    </owl:Class>
    <owl:Axiom>
      <owl:annotatedSource rdf:resource="{OBO}T_1"/>
      <owl:annotatedProperty rdf:resource="http://www.geneontology.org/formats/oboInOwl#hasExactSynonym"/>
      <owl:annotatedTarget>BF</owl:annotatedTarget>
      <oio:hasSynonymType rdf:resource="{OBO}OMO_0003000"/>
    </owl:Axiom>""")
    assert entities == {
        "T:1": Entity(
            "T:1",
            "fat percentage",
            (
                Synonym("Fettanteil", "EXACT", "de"),
                Synonym("taux de graisse", "EXACT", "fr"),
                Synonym("BF", "EXACT", "OMO:0003000"),
                Synonym("back fat", "NARROW"),
                Synonym("fat", "BROAD"),
                Synonym("fatness", "RELATED"),
            ),
            definition="Share of fat.",
            parents=("T:0",),
            alt_ids=("T:10",),
            xrefs=("X:1",),
            namespace="traits",
            types=("slim",),
        )
    }


def test_obsolete_classes(read):
    entities = read(f"""
    <owl:Class rdf:about="{OBO}T_2"><rdfs:label>obsolete a</rdfs:label>
      <obo:IAO_0100001 rdf:resource="{OBO}T_1"/><owl:deprecated>true</owl:deprecated></owl:Class>
    <owl:Class rdf:about="{OBO}T_3"><rdfs:label>b</rdfs:label><obo:IAO_0100001>T_1</obo:IAO_0100001>
      <oio:consider>T:4</oio:consider><owl:deprecated>1</owl:deprecated></owl:Class>
    <owl:Class rdf:about="{OBO}T_4"><rdfs:label>c</rdfs:label><owl:deprecated>false</owl:deprecated></owl:Class>""")
    assert [entities[id].obsolete for id in ("T:2", "T:3", "T:4")] == [True, True, False]
    assert entities["T:2"].replaced_by == entities["T:3"].replaced_by == ("T:1",)
    assert entities["T:3"].consider == ("T:4",)


def test_a_class_described_in_several_places(read):
    entities = read(f"""
    <rdf:Description rdf:about="{OBO}T_1"><rdfs:label>one</rdfs:label></rdf:Description>
    <rdf:Description rdf:about="{OBO}T_2"><rdfs:label>two</rdfs:label>
      <rdf:type rdf:resource="http://www.w3.org/2002/07/owl#Class"/></rdf:Description>
    <rdf:Description rdf:about="{OBO}I_1"><rdfs:label>an individual</rdfs:label></rdf:Description>
    <owl:Class rdf:about="{OBO}T_1"/>
    <rdf:Description rdf:about="{OBO}T_1"><oio:hasExactSynonym>uno</oio:hasExactSynonym></rdf:Description>""")
    assert entities["T:1"] == Entity("T:1", "one", (Synonym("uno", "EXACT"),))
    assert set(entities) == {"T:1", "T:2"}


def test_named_classes_written_inside_others(read):
    entities = read("""<owl:Class rdf:ID="B"><rdfs:label>b</rdfs:label>
      <rdfs:subClassOf><owl:Class rdf:about="#A"><rdfs:label>a</rdfs:label></owl:Class></rdfs:subClassOf></owl:Class>
      <owl:Class rdf:about="http://x.org/C"><oio:id>X:3</oio:id><rdfs:label>c</rdfs:label></owl:Class>
      <owl:Class rdf:about="#D"><rdfs:label>d</rdfs:label><rdfs:subClassOf rdf:resource="http://x.org/C"/></owl:Class>
    """)
    assert entities["http://example.org/t#B"].parents == ("http://example.org/t#A",)
    assert entities["http://example.org/t#A"].name == "a"
    assert entities["http://example.org/t#D"].parents == ("X:3",)


def test_names_in_other_languages_only(read):
    entity = read(f'<owl:Class rdf:about="{OBO}T_1"><rdfs:label xml:lang="ja">骨</rdfs:label></owl:Class>')["T:1"]
    assert entity == Entity("T:1", "骨")


def test_plain_xml_entities_are_abbreviations(read):
    doctype = f'<!DOCTYPE rdf:RDF [<!ENTITY obo "{OBO}"><!ENTITY uuml "&#252;">]>'
    entities = read('<owl:Class rdf:about="&obo;T_1"><rdfs:label>M&uuml;cke a</rdfs:label></owl:Class>', doctype)
    assert entities["T:1"].name == "Mücke a"


@pytest.mark.parametrize(
    "doctype",
    [
        '<!DOCTYPE rdf:RDF [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>',
        '<!DOCTYPE rdf:RDF [<!ENTITY b SYSTEM "file:///etc/hostname">]>',
        '<!DOCTYPE rdf:RDF [<!ENTITY % p SYSTEM "http://example.invalid/p"><!ENTITY b "b">%p;]>',
        f'<!DOCTYPE rdf:RDF [<!ENTITY b "{"b" * 1000}">]>',
    ],
)
def test_xml_bombs_and_outside_files_are_refused(read, doctype):
    with pytest.raises(OntologyError, match=r"XML entity '[bp]'"):
        read(f'<owl:Class rdf:about="{OBO}T_1"><rdfs:label>&b;</rdfs:label></owl:Class>', doctype)


def test_truncated_xml_names_the_line(tmp_path):
    path = tmp_path / "t.owl"
    path.write_text(HEAD.replace("{doctype}", "") + f'<owl:Class rdf:about="{OBO}T_1">\n<rdfs:label>a</rdfs:lab')
    with pytest.raises(OntologyError, match=r"t\.owl is not OWL .*line \d+"):
        next(read_owl(path, ReadReport(path)))


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "not OWL"), ("format-version: 1.2", "line 1"), ("<Ontology/>", "root is <Ontology>")],
)
def test_other_files(tmp_path, text, message):
    path = tmp_path / "t.owl"
    path.write_text(text)
    with pytest.raises(OntologyError, match=message):
        next(read_owl(path, ReadReport(path)))


def test_gzip_whole_and_cut_short(tmp_path):
    text = HEAD.replace("{doctype}", "") + "".join(
        f'<owl:Class rdf:about="{OBO}T_{n}"><rdfs:label>name {n}</rdfs:label></owl:Class>' for n in range(99)
    )
    packed, path = gzip.compress(f"{text}</rdf:RDF>".encode(), mtime=0), tmp_path / "t.owl.gz"
    path.write_bytes(packed)
    assert len(list(read_owl(path, ReadReport(path)))) == 99
    path.write_bytes(packed[:-20])
    with pytest.raises(OntologyError, match=r"t\.owl\.gz"):
        list(read_owl(path, ReadReport(path)))
    with pytest.raises(OntologyError, match="No such file"):
        list(read_owl(tmp_path / "no.owl", ReadReport(path)))


def test_empty_labels_are_counted(read, tmp_path):
    body = f'<owl:Class rdf:about="{OBO}T_1"><rdfs:label>a</rdfs:label><oio:hasExactSynonym/></owl:Class>'
    assert read(body)["T:1"].synonyms == ()
    with pytest.raises(OntologyError, match="line 6: empty hasExactSynonym"):
        read(body, strict=True)


def test_iris():
    assert compact(f"{OBO}APOLLO_SV_00000001") == "APOLLO_SV:00000001"
    assert compact(f"{OBO}lpt#x") == f"{OBO}lpt#x"
    assert compact("http://purl.org/obo/owl/GO#GO_0000001") == "GO:0000001"
    assert compact("http://www.ebi.ac.uk/efo/EFO_0000001") == "http://www.ebi.ac.uk/efo/EFO_0000001"
    assert compact_reference("T_1") == "T:1" and compact_reference("false") == "false"
    assert short_name(f"{OBO}uberon/core#SENSU") == "SENSU" and short_name("slim") == "slim"


def shared(name: str) -> Path:
    beside = Path(__file__).resolve().parents[3].parent / "shared" / "data"
    path = Path(os.environ.get("ONTOLINK_SHARED_DATA") or beside) / "ontologies" / name
    if not path.exists():
        pytest.skip(f"no shared data ({path.name})")
    return path


def test_three_formats_of_one_ontology_agree():
    facts = []
    for end in ("owl", "json", "obo"):
        kb = read_ontology(shared(f"odd/general_cell_types_upper_slim.{end}"), stop_synonyms=False)
        entities = {id: kb[id] for id in kb.ids_of(range(len(kb)))}
        facts.append({id: (it.name, names(it), set(it.parents)) for id, it in entities.items()})
    assert len(facts[0]) > 600
    assert facts[0] == facts[1]
    assert facts[0] == facts[2]


def names(entity: Entity) -> set[str]:
    # The formats list synonyms in different orders; of two that differ in case alone, a KB keeps the first.
    return {normalise(synonym.text) for synonym in entity.synonyms}


def test_lpt_loads():
    path = shared("lpt.owl")
    report = ReadReport(path)
    entities = {entity.id: entity for entity in read_owl(path, report)}
    assert not report.counts and len(entities) > 500
    assert Synonym("breast weight", "EXACT") in entities["LPT:0000091"].synonyms
    assert entities["LPT:0000127"].name == "breast weight"
