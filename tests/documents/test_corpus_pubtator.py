import gzip

import pytest

from spacy_ontolink.documents import GIVEN, SPANS_KEY
from spacy_ontolink.errors import DataError

TITLE, ABSTRACT = "Breast and ovarian cancer after tamoxifen.", "A p53 study of WD in 8 women."
CORPUS = (
    f"11|t|{TITLE}\n11|a|{ABSTRACT}\n"
    "11\t0\t25\tBreast and ovarian cancer\tDisease\tD001943|D010051\tBreast cancer|ovarian cancer\n"
    "11\t32\t41\ttamoxifen\tChemical\tMESH:D013629\n"
    "11\t45\t48\tp53\tGene\t7157;22059\n"
    "11\t58\t60\tWD\tDisease\t-1\n"
    "11\t66\t71\twomen\tSpecies\n"
    "11\tCID\tD013629\tD001943\tNovel\n"
    "\n"
    "12|t|No abstract|t|here\n12|a|\n"
)


def test_mentions_ids_and_relations(rows, write):
    (first, second), tally = rows(write("corpus.txt", CORPUS))
    assert first["text"] == f"{TITLE} {ABSTRACT}"
    assert [mention["text"] for mention in first["mentions"]] == [
        "Breast and ovarian cancer", "tamoxifen", "p53", "WD", "women",
    ]  # fmt: skip
    composite, chemical, gene, missing, bare = first["mentions"]
    assert composite["kb_ids"] == ["MESH:D001943", "MESH:D010051"]
    assert composite["composite"] is True
    assert composite["individual"] == "Breast cancer|ovarian cancer"
    assert chemical == {"start": 32, "end": 41, "text": "tamoxifen", "label": "Chemical", "kb_ids": ["MESH:D013629"]}
    assert gene["kb_ids"] == ["NCBIGene:7157", "NCBIGene:22059"] and "composite" not in gene
    assert missing["kb_ids"] == bare["kb_ids"] == []
    assert missing["raw_id"] == "-1"
    assert first["relations"] == [
        {"type": "CID", "infons": {"column 5": "Novel"}, "args": [
            {"ref": "MESH:D013629", "raw_id": "D013629"}, {"ref": "MESH:D001943", "raw_id": "D001943"},
        ]}
    ]  # fmt: skip
    assert second == {
        "id": "12", "text": "No abstract|t|here", "mentions": [],
        "passages": [{"start": 0, "end": 18, "infons": {"type": "title"}}],
    }  # fmt: skip
    assert (tally.documents, tally.mentions, tally.differing, tally.noted) == (2, 5, 0, {})


def test_documents_have_the_mentions_as_spans(docs, write):
    first, second = docs(write("corpus.pubtator", CORPUS))
    assert [span.text for span in first.spans[SPANS_KEY]][:2] == ["Breast and ovarian cancer", "tamoxifen"]
    assert first.user_data[GIVEN]["mentions"][2]["kb_ids"] == ["NCBIGene:7157", "NCBIGene:22059"]
    assert list(second.spans[SPANS_KEY]) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
        lambda text: "\n \n" + text.replace("\n\n", "\n\n\n"),
        lambda text: text.replace("\n\n", "\n"),
    ],
    ids=["CRLF", "BOM", "blank lines", "no blank lines"],
)
def test_files_as_they_come(rows, write, change):
    assert rows(write("b.txt", change(CORPUS)))[0] == rows(write("a.txt", CORPUS))[0]


def test_gzip_whatever_its_name(rows, write):
    packed = gzip.compress(CORPUS.encode())
    assert rows(write("a.txt.gz", packed))[0] == rows(write("b.txt", packed))[0] == rows(write("c.txt", CORPUS))[0]
    with pytest.raises(DataError, match="not a whole gzip file"):
        rows(write("d.gz", packed[:-20]))


def test_another_text_at_the_offsets_is_told_with_its_place(docs, write, caplog):
    text = "1|t|Milk yield fell\n1\t0\t4\tMilk\tT\tD1\n1\t5\t10\tother\tT\tD1\n1\t0\t10\tMilk  yield\tT\tD1\n"
    (doc,) = docs(write("a.txt", text))
    assert [span.text for span in doc.spans[SPANS_KEY]] == ["Milk", "yield", "Milk yield"]
    assert "1 mention(s) have another text than their offsets show (first: line 3, 5…10)" in caplog.text


def test_mentions_outside_the_text_are_left_out_and_counted(docs, write, caplog):
    text = "1|t|Milk\n1\t0\t9\tMilk\tT\tD1\n1\t2\t2\t\tT\tD1\n1\t3\t1\tx\tT\tD1\n1\t0\t4\tMilk\tT\tD1\n"
    (doc,) = docs(write("a.txt", text))
    assert [span.text for span in doc.spans[SPANS_KEY]] == ["Milk"]
    assert "3 mention(s) left out, since they do not lie in the text (first: line 2)" in caplog.text


def test_overlapping_and_cut_tokens_are_kept(docs, write):
    (doc,) = docs(
        write("a.txt", "1|t|Milk-yield\n1\t0\t10\tMilk-yield\tT\tD1\n1\t1\t4\tilk\tT\tD2\n1\t0\t10\tMilk-yield\tU\t\n")
    )
    assert [span.text for span in doc.spans[SPANS_KEY]] == ["Milk-yield", "Milk", "Milk-yield"]


def test_relations_have_the_ids_that_mentions_of_their_label_have(rows, write):
    text = "1|t|p53\n1\t0\t3\tp53\tGene\t7157\n1\tx\t7157\tHP_0001250\n1\ty\t-1\t22059\n"
    (row,), _ = rows(write("a.pubtator", text))
    refs = [[arg["ref"] for arg in relation["args"]] for relation in row["relations"]]
    assert refs == [["NCBIGene:7157", "HP:0001250"], ["-1", "22059"]]


def test_offsets_of_thousands_of_digits_are_outside_the_text(rows, write):
    (row,), tally = rows(write("a.pubtator", f"1|t|Milk\n1\t{'1' * 5000}\t{'2' * 5000}\tMilk\tT\tD1\n"))
    assert (row["mentions"], *tally.noted) == ([], "mention(s) left out, since they do not lie in the text")


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("1|t|Milk\n1\t0\t4\n", 2, r"3 column\(s\)"),
        ("1|t|Milk\nmore of it\n", 2, r"1 column\(s\)"),
        ("1|t|Milk\n2\t0\t4\tMilk\tT\tD1\n", 2, "belongs to '2'"),
        ("1|t|Milk\n2|a|Yield\n", 2, "belongs to '2'"),
        ("1|t|Milk\n1|a|Yield\n1|a|Yield\n", 3, "where none may stand"),
        ("1|t|Milk\n1\t0\tx\tMilk\tT\tD1\n", 2, "'x', which is no number"),
        ("1|a|Milk\n", 1, "no title line"),
    ],
)
def test_lines_that_cannot_be_used(rows, write, text, line, reason):
    with pytest.raises(DataError, match=rf"a\.pubtator, line {line}: .*{reason}"):
        rows(write("a.pubtator", text))


def test_other_encodings_are_named(rows, write):
    with pytest.raises(DataError, match=r"line 2: not UTF-8 \(byte 0xf6 in column 8\)"):
        rows(write("a.pubtator", "1|t|gut\n1|a|sch\u00f6n\n".encode("latin-1")))


def test_empty_files_and_documents(rows, write):
    assert rows(write("a.pubtator", ""))[0] == []
    (row,), _ = rows(write("b.pubtator", "1|t|\n1|a|\n"))
    assert (row["text"], row["mentions"]) == ("", [])
