"""Ids, names of documents and odd values that formats have no plain place for, there and back."""

import json

import pytest

from spacy_ontolink.documents import convert_corpus
from spacy_ontolink.errors import DataError

IRI, OTHER, ODD = "http://x.org/a,_b", "http://x.org/c++", "EC:1.1.1.1|a;b"
FORMATS = ("pubtator", "bioc-json", "bioc-xml", "brat")


@pytest.fixture
def there_and_back(tmp_path, write, nlp, rows):
    """Send rows to a format and back; return them, what was counted, and the kinds of mentions."""

    def convert(documents, to):
        done = convert_corpus(write("in.jsonl", documents), tmp_path / "out", to, nlp)
        found, _ = rows(tmp_path / "out", format=to)
        return found, done.written.noted, done.kinds

    return convert


def mention(*ids, **more):
    return {"start": 0, "end": 4, "label": "x", "kb_ids": [*ids], **more}


@pytest.mark.parametrize("to", FORMATS)
@pytest.mark.parametrize("composite", [False, True])
@pytest.mark.parametrize(
    "ids", [[IRI], [ODD], [IRI, OTHER], [IRI, "HP:0001250"], ["HP:0001250", OTHER], [OTHER, "local"], [ODD, IRI, "a+b"]]
)
def test_ids_come_back(there_and_back, to, ids, composite):
    mark = {"composite": True} if composite else {}
    (row,), noted, _ = there_and_back([{"id": "1", "text": "Milk", "mentions": [mention(*ids, **mark)]}], to)
    assert (row["mentions"][0]["kb_ids"], row["mentions"][0].get("composite", False)) == (ids, composite)
    assert not noted


@pytest.mark.parametrize("to", FORMATS)
def test_ids_that_do_not_come_back_are_counted(there_and_back, to):
    mentions = [mention("none"), mention("urn:lsid:x"), mention("X:1")]
    _, noted, _ = there_and_back([{"id": "1", "text": "Milk", "mentions": mentions}], to)
    (what,) = noted
    assert to in what and "read back otherwise" in what and noted[what] == (2, "1")


@pytest.mark.parametrize("to", ["pubtator", "brat"])
def test_ids_with_tabs_are_counted(there_and_back, to):
    _, noted, _ = there_and_back([{"id": "1", "text": "Milk", "mentions": [mention("X:a\tb")]}], to)
    assert len(noted) == 1


def test_ids_as_a_file_had_them_are_kept_where_one_reference_can(there_and_back):
    one = mention("MESH:D001943", raw_id="D001943")
    several = mention("MESH:D001943", "MESH:D010051", raw_id="D001943;D010051")
    nil = mention("NIL", raw_id="-1")
    (row,), noted, _ = there_and_back([{"id": "1", "text": "Milk", "mentions": [one, several, nil]}], "brat")
    assert [own.get("raw_id") for own in row["mentions"]] == ["D001943", None, "-1"]
    assert [own["kb_ids"] for own in row["mentions"]] == [one["kb_ids"], several["kb_ids"], []]
    (what,) = noted
    assert "'raw_id'" in what and noted[what] == (1, "1")


def test_nil_is_no_id(there_and_back):
    _, noted, kinds = there_and_back([{"id": "1", "text": "Milk", "mentions": [mention("NIL")]}], "bioc-json")
    assert (kinds["without id"], kinds["with several ids"], noted) == (1, 0, {})


def test_blanks_around_ids_are_no_part_of_them(rows, write):
    (row,), _ = rows(write("a.jsonl", [{"text": "Milk", "mentions": [mention(" X:1 ", " ", "X:a b")]}]))
    assert row["mentions"][0]["kb_ids"] == ["X:1", "X:a b"]


@pytest.mark.parametrize("to", FORMATS)
def test_a_mention_without_text_has_that_of_its_offsets(there_and_back, to):
    (row,), _, _ = there_and_back([{"id": "1", "text": "Milk", "mentions": [mention("X:1", text=None)]}], to)
    assert row["mentions"][0]["text"] == "Milk"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"text": 5}, "'text' of mention 0…4 is no string: 5"),
        ({"start": 0.0}, r"mention 0\.0…4: .* whole numbers"),
        ({"start": 4}, "mention 4…4 has no characters"),
        ({"end": 5}, "does not lie in a text of 4 characters"),
    ],
)
def test_messages_give_the_reason(rows, write, change, reason):
    path = write("a.jsonl", [{"text": "Milk", "mentions": [mention("X:1", **change)]}])
    with pytest.raises(DataError, match=f"line 1: .*{reason}"):
        rows(path)


@pytest.mark.parametrize("number", ["Infinity", "-Infinity", "NaN", "1e999", "3.7", '"x"', "null", "[1]"])
@pytest.mark.parametrize("place", ['{"offset": %s, "length": 1}', '{"offset": 0, "length": %s}'])
def test_offsets_that_are_no_numbers(rows, write, number, place):
    document = '{"id": "1", "passages": [{"offset": 0, "text": "Milk", "annotations": [{"locations": [%s]}]}]}'
    with pytest.raises(DataError, match="no offset or length"):
        rows(write("a.json", document % (place % number)))
    assert len(rows(write("b.json", document % (place % "1.0")))[0][0]["mentions"]) == 1


@pytest.mark.parametrize("keys", [{"relations": [{"type": "x", "args": ["T1"]}]}, {"collection": "x"}])
def test_other_shapes_are_said_to_be_that(there_and_back, keys):
    _, noted, _ = there_and_back([{"id": "1", "text": "Milk", "mentions": [], **keys}], "bioc-json")
    (what,) = noted
    assert f"'{next(iter(keys))}' of a shape that is not understood" in what


@pytest.mark.parametrize(
    "ids",
    [
        ["a", "a.txt/b", "a.ANN/c", "a.txt"],
        ["\u00e4/\u4e2d", "a b", "100%", "100%25", "a:b"],
        ["../x", "/etc/y", ".hidden", "a/.b"],
    ],
)
def test_names_of_documents_come_back(there_and_back, ids):
    found, _, _ = there_and_back([{"id": id, "text": "Milk", "mentions": []} for id in ids], "brat")
    assert {row["id"] for row in found} == {id if id[0] != "/" else f"_{id}" for id in ids}


def test_names_that_files_can_have_are_left(there_and_back, tmp_path):
    _, noted, _ = there_and_back([{"id": "\u00e4 (1)", "text": "Milk", "mentions": []}], "brat")
    assert (tmp_path / "out" / "\u00e4 (1).txt").is_file() and not noted


@pytest.mark.parametrize("id", ["x" * 300, "\u4e2d" * 300, "/".join("abc" * 2000), "%" * 300, ":" * 100])
def test_long_names_are_cut_and_counted(there_and_back, id):
    documents = [{"id": id + end, "text": json.dumps(end), "mentions": []} for end in "ab"]
    found, noted, _ = there_and_back(documents, "brat")
    assert {row["text"] for row in found} == {'"a"', '"b"'}
    assert sum(number for number, _ in noted.values()) == 2
