import pytest
from spacy.util import registry

from spacy_ontolink.errors import ConfigError
from spacy_ontolink.kb.readers import FORMATS, make_ontology_reader, read_ontology
from spacy_ontolink.kb.readers.options import check_options, fit_options, options_of, reader_of
from spacy_ontolink.registry import check_part
from spacy_ontolink.types import Reader

ROWS = (
    "C0000001|ENG|P|L1|PF|S1|Y|A1||||MSH|MH|D1|milk|0|N||\nC0000001|SPA|P|L2|PF|S2|Y|A2||||MSHSPA|MH|D1|leche|3|N||\n"
)


@pytest.fixture
def umls(tmp_path):
    folder = tmp_path / "META"
    folder.mkdir()
    (folder / "MRCONSO.RRF").write_text(ROWS)
    return folder


def test_every_format_has_a_reader():
    assert all(callable(reader_of(format)) for format in FORMATS)


def test_options_are_the_keyword_arguments():
    assert options_of("mesh") == {"prefix": ""}
    assert options_of("skos") == {"languages": ("en",)}
    assert options_of("obo") == {}


@pytest.mark.parametrize(
    ("given", "fitted"),
    [
        ({"languages": "ENG, SPA"}, {"languages": ("ENG, SPA",)}),
        ({"languages": "ENG,SPA"}, {"languages": ("ENG", "SPA")}),
        ({"types": "T047,Amino Acid, Peptide, or Protein"}, {"types": ("T047", "Amino Acid, Peptide, or Protein")}),
        ({"languages": ""}, {"languages": ()}),
        ({"languages": ["ENG"]}, {"languages": ("ENG",)}),
        ({"suppressible": "True"}, {"suppressible": True}),
        ({"suppressible": False}, {"suppressible": False}),
        ({"prefix": "UMLS:", "refsets": "900"}, {"prefix": "UMLS:"}),
    ],
)
def test_values_take_the_type_of_the_default(given, fitted):
    assert fit_options(given, "umls") == fitted


@pytest.mark.parametrize(
    "given", [{"suppressible": "maybe"}, {"languages": True}, {"languages": [1]}, {"prefix": True}]
)
def test_values_of_another_kind(given):
    with pytest.raises(ConfigError, match=r"makes no sense; give (true or false|a list of texts|a text)"):
        fit_options(given, "umls")


def test_unknown_options():
    check_options({"refsets": "900"}, ["umls", "snomed"])
    with pytest.raises(ConfigError, match=r"no option 'lang'.*: umls: languages.*prefix$"):
        check_options({"lang": "ENG"}, ["umls", "obo"])
    with pytest.raises(ConfigError, match="the options are: none"):
        check_options({"lang": "ENG"}, ["obo"])
    with pytest.raises(ConfigError, match=r"no option 'languages'.*mesh: prefix"):
        make_ontology_reader("desc2026.xml", "mesh", options={"languages": "ENG"})


def test_each_file_takes_its_own(umls, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("id,name\nX:1,fat\n")
    kb = read_ontology([umls, table], options={"languages": "SPA"})
    assert [kb[id].name for id in kb] == ["leche", "fat"]
    with pytest.raises(ConfigError, match="no option 'languages'"):
        read_ontology(table, options={"languages": "SPA"})


SETTINGS = {
    "UmlsReader": {"languages": ["SPA"], "sources": [], "types": [], "suppressible": True, "prefix": "UMLS:"},
    "MeshReader": {"prefix": "MESH:"},
    "SnomedReader": {"languages": ["en"], "refsets": ["900000000000508004"]},
    "SkosReader": {"languages": ["fr"]},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_readers_for_configs(name, umls):
    block = {"@ontolink_readers": f"spacy-ontolink.{name}.v1", "path": str(umls), **SETTINGS[name]}
    reader = check_part(registry.resolve({"kb_loader": block})["kb_loader"], Reader, "kb_loader")
    assert reader.settings["options"].items() >= SETTINGS[name].items()
    if name == "UmlsReader":
        assert reader()["UMLS:C0000001"].name == "leche"


def test_the_defaults_of_configs_are_those_of_the_readers(umls):
    for name in SETTINGS:
        block = {"@ontolink_readers": f"spacy-ontolink.{name}.v1", "path": str(umls)}
        settings = registry.resolve({"kb_loader": block})["kb_loader"].settings
        assert fit_options(settings["options"], settings["format"]) == options_of(settings["format"])


def test_a_reader_tells_the_files_of_a_release(umls, tmp_path):
    (umls / "MRSTY.RRF").write_text("")
    (umls / "MRSAT.RRF").write_text("")
    names = [umls / "MRCONSO.RRF", umls / "MRSTY.RRF"]
    assert make_ontology_reader(str(umls)).files == names
    assert make_ontology_reader(str(umls / "MRCONSO.RRF")).files == names
    assert make_ontology_reader("t.obo").files[0].name == "t.obo"
