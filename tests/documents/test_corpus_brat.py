import pytest

from spacy_ontolink.documents import SPANS_KEY
from spacy_ontolink.errors import DataError

TEXT = "Breast and ovarian cancer.\nNo familial\nadenomatous polyposis.\n"
ANN = (
    "T1\tDisease 0 6;19 25\tBreast cancer\n"
    "T2\tDisease 11 25\tovarian cancer\n"
    "T3\tDisease 30 38;39 60\tfamilial adenomatous polyposis\n"
    "N1\tReference T1 MESH:D001943\tBreast Neoplasms\n"
    "N2\tReference T2 MESH:D010051\tOvarian Neoplasms\n"
    "N3\tReference T2 OMIM:167000\t\n"
    "A1\tNegation T3\n"
    "A2\tConfidence T3 L1\n"
    "R1\tRelated Arg1:T1 Arg2:T2\n"
    "E1\tDisease:T3 Cause:T1\n"
    "*\tEquiv T1 T2\n"
    "#1\tAnnotatorNotes T3\tsee page 3\n"
)


@pytest.fixture
def folder(write):
    write("corpus/a.txt", TEXT)
    path = write("corpus/a.ann", ANN)
    write("corpus/b.txt", "")
    write("corpus/b.ann", "")
    write("corpus/deep/er/c.txt", "Nothing")
    return path.parent


def test_a_folder(rows, folder):
    (first, empty, bare), tally = rows(folder)
    assert [row["id"] for row in (first, empty, bare)] == ["a", "b", "deep/er/c"]
    assert first["text"] == TEXT
    split, several, broken = first["mentions"]
    assert split == {
        "id": "T1", "start": 0, "end": 25, "text": "Breast cancer", "label": "Disease", "kb_ids": ["MESH:D001943"],
        "segments": [[0, 6], [19, 25]],
    }  # fmt: skip
    assert several["kb_ids"] == ["MESH:D010051", "OMIM:167000"]
    assert (broken["text"], "segments" in broken) == ("familial\nadenomatous polyposis", False)
    assert first["attributes"] == [
        {"id": "A1", "type": "Negation", "ref": "T3"},
        {"id": "A2", "type": "Confidence", "ref": "T3", "value": "L1"},
    ]
    assert [(relation["id"], relation["type"]) for relation in first["relations"]] == [
        ("R1", "Related"), ("E1", "Disease"), ("*", "Equiv"),
    ]  # fmt: skip
    assert first["notes"] == [{"id": "#1", "type": "AnnotatorNotes", "ref": "T3", "text": "see page 3"}]
    assert (empty["mentions"], bare["mentions"], tally.mentions, tally.differing) == ([], [], 3, 0)


@pytest.mark.parametrize("name", ["a.txt", "a.ann"])
def test_one_of_a_pair_is_enough(rows, folder, name):
    assert rows(folder / name)[0] == rows(folder)[0][:1]


def test_documents(docs, folder):
    doc, *_ = docs(folder)
    assert [span.text for span in doc.spans[SPANS_KEY]] == [
        TEXT[:25],
        "ovarian cancer",
        "familial\nadenomatous polyposis",
    ]


def test_crlf_counts_as_two_characters(rows, write):
    write("c/a.txt", TEXT.replace("\n", "\r\n"))
    path = write("c/a.ann", "T1\tDisease 31 39;41 62\tfamilial adenomatous polyposis\r\n")
    (row,), tally = rows(path.parent)
    assert (row["mentions"][0]["end"], tally.differing) == (62, 0)


@pytest.mark.parametrize(("note", "ids"), [("C0006142", ["UMLS:C0006142"]), ("see C0006142 there", [])])
def test_notes_are_ids_where_nothing_else_is(rows, write, note, ids):
    write("c/a.txt", TEXT)
    path = write("c/a.ann", f"T1\tDisease 0 6\tBreast\n#1\tAnnotatorNotes T1\t{note}\n")
    assert rows(path.parent)[0][0]["mentions"][0]["kb_ids"] == ids


def test_what_cannot_be_placed_is_counted_with_its_line(docs, write, caplog):
    write("c/a.txt", "Milk")
    path = write(
        "c/a.ann", "T1\tX 0 4\tMilk\nT2\tX 2 9\tlk\nN1\tReference T2 X:1\t\nN2\tReference T9 X:1\t\nT3\tX 0 2\tother\n"
    )
    (doc,) = docs(path.parent)
    assert len(doc.spans[SPANS_KEY]) == 2
    assert "1 mention(s) left out, since they do not lie in the text (first: a.ann, line 2)" in caplog.text
    assert "1 reference(s) of something that is no mention (first: a.ann, line 4)" in caplog.text
    assert "1 mention(s) have another text than their offsets show (first: a.ann, line 5, 0…2)" in caplog.text


def test_a_reference_is_one_id(rows, write):
    write("c/a.txt", "Milk")
    path = write("c/a.ann", "T1\tX 0 4\tMilk\nN1\tReference T1 X:a;b, c|d\t\nN2\tReference T1 http://x.org/c++\t\n")
    (mention,) = rows(path.parent)[0][0]["mentions"]
    assert (mention["kb_ids"], "composite" in mention) == (["X:a;b, c|d", "http://x.org/c++"], False)


def test_offsets_of_thousands_of_digits_are_outside_the_text(rows, write):
    write("c/a.txt", "Milk")
    (row,), tally = rows(write("c/a.ann", f"T1\tX 0 {'4' * 5000}\tMilk\n").parent)
    assert (row["mentions"], *tally.noted) == ([], "mention(s) left out, since they do not lie in the text")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("T1\tDisease\tx", "type and offsets"),
        ("T1\tDisease 0;4\tx", "type and offsets"),
        ("T1 Disease 0 4 x", "no annotation of BRAT"),
        ("some text", "no annotation of BRAT"),
        ("N1\tReference T1", "should be followed"),
        ("T0\tX 0 4\tMilk", "two annotations 'T0'"),
    ],
)
def test_lines_that_cannot_be_used(rows, write, line, reason):
    write("c/a.txt", "Milk")
    path = write("c/a.ann", f"T0\tX 0 4\tMilk\n{line}\n")
    with pytest.raises(DataError, match=rf"a\.ann, line 2: .*{reason}"):
        rows(path.parent)


def test_files_that_are_missing(rows, write, tmp_path):
    path = write("c/a.ann", "")
    with pytest.raises(DataError, match=r"a\.ann: no text beside it.*a\.txt"):
        rows(path.parent)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"without \.ann files"):
        rows(tmp_path / "empty")
    with pytest.raises(DataError, match="No such input file"):
        rows(tmp_path / "none", format="brat")


def test_other_encodings_are_named(rows, write):
    path = write("c/a.txt", "gut\nsch\u00f6n".encode("latin-1"))
    write("c/a.ann", "")
    with pytest.raises(DataError, match=r"a\.txt, line 2: not UTF-8 \(byte 0xf6 in column 4\)"):
        rows(path.parent)
