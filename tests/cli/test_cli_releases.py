"""build, update and info on the folder of a release, with options of its reader."""

import json

import pytest
import spacy

NAMES = """\
C0000001|ENG|P|L1|PF|S1|Y|A1||||MSH|MH|D1|milk yield|0|N||
C0000001|SPA|P|L2|PF|S2|Y|A2||||MSHSPA|MH|D1|producción de leche|3|N||
C0000002|ENG|P|L3|PF|S3|Y|A3||||NCI|PT|C1|udder|0|N||
broken row
"""
TYPES = "C0000001|T081|A|Quantitative Concept|AT1||\nC0000002|T023|A|Body Part, Organ, or Organ Component|AT2||\n"
CONFIG = """
[paths]
ontology = null
[nlp]
lang = "en"
pipeline = ["linker"]
[components]
[components.linker]
factory = "ontolink_retriever"
[initialize]
[initialize.components]
[initialize.components.linker]
[initialize.components.linker.kb_loader]
@ontolink_readers = "spacy-ontolink.UmlsReader.v1"
path = ${paths.ontology}
languages = ["SPA"]
"""


@pytest.fixture
def umls(tmp_path):
    folder = tmp_path / "2026AA" / "META"
    folder.mkdir(parents=True)
    (folder / "MRCONSO.RRF").write_text(NAMES, "utf-8")
    (folder / "MRSTY.RRF").write_text(TYPES, "utf-8")
    return folder


def names(path):
    kb = spacy.load(path).get_pipe("ontolink_retriever").kb
    return [kb[id].name for id in kb]


def test_build_from_a_folder(ontolink, umls, tmp_path):
    result = ontolink("build", umls, tmp_path / "out")
    assert result.code == 0
    assert "line 4: wrong number of fields in MRCONSO.RRF" in result.err
    assert names(tmp_path / "out") == ["milk yield", "udder"]
    nlp = spacy.load(tmp_path / "out")
    assert nlp.get_pipe("ontolink_retriever").kb.types()["T023"] == 1


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (["--option", "types=Body Part, Organ, or Organ Component"], ["udder"]),
        (["--option", "languages=SPA,ENG"], ["producción de leche", "udder"]),
        (["--option", "languages=SPA", "--option", "languages=ENG"], ["producción de leche", "udder"]),
        (["--option", "sources=NCI", "--option", "prefix=UMLS:"], ["udder"]),
    ],
)
def test_options_of_the_reader(ontolink, umls, tmp_path, options, found):
    assert ontolink("build", umls, tmp_path / "out", *options).code == 0
    assert names(tmp_path / "out") == found


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("languages", "--option 'languages' is not of the form NAME=VALUE"),
        ("lang=ENG", "There is no option 'lang' for what is read here; the options are: umls: languages, sources"),
        ("suppressible=maybe", "suppressible = 'maybe' makes no sense; give true or false"),
        ("types=T999", "types = 'T999' makes no sense; give some of T023 Body Part"),
    ],
)
def test_options_that_make_no_sense(refused, umls, tmp_path, option, words):
    assert words in refused("build", umls, tmp_path / "out", "--option", option)
    assert not (tmp_path / "out").exists()


def test_a_config_with_a_reader_of_its_own(ontolink, refused, umls, tmp_path):
    config = tmp_path / "config.cfg"
    config.write_text(CONFIG)
    assert ontolink("build", umls, tmp_path / "out", "--config", config).code == 0
    kb = spacy.load(tmp_path / "out").get_pipe("linker").kb
    assert [kb[id].name for id in kb] == ["producción de leche"]
    reason = refused("build", umls, tmp_path / "o", "--config", config, "--option", "languages=ENG")
    assert "--option and the kb_loader of --config" in reason


def test_update_to_the_next_release(ontolink, umls, tmp_path):
    assert ontolink("build", umls, tmp_path / "out", "--option", "types=T081").code == 0
    (umls / "MRCUI.RRF").write_text("C0000009|2025AB|SY|||C0000001|Y|\n")
    (umls / "MRCONSO.RRF").write_text(NAMES.replace("milk yield", "yield of milk"), "utf-8")
    assert ontolink("update", tmp_path / "out", umls, tmp_path / "new", "--option", "types=T081").code == 0
    assert names(tmp_path / "new") == ["yield of milk"]
    assert spacy.load(tmp_path / "new").get_pipe("ontolink_retriever").kb.resolve("C0000009") == "C0000001"


def test_info(ontolink, umls):
    facts = json.loads(ontolink("info", umls.parent, "--json").out)
    assert (facts["kind"], facts["entities"], facts["names"]) == ("ontology", 2, 2)


def test_a_release_as_the_ontology_of_a_component(umls, tmp_path, monkeypatch):
    monkeypatch.setenv("ONTOLINK_CACHE", str(tmp_path / "cache"))
    for text in ("milk yield", "yield of milk"):
        (umls / "MRCONSO.RRF").write_text(NAMES.replace("milk yield", text), "utf-8")
        nlp = spacy.blank("en")
        nlp.add_pipe("ontolink_retriever", config={"ontology": str(umls)})
        assert nlp.get_pipe("ontolink_retriever").kb["C0000001"].name == text
    assert len(list((tmp_path / "cache").iterdir())) == 2


def test_update_reads_with_the_options_of_the_build(ontolink, umls, tmp_path):
    assert ontolink("build", umls, tmp_path / "out", "--option", "types=T081", "--option", "prefix=UMLS:").code == 0
    (umls / "MRCONSO.RRF").write_text(NAMES.replace("milk yield", "yield of milk"), "utf-8")
    result = ontolink("update", tmp_path / "out", umls, tmp_path / "new")
    assert "As at the build: --option types=T081 --option prefix=UMLS:" in result.err
    assert names(tmp_path / "new") == ["yield of milk"]
    assert ontolink("update", tmp_path / "new", umls, tmp_path / "other", "--option", "types=T023,T081").code == 0
    kb = spacy.load(tmp_path / "other").get_pipe("ontolink_retriever").kb
    assert list(kb) == ["UMLS:C0000001", "UMLS:C0000002"]


def test_update_reads_a_table_with_the_columns_of_the_build(ontolink, tmp_path):
    table = tmp_path / "table.dat"
    options = ["--columns", "id=KEY,name=WORD", "--format", "table"]
    for out, word in (("out", "milk"), ("new", "whole milk")):
        table.write_text(f"KEY,WORD,OTHER\nX:1,{word},a\nX:2,fat,b\n")
        before = [] if out == "out" else [tmp_path / "out"]
        done = ontolink("update" if before else "build", *before, table, tmp_path / out, *([] if before else options))
        assert done.code == 0
    assert names(tmp_path / "new") == ["whole milk", "fat"]


def test_options_of_another_format_are_not_kept(ontolink, umls, tmp_path):
    assert ontolink("build", umls, tmp_path / "out", "--option", "types=T081").code == 0
    table = tmp_path / "table.csv"
    table.write_text("id,name\nC0000001,yield\n")
    result = ontolink("update", tmp_path / "out", table, tmp_path / "new")
    assert (result.code, names(tmp_path / "new")) == (0, ["yield"])
    assert "As at the build" not in result.err


def test_another_ontology_without_prefixes(ontolink, refused, umls, tmp_path):
    assert ontolink("build", umls, tmp_path / "out", "--option", "prefix=UMLS:").code == 0
    assert "(no prefix there, UMLS here)" in refused(
        "update", tmp_path / "out", umls, tmp_path / "new", "--option", "prefix="
    )


def test_info_reads_with_options(ontolink, refused, umls):
    facts = json.loads(ontolink("info", umls, "--option", "types=T023", "--json").out)
    assert facts["entities"] == 1
    assert "'--format'" in refused("info", umls, "--format", "foo")


def test_problems_are_told_once(ontolink, tmp_path):
    table = tmp_path / "flat.csv"
    table.write_text("id,name\nX:1,milk\n")
    result = ontolink("build", table, tmp_path / "out", "--format", "skos")
    assert result.code == 2
    assert result.err.count("passed over while reading") == 1
