import gzip
import zipfile

import pytest

from spacy_ontolink.errors import OntologyError
from spacy_ontolink.kb.readers import read_entities, read_ontology
from spacy_ontolink.kb.readers.mesh import read_mesh
from spacy_ontolink.kb.readers.report import ReadReport
from spacy_ontolink.types import Entity, Synonym

HEAD = """<?xml version="1.0"?>
<!DOCTYPE {root} SYSTEM "https://www.nlm.nih.gov/databases/dtd/none.dtd"{subset}>
<{root} LanguageCode = "eng">
"""


def term(text, lexical="NON", permuted="N"):
    return (
        f'<Term IsPermutedTermYN="{permuted}" LexicalTag="{lexical}"><TermUI>T1</TermUI><String>{text}</String></Term>'
    )


def concept(id, *terms, preferred="N", inside=""):
    return f"""<Concept PreferredConceptYN="{preferred}"><ConceptUI>{id}</ConceptUI>
      <ConceptName><String>any</String></ConceptName>{inside}<TermList>{"".join(terms)}</TermList></Concept>"""


def relation(name, first, second):
    return f"""<ConceptRelation RelationName="{name}"><Concept1UI>{first}</Concept1UI><Concept2UI>{second}</Concept2UI>
      </ConceptRelation>"""


def descriptor(id, name, *concepts, trees=()):
    numbers = "".join(f"<TreeNumber>{tree}</TreeNumber>" for tree in trees)
    return f"""<DescriptorRecord DescriptorClass = "1"><DescriptorUI>{id}</DescriptorUI>
      <DescriptorName><String>{name}</String></DescriptorName>
      <SeeRelatedList><SeeRelatedDescriptor><DescriptorReferredTo><DescriptorUI>D000099</DescriptorUI>
      </DescriptorReferredTo></SeeRelatedDescriptor></SeeRelatedList>
      <TreeNumberList>{numbers}</TreeNumberList><ConceptList>{"".join(concepts)}</ConceptList></DescriptorRecord>"""


RELATIONS = (
    "<ConceptRelationList>"
    + relation("NRW", "M1", "M2")
    + relation("BRD", "M1", "M3")
    + relation("REL", "M1", "M4")
    + relation("NRW", "M5", "M1")
    + "</ConceptRelationList>"
)
FEVER = descriptor(
    "D000010",
    "Q Fever",
    concept(
        "M1", term("Q Fever"), term("Fever, Q", permuted="Y"), term("QF", "ABB"), preferred="Y",
        inside="<RegistryNumber>0</RegistryNumber><ScopeNote>An acute\n    infection.</ScopeNote>" + RELATIONS,
    ),
    concept("M2", term("Abattoir Fever"), term("Q Fever"), inside="<ScopeNote>Not this.</ScopeNote>"),
    concept("M3", term("Coxiellosis")),
    concept("M4", term("Query Fever")),
    concept("M5", term("Rickettsiosis")),
    trees=("C01.150.252", "C01.920", "F03.1"),
)  # fmt: skip
DESCRIPTORS = [
    FEVER,
    descriptor("D000011", "Infections", concept("M6", term("Infections"), preferred="Y"), trees=("C01",)),
    descriptor("D000012", "Bacterial Infections", concept("M7", term("Infection"), preferred="Y"), trees=("C01.150",)),
]
SUPPLEMENT = """<SupplementalRecord SCRClass = "3"><SupplementalRecordUI>C000001</SupplementalRecordUI>
  <SupplementalRecordName><String>goat fever</String></SupplementalRecordName><Note>Rare; in goats.</Note>
  <HeadingMappedToList>
    <HeadingMappedTo><DescriptorReferredTo><DescriptorUI>*D000010</DescriptorUI></DescriptorReferredTo></HeadingMappedTo>
    <HeadingMappedTo><DescriptorReferredTo><DescriptorUI>D000012</DescriptorUI></DescriptorReferredTo>
      <QualifierReferredTo><QualifierUI>Q000235</QualifierUI></QualifierReferredTo></HeadingMappedTo>
  </HeadingMappedToList>
  <ConceptList>"""
SUPPLEMENT += concept(
    "M8", term("goat fever"), term("GF", "ACR"), preferred="Y",
    inside="<RegistryNumberList><RegistryNumber>52665-69-7</RegistryNumber></RegistryNumberList>",
) + "</ConceptList></SupplementalRecord>"  # fmt: skip


@pytest.fixture
def write(tmp_path):
    def write(*records, name="desc2026.xml", root="DescriptorRecordSet", subset=""):
        path = tmp_path / name
        text = HEAD.format(root=root, subset=subset) + "\n".join(records) + f"</{root}>"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def entities(path, strict=False, **options):
    report = ReadReport(path, strict)
    return {entity.id: entity for entity in read_mesh(path, report, **options)}, report


Q_FEVER = Entity(
    "D000010",
    "Q Fever",
    (
        Synonym("Fever, Q", "EXACT", "permuted"),
        Synonym("QF", "EXACT", "abbreviation"),
        Synonym("Abattoir Fever", "NARROW"),
        Synonym("Coxiellosis", "BROAD"),
        Synonym("Query Fever", "RELATED"),
        Synonym("Rickettsiosis", "BROAD"),
    ),
    definition="An acute infection.",
    parents=("D000012", "D000011"),
    types=("C", "F"),
)


def test_a_descriptor_with_everything(write):
    found, report = entities(write(*DESCRIPTORS))
    assert found["D000010"] == Q_FEVER
    assert list(found) == ["D000010", "D000011", "D000012"]
    assert found["D000011"].parents == ()
    assert report.counts == {"tree number without one above": 1}  # there is no F03 here


@pytest.mark.parametrize("packing", ["plain", "gzip", "zip", "other name"])
def test_packed_or_not(write, tmp_path, packing):
    path = write(*DESCRIPTORS)
    if packing == "gzip":
        path = tmp_path / "desc2026.gz"
        path.write_bytes(gzip.compress((tmp_path / "desc2026.xml").read_bytes(), mtime=0))
    elif packing == "zip":
        path = tmp_path / "desc2026.zip"
        with zipfile.ZipFile(path, "w") as archive:
            archive.write(tmp_path / "desc2026.xml", "desc2026.xml")
    elif packing == "other name":
        path = path.rename(tmp_path / "headings")
    assert next(read_entities(path, ReadReport(path))) == Q_FEVER


def test_a_supplementary_record(write):
    found, report = entities(write(SUPPLEMENT, name="supp2026.xml", root="SupplementalRecordSet"), strict=True)
    assert found["C000001"] == Entity(
        "C000001",
        "goat fever",
        (Synonym("GF", "EXACT", "abbreviation"),),
        definition="Rare; in goats.",
        parents=("D000010",),
        xrefs=("MESH:D000012", "52665-69-7"),
        types=("disease",),
    )
    assert not report.counts


def test_both_files_are_one_hierarchy(write):
    files = [write(*DESCRIPTORS), write(SUPPLEMENT, name="supp2026.xml", root="SupplementalRecordSet")]
    kb = read_ontology(files, options={"prefix": "MESH:"})
    assert kb.parents("MESH:C000001") == ["MESH:D000010"]
    assert "dangling parent" not in kb.facts["problems"]


def test_malformed_records_are_passed_over(write):
    odd = descriptor(
        "D000013",
        "Odd",
        concept("M9", term("Odd"), term(" "), inside="<ConceptRelationList>" + relation("ODD", "M9", "M8")
                + "</ConceptRelationList>"),
    )  # fmt: skip
    path = write(descriptor("", "No id"), odd, descriptor("D000014", "Bare"), *DESCRIPTORS[1:])
    found, report = entities(path)
    assert list(found) == ["D000013", "D000014", "D000011", "D000012"]
    assert (found["D000013"].synonyms, found["D000014"].synonyms) == ((), ())
    assert dict(report.counts) == {"record without an id": 1, "empty term": 1, "unknown concept relation": 1}
    assert report.first[0][0] == 4
    with pytest.raises(OntologyError, match="line 4: record without an id"):
        entities(path, strict=True)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<DescriptorRecordSet><DescriptorRecord></DescriptorRecordSet>", "line 1: Opening and ending tag mismatch"),
        ("<QualifierRecordSet/>", "its root is <QualifierRecordSet>"),
        ("", "no element found"),
    ],
)
def test_files_that_are_something_else(tmp_path, text, reason):
    path = tmp_path / "desc2026.xml"
    path.write_text(text)
    with pytest.raises(OntologyError, match=reason):
        entities(path)


def test_entity_bombs_are_refused(write):
    path = write(*DESCRIPTORS, subset=' [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]')
    with pytest.raises(OntologyError, match="XML entity 'b' is more than a plain abbreviation"):
        entities(path)
    path = write(*DESCRIPTORS, subset=' [<!ENTITY x SYSTEM "file:///etc/passwd">]')
    with pytest.raises(OntologyError, match="XML entity 'x' is more than a plain abbreviation"):
        entities(path)
