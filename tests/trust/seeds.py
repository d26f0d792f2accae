"""One small ontology in every format that is read: what fuzzing starts from."""

import gzip
import io
import json
import zipfile

OBO = """format-version: 1.2
date: 01:02:2026 12:00
synonymtypedef: layperson "layperson term"
ontology: toy

[Term]
id: T:1
name: body fat percentage
def: "Share of fat in the body." [X:1]
synonym: "fat percentage" EXACT layperson [X:1]
synonym: "BF" RELATED []
xref: X:12
is_a: T:3 ! yield trait

[Term]
id: T:2
name: milk yield
alt_id: T:20
is_a: T:3 {source="X"} ! yield trait

[Term]
id: T:3
name: yield trait

[Term]
id: T:4
name: \u03b2-carotene level
synonym: "beta carotene level" EXACT []

[Term]
id: T:8
name: amount of milk
is_obsolete: true
replaced_by: T:2
"""
IRI = "http://purl.obolibrary.org/obo/T_"
GRAPHS = {"graphs": [{"id": "toy", "nodes": [
    {"id": f"{IRI}1", "type": "CLASS", "lbl": "body fat percentage", "meta": {
        "definition": {"val": "Share of fat.", "xrefs": ["X:1"]}, "xrefs": [{"val": "X:12"}], "subsets": ["slim"],
        "synonyms": [{"pred": "hasExactSynonym", "val": "fat percentage"},
                     {"pred": "hasRelatedSynonym", "val": "BF"}]}},
    {"id": f"{IRI}2", "type": "CLASS", "lbl": "milk yield"},
    {"id": f"{IRI}8", "type": "CLASS", "lbl": "amount", "meta": {"deprecated": True, "basicPropertyValues": [
        {"pred": "http://purl.obolibrary.org/obo/IAO_0100001", "val": f"{IRI}2"}]}},
], "edges": [{"sub": f"{IRI}1", "pred": "is_a", "obj": f"{IRI}2"}]}]}  # fmt: skip
NAMESPACES = (
    'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#" '
    'xmlns:owl="http://www.w3.org/2002/07/owl#" xmlns:oio="http://www.geneontology.org/formats/oboInOwl#" '
    'xmlns:skos="http://www.w3.org/2004/02/skos/core#"'
)
OWL = f"""<?xml version="1.0"?>
<!DOCTYPE rdf:RDF [<!ENTITY obo "http://purl.obolibrary.org/obo/">]>
<rdf:RDF {NAMESPACES}>
<owl:Class rdf:about="&obo;T_1"><rdfs:label xml:lang="en">body fat percentage</rdfs:label>
  <rdfs:subClassOf rdf:resource="&obo;T_2"/><oio:hasExactSynonym>fat &amp; percentage</oio:hasExactSynonym></owl:Class>
<owl:Class rdf:about="&obo;T_2"><rdfs:label>milk yield</rdfs:label></owl:Class>
<owl:Class rdf:about="&obo;T_8"><rdfs:label>amount of milk</rdfs:label><owl:deprecated>true</owl:deprecated></owl:Class>
</rdf:RDF>
"""
SKOS = f"""<?xml version="1.0"?>
<rdf:RDF {NAMESPACES} xml:base="http://x.org/">
<skos:Concept rdf:about="milk"><skos:prefLabel xml:lang="en">milk</skos:prefLabel>
  <skos:altLabel>lac</skos:altLabel><skos:broader rdf:resource="food"/></skos:Concept>
<skos:Concept rdf:about="food"><skos:prefLabel xml:lang="en">food</skos:prefLabel></skos:Concept>
</rdf:RDF>
"""
TURTLE = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@base <http://x.org/> .
<milk> a skos:Concept ; skos:prefLabel "milk"@en ; skos:altLabel "lac", '''two
lines''' ; skos:broader <food> .
<food> a skos:Concept ; skos:prefLabel "food"@en .
"""
TABLE = "\n".join([
    "id;name;synonyms;definition;parents",
    'T:1;"body fat percentage";fat percentage|BF;"Share; of\nfat.";T:3',
    "T:2;milk yield;;;T:3",
    "T:3;yield trait;;;",
]) + "\n"  # fmt: skip
JSONL = "".join(json.dumps(row) + "\n" for row in [
    {"id": "T:1", "name": "body fat percentage", "synonyms": ["fat percentage", {"text": "BF", "scope": "RELATED"}]},
    {"id": "T:2", "name": "milk yield", "parents": ["T:1"], "definition": "\u00e9"},
    {"concept_id": "C3", "canonical_name": "yield", "aliases": ["output"]},
])  # fmt: skip
MESH = """<?xml version="1.0"?>
<!DOCTYPE DescriptorRecordSet SYSTEM "https://www.nlm.nih.gov/databases/dtd/none.dtd">
<DescriptorRecordSet LanguageCode = "eng">
<DescriptorRecord DescriptorClass = "1"><DescriptorUI>D000010</DescriptorUI>
<DescriptorName><String>Q Fever</String></DescriptorName>
<TreeNumberList><TreeNumber>C01.150</TreeNumber></TreeNumberList>
<ConceptList><Concept PreferredConceptYN="Y"><ConceptUI>M1</ConceptUI>
<ConceptName><String>Q Fever</String></ConceptName>
<ScopeNote>An infection.</ScopeNote><TermList><Term IsPermutedTermYN="N" LexicalTag="NON"><TermUI>T1</TermUI>
<String>Q Fever</String></Term></TermList></Concept></ConceptList></DescriptorRecord>
</DescriptorRecordSet>
"""
UMLS = {
    "MRCONSO.RRF": "C0000001|ENG|P|L2|PF|S3|Y|A14||M1|D1|MSH|MH|D000001|Milk Fat Yield|0|N||\n"
    "C0000001|ENG|S|L3|PF|S4|Y|A15||||NCI|AB|C9|MFY|0|N||\nC0000002|ENG|P|L6|PF|S7|Y|A21||||MSH|MH|D000002|Yield|0|N||\n",
    "MRSTY.RRF": "C0000001|T081|A2.1|Quantitative Concept|AT1||\n",
    "MRDEF.RRF": "C0000001|A14|AT8||MSH|Fat in the milk.|N||\n",
    "MRREL.RRF": "C0000001|A14|AUI|PAR|C0000002|A21|AUI||R1||MSH|MSH|||N||\n",
    "MRCUI.RRF": "C0000091|2001AC|SY|||C0000001|Y|\n",
}  # fmt: skip
_MODULE, _CASE = "900000000000207008", "900000000000448009"
SNOMED = {
    "sct2_Concept_Snapshot_INT_20260101.txt": "id\teffectiveTime\tactive\tmoduleId\tdefinitionStatusId\r\n"
    f"100\t20260101\t1\t{_MODULE}\t900000000000074008\r\n200\t20260101\t1\t{_MODULE}\t900000000000074008\r\n",
    "sct2_Description_Snapshot-en_INT_20260101.txt": "id\teffectiveTime\tactive\tmoduleId\tconceptId\tlanguageCode\t"
    "typeId\tterm\tcaseSignificanceId\r\n"
    f"11\t20260101\t1\t{_MODULE}\t100\ten\t900000000000003001\tFinding (finding)\t{_CASE}\r\n"
    f"21\t20260101\t1\t{_MODULE}\t200\ten\t900000000000013009\tUdder oedema\t{_CASE}\r\n",
    "sct2_Relationship_Snapshot_INT_20260101.txt": "id\teffectiveTime\tactive\tmoduleId\tsourceId\tdestinationId\t"
    "relationshipGroup\ttypeId\tcharacteristicTypeId\tmodifierId\r\n"
    f"51\t20260101\t1\t{_MODULE}\t200\t100\t0\t116680003\t900000000000011006\t900000000000451002\r\n",
}  # fmt: skip


def zipped(files):
    """Pack texts by name into an archive."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return buffer.getvalue()


FILES = {
    "toy.obo": OBO.encode(),
    "toy.obo.gz": gzip.compress(OBO.encode(), mtime=0),
    "toy.json": json.dumps(GRAPHS).encode(),
    "toy.owl": OWL.encode(),
    "toy.rdf": SKOS.encode(),
    "toy.ttl": TURTLE.encode(),
    "toy.csv": TABLE.encode(),
    "toy.tsv": TABLE.replace(";", "\t").encode("utf-16"),
    "toy.jsonl": JSONL.encode(),
    "desc2026.xml": MESH.encode(),
    "umls.zip": zipped(UMLS),
    "snomed.zip": zipped(SNOMED),
}
"""Whole files by name; the name tells the format."""
FOLDERS = {"umls": UMLS, "snomed": SNOMED}
"""Releases of several files; an error or a count for each of them."""
