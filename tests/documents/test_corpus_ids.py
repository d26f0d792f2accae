import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_ontolink.documents.formats.ids import IdRules, are_ids, spell
from spacy_ontolink.errors import ConfigError


@pytest.mark.parametrize(
    ("raw", "label", "ids"),
    [
        ("D003924", "Disease", ["MESH:D003924"]),
        ("C537528", "", ["MESH:C537528"]),
        ("C0011849", "", ["UMLS:C0011849"]),
        ("MeSH:D003924", "", ["MESH:D003924"]),
        ("mesh: D003924", "", ["MESH:D003924"]),
        ("OMIM:125853", "", ["OMIM:125853"]),
        ("MIM:125853", "", ["OMIM:125853"]),
        ("7157", "Gene", ["NCBIGene:7157"]),
        ("9606", "Species", ["NCBITaxon:9606"]),
        ("7157", "Disease", ["7157"]),
        ("7157(Tax:9606)", "Gene", ["NCBIGene:7157"]),
        ("HP_0001250", "", ["HP:0001250"]),
        ("http://purl.obolibrary.org/obo/HP_0001250", "", ["HP:0001250"]),
        ("HPO:HP:0001250", "", ["HP:0001250"]),
        ("http://example.org/a+b,c", "", ["http://example.org/a+b,c"]),
        ("CVCL_0030", "CellLine", ["cellosaurus:CVCL_0030"]),
        ("rs113488022", "SNP", ["dbSNP:rs113488022"]),
        ("Wikipedia:534366", "", ["Wikipedia:534366"]),
        ("c|SUB|T|1799|A", "DNAMutation", ["tmVar:c|SUB|T|1799|A"]),
        ("tmVar:p|SUB|V|600|E;HGVS:p.V600E;RS#:113488022", "Mutation",
         ["tmVar:p|SUB|V|600|E;HGVS:p.V600E;RS#:113488022"]),
        ("7157;672;7157", "Gene", ["NCBIGene:7157", "NCBIGene:672"]),
    ],
)  # fmt: skip
def test_ids_are_spelled_as_curies(raw, label, ids):
    assert IdRules().read(raw, label) == (ids, False)
    assert [IdRules().read(id, label)[0] for id in ids] == [[id] for id in ids]


@pytest.mark.parametrize("raw", ["", " ", "-", "-1", "None", "NULL", "n/a", "CUI-less"])
def test_missing_ids_are_none(raw):
    assert IdRules().read(raw) == ([], False)


@pytest.mark.parametrize(
    "raw", ["D001943|D010051", "D001943+D010051", "MESH:D001943, D010051", "D001943|D010051|D001943"]
)
def test_composite_mentions_have_the_ids_of_their_parts(raw):
    assert IdRules().read(raw) == (["MESH:D001943", "MESH:D010051"], True)


def test_a_part_without_id_leaves_the_mention_composite():
    assert IdRules().read("D001943|-1") == (["MESH:D001943"], True)


@pytest.mark.parametrize(
    ("raw", "ids", "composite"),
    [
        ("http://x.org/1;http://x.org/2", ["http://x.org/1", "http://x.org/2"], False),
        ("http://x.org/1|HP:0001250", ["http://x.org/1", "HP:0001250"], True),
        ("HP:0001250;http://x.org/a,b", ["HP:0001250", "http://x.org/a,b"], False),
        ("http://x.org/a;v=2; local", ["http://x.org/a;v=2", "local"], False),
        ("http://x.org/c++", ["http://x.org/c++"], False),
        ("http://x.org/1|-1", ["http://x.org/1"], True),
        (r"a\;b;c\\", ["a;b", "c\\"], False),
        (r"DOMAIN\name", [r"DOMAIN\name"], False),
    ],
)
def test_iris_and_separators_in_ids(raw, ids, composite):
    assert IdRules().read(raw) == (ids, composite)


ODD_ID = st.text(st.sampled_from("ab7|+;,\\ /-"), min_size=1, max_size=8).map(str.strip)
SOME_ID = ODD_ID | ODD_ID.map("http://x.org/{}".format) | st.sampled_from(
    ["HP:0001250", "tmVar:c|SUB|T|1799|A", "http://x.org/a;HP:0001250", "http://x.org/1", "c++"]
)  # fmt: skip
KEPT_ID = SOME_ID.filter(lambda id: IdRules().read_one(id) == [id])


@settings(deadline=None, max_examples=400)
@given(st.lists(KEPT_ID, min_size=1, max_size=4, unique=True), st.booleans())
def test_what_is_spelled_is_read_as_the_same(ids, composite):
    assert IdRules().read(spell(ids, composite, "")) == (ids, composite)


def test_rules_of_the_user_go_first():
    rules = IdRules.of(["X", "Gene=ENSEMBL:", "MeSH:=mesh"])
    assert rules.read("D003924") == (["X:D003924"], False)
    assert rules.read("7157", "Gene") == (["ENSEMBL:7157"], False)
    assert rules.read("MESH:D003924") == (["mesh:D003924"], False)
    assert rules.applied(["7157", "HP:1", "MeSH:D1"], "Gene") == ["ENSEMBL:7157", "HP:1", "mesh:D1"]
    assert IdRules().applied(["7157", "mesh:D1"], "Gene") == ["7157", "mesh:D1"]


@pytest.mark.parametrize("option", ["", "Gene=", "=X", "a:b", "A=B=", "MeSH:="])
def test_senseless_rules(option):
    with pytest.raises(ConfigError, match="--prefix"):
        IdRules.of([option])


def test_notes_that_are_ids():
    assert are_ids("C0011849") and are_ids("HP:0001250, HP_0002069") and are_ids("MESH:D003924|D001943")
    assert not are_ids("") and not are_ids("see page 3") and not are_ids("type: 2")
