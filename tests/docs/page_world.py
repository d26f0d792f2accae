"""The files that the pages speak of: small, made here, and in the real formats."""

import gzip
import json
import re
import shutil
import zipfile
from pathlib import Path

import pyarrow as pa
import spacy
from pyarrow import parquet

ROOT = Path(__file__).parents[2]
TERMS = [
    ("HP:0000118", "Phenotypic abnormality", ["Organ abnormality"], ""),
    ("HP:0000707", "Abnormality of the nervous system", ["Neurological abnormality"], "HP:0000118"),
    ("HP:0001250", "Seizure", ["Seizures", "Epileptic seizure"], "HP:0000707"),
    ("HP:0000750", "Delayed speech and language development", ["Late speech", "Delayed speech"], "HP:0000707"),
    ("HP:0001324", "Muscle weakness", ["Muscular weakness"], "HP:0000707"),
    ("HP:0003701", "Proximal muscle weakness", ["Weakness in muscles of upper arms and upper legs"], "HP:0001324"),
    ("HP:0002515", "Waddling gait", ["Waddling walk"], "HP:0000707"),
    ("HP:0030051", "Tip-toe gait", ["Walking on tiptoes"], "HP:0000707"),
    ("HP:0001871", "Abnormality of blood", ["Hematological abnormality"], "HP:0000118"),
    ("HP:0001903", "Anemia", ["Low hemoglobin"], "HP:0001871"),
    ("HP:0001873", "Thrombocytopenia", ["Low platelet count"], "HP:0001871"),
    ("HP:0000421", "Epistaxis", ["Nose bleeding", "Nosebleed", "Bleeding from nose"], "HP:0001871"),
    ("HP:0000978", "Bruising susceptibility", ["Easy bruising", "Bruise easily"], "HP:0001871"),
    ("HP:0002012", "Abnormality of the abdominal organs", ["Abdominal abnormality"], "HP:0000118"),
    ("HP:0002240", "Hepatomegaly", ["Enlarged liver"], "HP:0002012"),
    ("HP:0001744", "Splenomegaly", ["Enlarged spleen", "Increased spleen size"], "HP:0002012"),
    ("HP:0000924", "Abnormality of the skeletal system", ["Skeletal abnormality"], "HP:0000118"),
    ("HP:0000252", "Microcephaly", ["Small head", "Abnormally small skull"], "HP:0000924"),
    ("HP:0004322", "Short stature", ["Decreased body height", "Small stature"], "HP:0000924"),
    ("HP:0000098", "Tall stature", ["Increased body height"], "HP:0000924"),
    ("HP:0002650", "Scoliosis", ["Curved spine"], "HP:0000924"),
    ("HP:0100807", "Long fingers", ["Arachnodactyly"], "HP:0000924"),
    ("HP:0001382", "Joint hypermobility", ["Joints move beyond expected range of motion"], "HP:0000924"),
    ("HP:0000478", "Abnormality of the eye", ["Eye abnormality"], "HP:0000118"),
    ("HP:0000662", "Nyctalopia", ["Night blindness", "Poor night vision"], "HP:0000478"),
    ("HP:0012823", "Clinical modifier", [], ""),
    ("HP:0012828", "Severe", [], "HP:0012823"),
]
NOTES = """\
[[Seizures|HP:0001250]] since birth, and an [[unusually small head|HP:0000252]].
[[Frequent nose bleeding|HP:0000421]] and [[easy bruising|HP:0000978]]; the [[liver is enlarged|HP:0002240]].
He has [[short stature|HP:0004322]] and [[scoliosis|HP:0002650]], and [[walks on tiptoes|HP:0030051]].
[[Night blindness|HP:0000662]] and [[weakness of the muscles|HP:0001324]] in the family.
[[Late speech|HP:0000750]]; [[anaemia|HP:0001903]] was treated, [[low platelets|HP:0001873]] were not.
The [[fingers are long|HP:0100807]] and the [[joints hypermobile|HP:0001382]] in a girl of [[tall stature|HP:0000098]].
"""
_MARK = re.compile(r"\[\[(.+?)\|(.+?)\]\]")
_UMLS = """\
C0036572|ENG|P|L1|PF|S1|Y|A1||M1|D012640|MSH|MH|D012640|Seizures|0|N||
C0036572|SPA|P|L2|PF|S2|Y|A2||M2|D012640|MSHSPA|MH|D012640|convulsiones|3|N||
C0014591|ENG|P|L3|PF|S3|Y|A3||M3|249366005|SNOMEDCT_US|PT|249366005|Epistaxis|9|N||
C0018681|ENG|P|L5|PF|S5|Y|A5||M5|D006261|MSH|MH|D006261|Headache Disorders|0|N||
C0033684|ENG|P|L4|PF|S4|Y|A4||M4|D011506|MSH|MH|D011506|Proteins|0|N||
"""
_TYPES = """\
C0014591|T184|A|Sign or Symptom|AT1||
C0018681|T047|A|Disease or Syndrome|AT4||
C0033684|T116|A|Amino Acid, Peptide, or Protein|AT2||
C0036572|T184|A|Sign or Symptom|AT3||
"""
_MESH = """<?xml version="1.0"?>
<{root} LanguageCode="eng">{record}</{root}>
"""
_DESCRIPTOR = """<DescriptorRecord DescriptorClass="1"><DescriptorUI>D012640</DescriptorUI>
<DescriptorName><String>Seizures</String></DescriptorName>
<TreeNumberList><TreeNumber>C10</TreeNumber></TreeNumberList>
<ConceptList><Concept PreferredConceptYN="Y"><ConceptUI>M1</ConceptUI>
<ConceptName><String>Seizures</String></ConceptName><TermList>
<Term IsPermutedTermYN="N" LexicalTag="NON"><TermUI>T1</TermUI><String>Seizures</String></Term></TermList>
</Concept></ConceptList></DescriptorRecord>"""
_SUPPLEMENT = """<SupplementalRecord SCRClass="3"><SupplementalRecordUI>C000001</SupplementalRecordUI>
<SupplementalRecordName><String>Morning seizures</String></SupplementalRecordName>
<HeadingMappedToList><HeadingMappedTo><DescriptorReferredTo><DescriptorUI>D012640</DescriptorUI></DescriptorReferredTo>
</HeadingMappedTo></HeadingMappedToList>
<ConceptList><Concept PreferredConceptYN="Y"><ConceptUI>M2</ConceptUI><ConceptName><String>Morning seizures</String>
</ConceptName><TermList><Term IsPermutedTermYN="N" LexicalTag="NON"><TermUI>T2</TermUI><String>Morning seizures</String>
</Term></TermList></Concept></ConceptList></SupplementalRecord>"""
_SNOMED = {
    "Terminology/sct2_Concept_Snapshot_INT_20260101.txt": [
        "id effectiveTime active moduleId definitionStatusId",
        "91175000 20260101 1 900000000000207008 900000000000074008",
    ],
    "Terminology/sct2_Description_Snapshot-en_INT_20260101.txt": [
        "id effectiveTime active moduleId conceptId languageCode typeId term caseSignificanceId",
        "11 20260101 1 900000000000207008 91175000 en 900000000000003001 Seizure_(finding) 900000000000448009",
        "12 20260101 1 900000000000207008 91175000 en 900000000000013009 Seizure 900000000000448009",
    ],
    "Refset/der2_cRefset_LanguageSnapshot-en_INT_20260101.txt": [
        "id effectiveTime active moduleId refsetId referencedComponentId acceptabilityId",
        "8 20260101 1 900000000000207008 900000000000508004 12 900000000000548007",
    ],
}
_SKOS = """\
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
<http://example.org/c_1> a skos:Concept ; skos:prefLabel "maladie"@fr, "disease"@en .
<http://example.org/c_2> a skos:Concept ; skos:prefLabel "mammite"@fr, "mastitis"@en ;
    skos:broader <http://example.org/c_1> .
"""
_BIOC = """<?xml version="1.0" encoding="UTF-8"?>
<collection><source>made</source><date>20260101</date><key>k</key><document><id>1</id><passage><offset>0</offset>
<text>Seizures since birth.</text><annotation id="T1"><infon key="identifier">HP:0001250</infon>
<infon key="type">Phenotype</infon><location offset="0" length="8"/><text>Seizures</text></annotation></passage>
</document></collection>
"""
_PUBTATOR = """\
7|t|Seizures since birth.
7|a|No anemia was found.
7\t0\t8\tSeizures\tPhenotype\tHP:0001250
7\t25\t31\tanemia\tPhenotype\tHP:0001903

"""


def make_world(folder: Path) -> None:
    """Write every file into ``folder``."""
    rows = [marked(str(number), line) for number, line in enumerate(NOTES.splitlines())]
    (folder / "hp.obo").write_text(obo(TERMS), "utf-8")
    renamed = [(id, "Nosebleeds" if id == "HP:0000421" else name, names, parent) for id, name, names, parent in TERMS]
    (folder / "hp-2026.obo").write_text(obo([*renamed, ("HP:0000505", "Poor vision", [], "HP:0000478")]), "utf-8")
    (folder / "notes.txt").write_text("".join(row["text"] + "\n" for row in rows), "utf-8")
    shutil.copy(folder / "notes.txt", folder / "corpus.txt")
    for name in ("gold", "dev", "test", "train"):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (folder / "corpus.xml").write_text(_BIOC, "utf-8")
    (folder / "CDR_TestSet.PubTator.txt").write_text(_PUBTATOR, "utf-8")
    (folder / "hpo-brat").mkdir()
    (folder / "hpo-brat" / "1.txt").write_text("Seizures since birth.", "utf-8")
    (folder / "hpo-brat" / "1.ann").write_text(
        "T1\tPhenotype 0 8\tSeizures\nN1\tReference T1 HP:0001250\tSeizure\n", "utf-8"
    )
    (folder / "abstracts").mkdir()
    (folder / "in").mkdir()
    (folder / "abstracts" / "1.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (folder / "extra.jsonl.gz").write_bytes(gzip.compress((folder / "abstracts" / "1.jsonl").read_bytes()))
    parquet.write_table(pa.table({"abstract": ["Seizures."], "pmid": [7]}), folder / "in" / "1.parquet")
    (folder / "ages.csv").write_text("id,name\nA:1,four months old\nA:2,newborn\n", "utf-8")
    (folder / "terms.csv").write_text("Code,Label,Others\nX:1,milk yield,yield of milk|MY\nX:2,egg weight,\n", "utf-8")
    _releases(folder)
    shutil.copytree(ROOT / "configs", folder / "configs")
    nlp = spacy.blank("en")
    ruler = nlp.add_pipe("entity_ruler")
    ruler.add_patterns(
        [
            {"label": "PHENOTYPE", "pattern": [{"LOWER": "epileptic"}, {"LOWER": "seizures"}]},
            {"label": "PHENOTYPE", "pattern": [{"LOWER": "small"}, {"LOWER": "head"}]},
            {"label": "AGE", "pattern": "four months old"},
        ]
    )
    nlp.to_disk(folder / "my_ner_pipeline")


def _releases(folder: Path) -> None:
    """Write a little of UMLS, MeSH, SNOMED CT and a thesaurus."""
    meta = folder / "2026AA" / "META"
    meta.mkdir(parents=True)
    (meta / "MRCONSO.RRF").write_text("".join(sorted(_UMLS.splitlines(keepends=True))), "utf-8")  # as released
    (meta / "MRSTY.RRF").write_text("".join(sorted(_TYPES.splitlines(keepends=True))), "utf-8")
    (folder / "desc2026.xml").write_text(_MESH.format(root="DescriptorRecordSet", record=_DESCRIPTOR), "utf-8")
    (folder / "supp2026.xml").write_text(_MESH.format(root="SupplementalRecordSet", record=_SUPPLEMENT), "utf-8")
    with zipfile.ZipFile(folder / "SnomedCT_InternationalRF2_PRODUCTION_20260101.zip", "w") as archive:
        for name, rows in _SNOMED.items():
            lines = ["\t".join(row.split()).replace("_(", " (") + "\r\n" for row in rows]
            archive.writestr(f"SnomedCT/Snapshot/{name}", "".join(lines))
    (folder / "agrovoc.ttl").write_text(_SKOS, "utf-8")


def obo(terms: list[tuple[str, str, list[str], str]]) -> str:
    """Write terms as an OBO file."""
    stanzas = ["format-version: 1.2\nontology: hp\n"]
    for id, name, synonyms, parent in terms:
        lines = [f"[Term]\nid: {id}\nname: {name}", *(f'synonym: "{synonym}" EXACT []' for synonym in synonyms)]
        stanzas.append("\n".join([*lines, *([f"is_a: {parent}"] if parent else [])]) + "\n")
    return "\n".join(stanzas)


def marked(id: str, line: str) -> dict:
    """Turn ``[[mention|id]]`` into a document with mentions."""
    text, mentions, end = "", [], 0
    for found in _MARK.finditer(line):
        text += line[end : found.start()]
        mentions.append(
            {"start": len(text), "end": len(text) + len(found[1]), "label": "PHENOTYPE", "kb_ids": [found[2]]}
        )
        text += found[1]
        end = found.end()
    return {"id": id, "text": text + line[end:], "mentions": mentions}
