import gzip
import zipfile

import pytest

from spacy_ontolink.errors import OntologyError
from spacy_ontolink.kb.readers import read_entities, read_ontology
from spacy_ontolink.kb.readers.report import ReadReport
from spacy_ontolink.kb.readers.snomed import read_snomed
from spacy_ontolink.types import Entity, Synonym

FULL, SYNONYM, DEFINITION = "900000000000003001", "900000000000013009", "900000000000550004"
US, GB, ES = "900000000000509007", "900000000000508004", "448879004"
PREFERRED, ACCEPTABLE = "900000000000548007", "900000000000549004"
SAME_AS, REPLACED_BY, POSSIBLY = "900000000000527005", "900000000000526001", "900000000000523009"
IS_A, SITE = "116680003", "363698007"


def table(header, *rows):
    return "".join("\t".join(map(str, row)) + "\r\n" for row in (header.split(), *rows))


def concept(id, active=1):
    return (id, 20260101, active, 900000000000207008, 900000000000074008)


def description(id, concept, term, kind=SYNONYM, language="en", active=1):
    return (id, 20260101, active, 900000000000207008, concept, language, kind, term, 900000000000448009)


def relation(id, child, parent, kind=IS_A, active=1):
    return (id, 20260101, active, 900000000000207008, child, parent, 0, kind, 900000000000011006, 900000000000451002)


def member(refset, component, value, active=1):
    return ("80000000-0000-0000-0000-000000000000", 20260101, active, 900000000000207008, refset, component, value)


CONCEPT = "id effectiveTime active moduleId definitionStatusId"
DESCRIPTION = "id effectiveTime active moduleId conceptId languageCode typeId term caseSignificanceId"
RELATION = ("id effectiveTime active moduleId sourceId destinationId relationshipGroup typeId characteristicTypeId "
            "modifierId")  # fmt: skip
MEMBER = "id effectiveTime active moduleId refsetId referencedComponentId "
CONCEPTS = [concept(100), concept(200), concept(300), concept(900, 0), concept(901, 0), concept(902, 0)]
DESCRIPTIONS = [
    description(11, 100, "Clinical finding (finding)", FULL),
    description(12, 100, "Clinical finding"),
    description(21, 200, "Edema of udder (disorder)", FULL),
    description(22, 200, "Udder oedema"),
    description(23, 200, "Udder edema"),
    description(24, 200, 'Udder "cake"'),
    description(25, 200, "Flag udder", active=0),
    description(26, 200, "edema de ubre", language="es"),
    description(31, 300, "Only full (qualifier value)", FULL),
    description(91, 900, "Swollen udder (finding)", FULL),
    description(92, 901, "Something (finding)", FULL),
    description(93, 902, "Nowhere (finding)", FULL),
]
DEFINITIONS = [description(41, 200, "Fluid in  the udder.", DEFINITION)]
RELATIONS = [
    relation(51, 200, 100),
    relation(52, 200, 300, SITE),
    relation(53, 200, 300, active=0),
    relation(54, 300, 100),
]
LANGUAGE = [
    member(GB, 22, PREFERRED),
    member(GB, 23, ACCEPTABLE),
    member(US, 22, ACCEPTABLE),
    member(US, 23, PREFERRED),
    member(US, 21, PREFERRED),
    member(US, 24, PREFERRED, active=0),
    member(US, 12, PREFERRED),
    member(ES, 26, PREFERRED),
]
ASSOCIATIONS = [
    member(SAME_AS, 900, 200),
    member(POSSIBLY, 901, 200),
    member(REPLACED_BY, 901, 100, active=0),
    member(REPLACED_BY, 25, 200),
]
EDEMA = Entity(
    "200",
    "Udder edema",
    (Synonym("Udder oedema", "EXACT"), Synonym('Udder "cake"', "EXACT"), Synonym("Edema of udder", "EXACT")),
    definition="Fluid in the udder.",
    parents=("100",),
    types=("disorder",),
)


@pytest.fixture
def release(tmp_path):
    def release(concepts=CONCEPTS, descriptions=DESCRIPTIONS, relations=RELATIONS, language=LANGUAGE,
                associations=ASSOCIATIONS):  # fmt: skip
        files = {
            "Snapshot/Terminology/sct2_Concept_Snapshot_INT_20260101.txt": table(CONCEPT, *concepts),
            "Snapshot/Terminology/sct2_Description_Snapshot-en_INT_20260101.txt": table(DESCRIPTION, *descriptions),
            "Snapshot/Terminology/sct2_TextDefinition_Snapshot-en_INT_20260101.txt": table(DESCRIPTION, *DEFINITIONS),
            "Snapshot/Terminology/sct2_Relationship_Snapshot_INT_20260101.txt": table(RELATION, *relations),
            "Snapshot/Terminology/sct2_StatedRelationship_Snapshot_INT_20260101.txt": "not read\n",
            "Snapshot/Refset/Language/der2_cRefset_LanguageSnapshot-en_INT_20260101.txt": table(
                MEMBER + "acceptabilityId", *language
            ),
            "Snapshot/Refset/Content/der2_cRefset_AssociationSnapshot_INT_20260101.txt": table(
                MEMBER + "targetComponentId", *associations
            ),
            "Full/Terminology/sct2_Concept_Full_INT_20260101.txt": "not read\n",
        }
        root = tmp_path / "SnomedCT_Test"
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
        return root

    return release


def entities(path, strict=False, **options):
    report = ReadReport(path, strict)
    return {entity.id: entity for entity in read_snomed(path, report, **options)}, report


def test_a_concept_with_everything(release):
    found, report = entities(release(), strict=True)
    assert found["200"] == EDEMA
    assert list(found) == ["100", "200", "300", "900", "901"]
    assert found["100"] == Entity("100", "Clinical finding", types=("finding",))
    assert found["300"] == Entity("300", "Only full", parents=("100",), types=("qualifier value",))
    assert not report.counts


def test_inactive_concepts_lead_to_what_stands_for_them(release):
    root = release()
    found, _ = entities(root)
    assert found["900"] == Entity("900", "Swollen udder", obsolete=True, replaced_by=("200",), types=("finding",))
    assert (found["901"].replaced_by, found["901"].consider) == ((), ("200",))
    kb = read_ontology(root)
    assert kb.resolve("900") == "200"


@pytest.mark.parametrize("shape", ["release", "snapshot", "terminology", "zip", "gzip"])
def test_wherever_the_files_are(release, tmp_path, shape):
    root = release()
    path = {"snapshot": root / "Snapshot", "terminology": root / "Snapshot" / "Terminology"}.get(shape, root)
    if shape == "zip":
        path = tmp_path / "snomed.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for file in root.rglob("*.txt"):
                archive.write(file, str(file.relative_to(tmp_path)))
    elif shape == "gzip":
        for file in list(root.rglob("*.txt")):
            file.with_name(f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes(), mtime=0))
            file.unlink()
    assert EDEMA in list(read_entities(path, ReadReport(path)))


def test_reference_sets_choose_the_name(release):
    found, _ = entities(release(), refsets=(GB,))
    assert found["200"].name == "Udder oedema"
    assert found["200"].synonyms == (Synonym("Udder edema", "EXACT"),)
    assert found["200"].definition == "Fluid in the udder."


def test_languages(release):
    found, _ = entities(release(), languages=("es",))
    assert found["200"].name == "edema de ubre"
    found, _ = entities(release(), languages=())
    assert Synonym("edema de ubre", "EXACT") in found["200"].synonyms


def test_prefix(release):
    found, _ = entities(release(), prefix="SNOMEDCT:")
    assert found["SNOMEDCT:200"].parents == ("SNOMEDCT:100",)


def test_malformed_rows_are_passed_over(release):
    root = release(
        concepts=[*CONCEPTS, ("x1", *concept(1)[1:]), concept(7)[:3]],
        descriptions=[*DESCRIPTIONS, description(61, 555, "lost"), description(62, 200, " "), description("", 200, "x"),
                      description(63, 200, "odd", kind=5), description(64, 200, "a\tb")],
        relations=[*RELATIONS, relation(71, 556, 200), relation(72, 200, "abc")],
        language=[*LANGUAGE, member(US, 24, "no")],
        associations=[*ASSOCIATIONS, member(SAME_AS, 902, "x")],
    )  # fmt: skip
    found, report = entities(root)
    assert found["200"] == EDEMA
    stem = {
        "Concept": "sct2_Concept_Snapshot_INT_20260101.txt",
        "Description": "sct2_Description_Snapshot-en_INT_20260101.txt",
        "Relationship": "sct2_Relationship_Snapshot_INT_20260101.txt",
        "Language": "der2_cRefset_LanguageSnapshot-en_INT_20260101.txt",
        "Association": "der2_cRefset_AssociationSnapshot_INT_20260101.txt",
    }
    assert dict(report.counts) == {
        f"no SNOMED CT identifier in {stem['Concept']}": 1,
        f"wrong number of fields in {stem['Concept']}": 1,
        f"unknown concept in {stem['Description']}": 1,
        f"empty name in {stem['Description']}": 1,
        f"no SNOMED CT identifier in {stem['Description']}": 1,
        f"unknown kind of description in {stem['Description']}": 1,
        f"wrong number of fields in {stem['Description']}": 1,
        f"unknown concept in {stem['Relationship']}": 1,
        f"no SNOMED CT identifier in {stem['Relationship']}": 1,
        f"unknown acceptability in {stem['Language']}": 1,
        f"no SNOMED CT identifier in {stem['Association']}": 1,
    }
    with pytest.raises(OntologyError, match=r"Concept_Snapshot_INT_20260101\.txt, line 8: no SNOMED CT identifier"):
        entities(root, strict=True)


def test_an_extension_beside_what_it_extends(release, tmp_path):
    root = release()
    extension = root / "Extension" / "Snapshot" / "Terminology"
    extension.mkdir(parents=True)
    (extension / "sct2_Concept_Snapshot_XX_20260101.txt").write_text(table(CONCEPT, concept(400)))
    rows = [description(81, 400, "Local swelling"), description(82, 200, "Local word")]
    (extension / "sct2_Description_Snapshot-en_XX_20260101.txt").write_text(table(DESCRIPTION, *rows))
    (extension / "sct2_Relationship_Snapshot_XX_20260101.txt").write_text(table(RELATION, relation(83, 400, 200)))
    found, report = entities(root)
    assert found["400"].parents == ("200",)
    assert Synonym("Local word", "EXACT") in found["200"].synonyms
    alone, report = entities(extension)
    assert alone["400"].parents == ("200",)
    assert report.counts == {"unknown concept in sct2_Description_Snapshot-en_XX_20260101.txt": 1}


def test_only_snapshots_will_do(tmp_path):
    with pytest.raises(OntologyError, match="no sct2_Concept_…Snapshot file"):
        entities(tmp_path)


@pytest.mark.parametrize(
    ("options", "problem", "there"),
    [
        ({"refsets": ("123",)}, "nothing in the reference set 123", US),
        ({"languages": ("sv",)}, "no description in the language sv", "en, es"),
    ],
)
def test_what_a_filter_does_not_find_is_told_with_what_there_is(release, options, problem, there):
    _, report = entities(release(), **options)
    assert report.counts[problem] == 1
    assert there in next(detail for _, kind, detail in report.first if kind == problem)
