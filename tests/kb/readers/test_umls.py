import gzip
import zipfile

import pytest

from spacy_ontolink.errors import ConfigError, OntologyError
from spacy_ontolink.kb.readers import read_entities, read_ontology
from spacy_ontolink.kb.readers.report import ReadReport
from spacy_ontolink.kb.readers.umls import read_umls
from spacy_ontolink.types import Entity, Synonym

# CUI LAT TS LUI STT SUI ISPREF AUI SAUI SCUI SDUI SAB TTY CODE STR SRL SUPPRESS CVF
NAMES = """\
C0000001|ENG|S|L1|PF|S1|Y|A11||M1|D1|MSH|ET|D000001|fat yield, milk|0|N||
C0000001|ENG|P|L2|VO|S2|Y|A12||M1|D1|MSH|PM|D000001|Milk Fat Yields|0|N|256|
C0000001|ENG|P|L2|PF|S3|N|A13||||SNOMEDCT_US|SY|111|milk fat yield (old)|9|N||
C0000001|ENG|P|L2|PF|S3|Y|A14||M1|D1|MSH|MH|D000001|Milk  Fat Yield|0|N||
C0000001|ENG|S|L3|PF|S4|Y|A15||||NCI|AB|C9|MFY|0|N||
C0000001|ENG|S|L4|PF|S5|Y|A16||||NCI|OP|NOCODE|butterfat crop|0|O||
C0000001|SPA|P|L5|PF|S6|Y|A17||||MSHSPA|MH|D000001|rendimiento graso|3|N||
C0000002|ENG|P|L6|PF|S7|Y|A21||||MSH|MH|D000002|Yield|0|N||
C0000003|GER|P|L7|PF|S8|Y|A31||||MSHGER|MH|D000003|Eierertrag|3|N||
C0000004|ENG|P|L8|PF|S9|Y|A41||||SNOMEDCT_US|PT|444|Udder|9|N||
"""
TYPES = """\
C0000001|T081|A2.1|Quantitative Concept|AT1||
C0000001|T116|A1.4|Amino Acid, Peptide, or Protein|AT2||
C0000002|T081|A2.1|Quantitative Concept|AT3|256|
C0000004|T023|A1.2|Body Part, Organ, or Organ Component|AT4||
C0000009|T023|A1.2|Body Part, Organ, or Organ Component|AT5||
"""
DEFINITIONS = """\
C0000001|A17|AT6||MSHSPA|Grasa en la leche.|N||
C0000001|A14|AT7||MSH|Withdrawn.|Y||
C0000001|A14|AT8||MSH|Fat in  the milk.|N||
C0000001|A13|AT9||SNOMEDCT_US|Another one.|N||
"""
# The second concept is to the first what REL says.
RELATIONS = """\
C0000001|A14|AUI|PAR|C0000002|A21|AUI||R1||MSH|MSH|||N||
C0000001|A14|AUI|PAR|C0000002|A21|AUI|inverse_isa|R2||SNOMEDCT_US|SNOMEDCT_US|||N||
C0000001|A14|AUI|PAR|C0000004|A41|AUI|part_of|R3||MSH|MSH|||N||
C0000001|A14|AUI|PAR|C0000001|A13|AUI||R4||MSH|MSH|||N||
C0000001|A14|AUI|RB|C0000004|A41|AUI||R5||MTH|MTH|||N||
C0000001|A14|AUI|PAR|C0000004|A41|AUI||R6||MSH|MSH|||O||
C0000002|A21|AUI|CHD|C0000001|A14|AUI||R7||MSH|MSH|||N||
"""
RETIRED = """\
C0000090|2001AC|DEL||||Y|
C0000091|2001AC|SY|||C0000001|Y|
C0000092|2001AC|RB|||C0000002|Y|
C0000092|2001AC|RO|||C0000001|Y|
C0000093|2001AC|SY|||C0000077|N|
"""
TABLES = {"MRCONSO": NAMES, "MRSTY": TYPES, "MRDEF": DEFINITIONS, "MRREL": RELATIONS, "MRCUI": RETIRED}
MILK_FAT = Entity(
    "C0000001",
    "Milk Fat Yield",
    (
        Synonym("fat yield, milk", "EXACT"),
        Synonym("Milk Fat Yields", "EXACT"),
        Synonym("milk fat yield (old)", "EXACT"),
        Synonym("MFY", "EXACT", "abbreviation"),
    ),
    definition="Fat in the milk.",
    parents=("C0000002",),
    xrefs=("MSH:D000001", "SNOMEDCT_US:111", "NCI:C9"),
    types=("T081", "Quantitative Concept", "T116", "Amino Acid, Peptide, or Protein"),
)


def write(folder, **tables):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in {**TABLES, **tables}.items():
        if text is not None:
            data = text if isinstance(text, bytes) else text.encode()
            (folder / f"{name}.RRF").write_bytes(data)
    return folder


def entities(path, strict=False, **options):
    report = ReadReport(path, strict)
    return {entity.id: entity for entity in read_umls(path, report, **options)}, report


def test_a_concept_with_everything(tmp_path):
    found, report = entities(write(tmp_path / "META"))
    assert found["C0000001"] == MILK_FAT
    assert list(found) == ["C0000001", "C0000002", "C0000004", "C0000091", "C0000092"]
    assert report.counts == {"unknown concept in MRSTY.RRF": 1}


def test_retired_concepts_lead_to_those_that_are_there(tmp_path):
    found, _ = entities(write(tmp_path / "META"))
    assert found["C0000091"] == Entity("C0000091", "", obsolete=True, replaced_by=("C0000001",))
    assert found["C0000092"] == Entity("C0000092", "", obsolete=True, consider=("C0000002", "C0000001"))
    kb = read_ontology(tmp_path / "META")
    assert kb.resolve("C0000091") == "C0000001"
    assert kb.resolve("C0000093") is None


@pytest.mark.parametrize("shape", ["folder", "above", "gzip", "names only", "zip"])
def test_wherever_the_files_are(tmp_path, shape):
    folder = write(tmp_path / "2026AA" / "META")
    path = folder
    if shape == "above":
        path = tmp_path
    elif shape == "gzip":
        for file in list(folder.iterdir()):
            (folder / f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes(), mtime=0))
            file.unlink()
    elif shape == "names only":
        path = folder / "MRCONSO.RRF"
    elif shape == "zip":
        path = tmp_path / "umls.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in folder.iterdir():
                archive.write(file, f"2026AA/META/{file.name}")
    report = ReadReport(path)
    assert next(read_entities(path, report)) == MILK_FAT


def test_without_the_other_files(tmp_path):
    folder = write(tmp_path / "META", MRSTY=None, MRDEF=None, MRREL=None, MRCUI=None)
    found, report = entities(folder, strict=True)
    assert (found["C0000001"].types, found["C0000001"].parents, found["C0000001"].definition) == ((), (), "")
    assert not report.counts


def test_languages_in_order_of_preference(tmp_path):
    found, _ = entities(write(tmp_path / "META"), languages=("SPA", "ENG"))
    entity = found["C0000001"]
    assert (entity.name, entity.definition) == ("rendimiento graso", "Grasa en la leche.")
    assert Synonym("Milk Fat Yield", "EXACT", "ENG") in entity.synonyms
    assert "C0000003" not in found


def test_all_languages(tmp_path):
    found, _ = entities(write(tmp_path / "META"), languages=())
    assert found["C0000003"].name == "Eierertrag"
    assert found["C0000001"].name == "Milk Fat Yield"
    assert Synonym("rendimiento graso", "EXACT", "SPA") in found["C0000001"].synonyms


def test_sources_hold_for_names_definitions_and_parents(tmp_path):
    found, _ = entities(write(tmp_path / "META"), sources=("SNOMEDCT_US",))
    assert list(found) == ["C0000001", "C0000004", "C0000091", "C0000092"]
    entity = found["C0000001"]
    assert (entity.name, entity.synonyms) == ("milk fat yield (old)", ())
    assert (entity.definition, entity.parents) == ("Another one.", ("C0000002",))
    assert found["C0000092"].consider == ("C0000001",)


@pytest.mark.parametrize("kind", ["T023", "Body Part, Organ, or Organ Component"])
def test_semantic_types_by_code_or_name(tmp_path, kind):
    found, _ = entities(write(tmp_path / "META"), types=(kind,))
    assert list(found) == ["C0000004"]


def test_parents_of_other_types_are_not_dangling(tmp_path):
    folder = write(tmp_path / "META")
    found, _ = entities(folder, types=("T116",))
    assert found["C0000001"].parents == ()
    assert "dangling parent" not in read_ontology(folder, options={"types": "T116"}).facts["problems"]


def test_suppressible_rows_on_demand(tmp_path):
    found, _ = entities(write(tmp_path / "META"), suppressible=True)
    assert Synonym("butterfat crop", "EXACT") in found["C0000001"].synonyms
    assert found["C0000001"].parents == ("C0000002", "C0000004")
    assert found["C0000001"].definition == "Withdrawn."


def test_looser_relations_on_demand(tmp_path):
    found, _ = entities(write(tmp_path / "META"), relations=("PAR", "RB"))
    assert found["C0000001"].parents == ("C0000002", "C0000004")
    found, _ = entities(write(tmp_path / "META"), relations=())
    assert found["C0000001"].parents == ()


def test_prefix(tmp_path):
    found, _ = entities(write(tmp_path / "META"), prefix="UMLS:")
    assert found["UMLS:C0000001"].parents == ("UMLS:C0000002",)
    assert found["UMLS:C0000091"].replaced_by == ("UMLS:C0000001",)


@pytest.mark.parametrize("options", [{"relations": ("CHD",)}, {"types": ("T999",)}])
def test_senseless_settings(tmp_path, options):
    with pytest.raises(ConfigError, match=r"CHD.*PAR or RB|T999.*T023 Body"):
        entities(write(tmp_path / "META"), **options)


def test_a_filter_that_meets_nothing_is_told(tmp_path):
    _, report = entities(write(tmp_path / "META"), sources=("MSH", "MHS"))
    problem = "no name of the source MHS in MRCONSO.RRF"
    assert (None, problem, "there are MSH, MSHGER, MSHSPA, NCI, SNOMEDCT_US") in report.first


MALFORMED = [
    (NAMES.splitlines()[0].replace("|0|N||", ""), "wrong number of fields in MRCONSO.RRF"),
    ("C0000001|ENG|P", "wrong number of fields in MRCONSO.RRF"),
    (NAMES.splitlines()[0] + "more|", "wrong number of fields in MRCONSO.RRF"),
    (NAMES.splitlines()[0].replace("C0000001", "0000001"), "no concept identifier in MRCONSO.RRF"),
    (NAMES.splitlines()[0].replace("fat yield, milk", "  "), "empty name in MRCONSO.RRF"),
    (NAMES.splitlines()[0].replace("C0000001", "C0000000"), "out of order in MRCONSO.RRF"),
]


@pytest.mark.parametrize(("row", "problem"), MALFORMED)
def test_malformed_rows_are_passed_over(tmp_path, row, problem):
    lines = NAMES.splitlines()
    folder = write(tmp_path / "META", MRCONSO="\n".join([*lines[:4], row, *lines[4:]]) + "\n")
    found, report = entities(folder)
    assert found["C0000001"].name == "Milk Fat Yield"
    assert Synonym("MFY", "EXACT", "abbreviation") in found["C0000001"].synonyms
    assert report.counts[problem] == 1
    assert (5, problem) in [(line, kind) for line, kind, _ in report.first]
    with pytest.raises(OntologyError, match=r"MRCONSO\.RRF, line 5: "):
        entities(folder, strict=True)


def test_malformed_rows_of_the_other_files(tmp_path):
    folder = write(
        tmp_path / "META",
        MRSTY="C0000001|T081\n" + TYPES,
        MRDEF=DEFINITIONS + "C0000001x|A14|AT8||MSH|Fat.|N||\n",
        MRREL="C0000001|A14|AUI|PAR|\n" + RELATIONS.replace("PAR|C0000002", "PAR|0000002", 1),
        MRCUI="C0000091\n" + RETIRED + "C|2001AC|SY|||C0000001|Y|\n",
    )
    found, report = entities(folder)
    assert found["C0000001"] == MILK_FAT
    assert report.counts == {
        "wrong number of fields in MRSTY.RRF": 1,
        "unknown concept in MRSTY.RRF": 1,
        "no concept identifier in MRDEF.RRF": 1,
        "wrong number of fields in MRREL.RRF": 1,
        "no concept identifier in MRREL.RRF": 1,
        "wrong number of fields in MRCUI.RRF": 1,
        "no concept identifier in MRCUI.RRF": 1,
    }


def test_windows_line_ends_latin_letters_and_a_missing_last_bar(tmp_path):
    data = NAMES.replace("Udder", "Ud\u00eber").encode("latin-1").replace(b"|N||\n", b"|N|\r\n")
    found, report = entities(write(tmp_path / "META", MRCONSO=b"\xef\xbb\xbf" + data))
    assert found["C0000004"].name == "Ud\u00eber"
    assert dict(report.counts) == {
        "not UTF-8, read as Latin-1 in MRCONSO.RRF": 1,
        "unknown concept in MRSTY.RRF": 1,
    }


def test_unsorted_files_are_refused_with_the_remedy(tmp_path):
    rows = [NAMES.splitlines()[7].replace("C0000002", f"C{number:07}") for number in range(100, 0, -1)]
    folder = write(tmp_path / "META", MRCONSO="\n".join(rows))
    with pytest.raises(OntologyError, match=r"MRCONSO\.RRF, line 12: C0000089 comes after C0000100.*sort -o"):
        entities(folder)


def test_no_names(tmp_path):
    with pytest.raises(OntologyError, match=r"not a UMLS release: it has no MRCONSO"):
        entities(write(tmp_path / "META", MRCONSO=None))


def test_two_releases_in_one_folder(tmp_path):
    for name in ("2025AB", "2026AA"):
        write(tmp_path / name / "META")
    with pytest.raises(OntologyError, match="more than one MRCONSO"):
        entities(tmp_path)


def test_a_short_unsorted_file_is_refused(tmp_path):
    rows = [NAMES.splitlines()[7].replace("C0000002", f"C{number:07}") for number in (2, 1, 1)]
    with pytest.raises(OntologyError, match=r"MRCONSO\.RRF, line 3: C0000001 comes after C0000002.*sort -o"):
        entities(write(tmp_path / "META", MRCONSO="\n".join(rows)))
