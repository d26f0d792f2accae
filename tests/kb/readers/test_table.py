import gzip

import pytest

from spacy_ontolink.errors import ConfigError, OntologyError
from spacy_ontolink.kb.readers.report import ReadReport
from spacy_ontolink.kb.readers.table import read_table
from spacy_ontolink.types import Entity, Synonym


@pytest.fixture
def read(tmp_path):
    def read(text, columns=None, strict=False):
        path = tmp_path / "t.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        read.report = ReadReport(path, strict)
        return list(read_table(path, read.report, columns))

    return read


def names(entities):
    return [(entity.id, entity.name) for entity in entities]


def test_all_columns(read):
    header = "ID,Label,Synonyms,exact synonym,Definition,Parents,alt_id,Semantic Types,xref,Deprecated,replaced_by\n"
    assert read(
        header
        + 'T:1,"fat, share of",BF | fat |,body fat,"Say ""fat""",T:0|T:9,T:10,trait|slim,X:1,no,\n'
        + "T:2,old,,,,,,,,TRUE,T:1\n"
    ) == [
        Entity(
            "T:1",
            "fat, share of",
            (Synonym("BF"), Synonym("fat"), Synonym("body fat", "EXACT")),
            definition='Say "fat"',
            parents=("T:0", "T:9"),
            alt_ids=("T:10",),
            types=("trait", "slim"),
            xrefs=("X:1",),
        ),
        Entity("T:2", "old", obsolete=True, replaced_by=("T:1",)),
    ]


@pytest.mark.parametrize("delimiter", ["\t", ",", ";"])
def test_delimiters(read, delimiter):
    rows = [("concept_id", "canonical_name", "aliases"), ("T:1", '"a, b; c"', "x|y"), ("T:2", "d", "")]
    entities = read("\n".join(delimiter.join(row) for row in rows))
    assert names(entities) == [("T:1", "a, b; c"), ("T:2", "d")]
    assert [synonym.text for synonym in entities[0].synonyms] == ["x", "y"]


def test_line_ends_and_byte_order_mark(read):
    assert names(read(b'\xef\xbb\xbfid,name\r\nT:1,"a\r\nb"\r\n\r\nT:2,c\r\n')) == [("T:1", "a\nb"), ("T:2", "c")]
    assert names(read("id\tname\nT:1\té\n".encode("utf-16"))) == [("T:1", "é")]


def test_latin_1_is_repaired_and_reported(read):
    assert names(read("id,name\nT:1,Ménière\n".encode("latin-1"))) == [("T:1", "Ménière")]
    assert read.report.first[0][0] == 2


def test_gzip(tmp_path):
    path = tmp_path / "t.tsv.gz"
    path.write_bytes(gzip.compress(b"id\tname\nT:1\ta\n", mtime=0))
    assert names(read_table(path, ReadReport(path))) == [("T:1", "a")]


def test_rows_of_another_width_are_counted_not_shifted(read):
    entities = read('id,definition,name\nT:1,a\nT:2,b,c,d\n"T:3","x\ny",z\nT:4\n,,f\nT:6,,\nT:7,h,g\n')
    assert names(entities) == [("T:3", "z"), ("T:7", "g")]
    assert read.report.counts == {"wrong number of fields": 3, "empty id": 1, "empty name": 1}
    assert [line for line, *_ in read.report.first] == [2, 3, 6, 7, 8]
    with pytest.raises(OntologyError, match="line 2: wrong number"):
        read("id,definition,name\nT:1,a\n", strict=True)


def test_a_row_may_leave_out_the_empty_cells_at_its_end(read):
    header = "id,name,definition,synonyms,obsolete\n"
    entities = read(header + "T:1,a\nT:2,b,c\nT:3,d,,x|y\n", strict=True)
    assert entities == [
        Entity("T:1", "a"),
        Entity("T:2", "b", definition="c"),
        Entity("T:3", "d", (Synonym("x"), Synonym("y"))),
    ]
    assert names(read("definition\tname\tid\tparents\nb\tc\tT:1\n")) == [("T:1", "c")]


@pytest.mark.parametrize("row", ["T:1", "T:1,", ",a", " ,a,"])
def test_a_short_row_without_id_or_name_is_a_problem(read, row):
    assert read(f"id,name,definition,parents\n{row}\n") == []
    assert read.report.counts == {"wrong number of fields": 1}


def test_a_quote_that_is_never_closed_costs_one_row(read):
    assert names(read('id,name\nT:1,a\nT:2,"b\n' + "".join(f"T:{n},c\n" for n in range(3, 500))))[:2] == [
        ("T:1", "a"),
        ("T:3", "c"),
    ]
    assert read.report.first == [(3, "quote that is never closed", 'T:2,"b')]
    assert names(read('id\tname\nT:1\t"a" b\nT:2\t"c\nT:3\td\n')) == [("T:1", '"a" b'), ("T:2", '"c'), ("T:3", "d")]


@pytest.mark.parametrize(
    ("text", "columns", "message"),
    [
        ("code_x,name\n1,a\n", None, "'id' for id; the columns are: code_x, name"),
        ("id,nom\n1,a\n", None, "'name' for name; the columns are: id, nom"),
        ("T:1\ta\nT:2\tb\n", None, "without a header line, give positions"),
        ("id,name\n1,a\n", {"synonyms": "other"}, "'other' for synonyms"),
        ("T:1,a\n", {"id": "1", "name": "3"}, "'3' for name"),
        ("", None, "empty"),
    ],
)
def test_missing_columns(read, text, columns, message):
    with pytest.raises(OntologyError, match=message):
        read(text, columns)


def test_named_columns(read):
    text = "source\tsubject_id\tpredicate_id\tsource_value\ttranslation_value\n" + "".join(
        f"hp\tT:{n}\t{predicate}\tx\t{value}\n"
        for n, predicate, value in [(1, "rdfs:label", "Hueso"), (2, "rdfs:label", "NA"), (3, "IAO:0000115", "Es.")]
    )
    assert names(read(text, {"id": "subject_id", "name": "translation_value"})) == [("T:1", "Hueso")]
    assert names(read(text, {"name": "Source Value"}))[2] == ("T:3", "x")
    with pytest.raises(ConfigError, match="unknown role 'nme'; the roles are: id, name"):
        read(text, {"nme": "x"})


def test_positions(read):
    positions = {"id": "2", "name": "1"}
    assert names(read("a\tT:1\nb\tT:2\n", positions)) == [("T:1", "a"), ("T:2", "b")]
    assert names(read("name\tid\nb\tT:2\n", positions)) == [("T:2", "b")]  # there is a header line after all


def test_comments_above_the_header(read):
    assert names(read("# made by hand, today\n#id,name\nT:1,a\n")) == [("T:1", "a")]


def test_class_iris_become_curies(read):
    entity = read(
        "Class ID,Preferred Label,Parents\nhttp://purl.obolibrary.org/obo/T_1,a,http://purl.obolibrary.org/obo/T_0\n"
    )[0]
    assert (entity.id, entity.parents) == ("T:1", ("T:0",))


def test_columns_that_nothing_is_read_from_are_told_even_in_strict_mode(read):
    assert names(read("Code,Label,Others\nT:1,milk yield,yield of milk\n", strict=True)) == [("T:1", "milk yield")]
    assert read.report.first == [(None, "columns not used", "Others")]
