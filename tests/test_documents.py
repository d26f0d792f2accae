import gzip
import io
import json
import sys
from pathlib import Path

import pytest
import spacy
from spacy.tokens import Doc, DocBin, Span
from spacy.tokens.underscore import Underscore

from spacy_ontolink.documents import GIVEN, SPANS_KEY, Tally, document_writer, link_pattern, read_documents
from spacy_ontolink.documents.records import mention_records
from spacy_ontolink.errors import ConfigError, DataError

CANDIDATES = [
    {"id": "T:2", "name": "milk yield", "matched": "milk yield", "scope": "NAME", "score": 0.9},
    {"id": "T:3", "name": "yield trait", "matched": "yield trait", "scope": "NAME", "score": 0.4},
]


@pytest.fixture
def nlp():
    return spacy.blank("en")


@pytest.fixture
def ontolink(monkeypatch):
    """Stand in for the retriever: every span has the same candidates."""
    monkeypatch.setitem(Underscore.span_extensions, "ontolink", (None, None, lambda span: CANDIDATES, None))


def write(tmp_path, name, *rows):
    path = tmp_path / name
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows), "utf-8")
    return path


def linked(nlp, text="The milk yield fell.", start=1, end=3, kb_id="T:2"):
    doc = nlp(text)
    doc.spans[SPANS_KEY] = [Span(doc, start, end, label="TRAIT", kb_id=kb_id)]
    doc.user_data[GIVEN] = {"id": "a", "mentions": []}
    return doc


def test_text_is_one_document_per_line(nlp, tmp_path):
    path = write(tmp_path, "notes.txt", "\ufeffFirst one.", "", "  Third\u2028line \r")
    docs = list(read_documents(path, nlp))
    assert [doc.text for doc in docs] == ["First one.", "  Third\u2028line "]
    assert [doc.user_data[GIVEN]["id"] for doc in docs] == ["1", "3"]
    assert SPANS_KEY not in docs[0].spans


def test_whole_file_keeps_offsets(nlp, tmp_path):
    path = write(tmp_path, "notes.txt", "", "First.", "", "Second.")
    (doc,) = read_documents(path, nlp, whole_file=True)
    assert doc.text == path.read_text()


def test_standard_input(nlp, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("a β\nb\n".encode())))
    assert [doc.text for doc in read_documents(Path("-"), nlp)] == ["a β", "b"]


def test_mentions_are_kept_overlapping_and_widened(nlp, tmp_path):
    text = "Milk-yield trait"
    mentions = [
        {"start": 0, "end": 10, "text": "Milk-yield", "label": "X", "kb_ids": ["T:2"], "raw_id": "2"},
        {"start": 0, "end": 16, "kb_ids": "T:3"},
        {"start": 1, "end": 4, "text": "ilk"},
        {"start": 5, "end": 10, "text": "other"},
        {"start": 5, "end": 10, "text": "yield ... trait", "segments": [[5, 10]]},
    ]
    tally = Tally()
    (doc,) = read_documents(write(tmp_path, "x.jsonl", {"id": 7, "text": text, "mentions": mentions}), nlp, tally=tally)
    assert [span.text for span in doc.spans[SPANS_KEY]] == ["Milk-yield", text, "Milk", "yield", "yield"]
    assert (tally.mentions, tally.expanded, tally.differing) == (5, 1, 1)
    given = doc.user_data[GIVEN]
    assert given["id"] == "7"
    assert [mention["kb_ids"] for mention in given["mentions"]] == [["T:2"], ["T:3"], [], [], []]
    assert given["mentions"][0]["raw_id"] == "2"
    assert (given["mentions"][2]["start"], given["mentions"][2]["end"]) == (1, 4)


def test_lone_surrogates_do_not_reach_the_tokeniser(nlp, tmp_path):
    path = write(tmp_path, "x.jsonl", '{"text": "a \\ud83d b", "mentions": [{"start": 2, "end": 3}]}')
    (doc,) = read_documents(path, nlp)
    assert doc.text == "a \ufffd b"
    assert doc.spans[SPANS_KEY][0].text == "\ufffd"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{oops", "not JSON"),
        ("[1]", "no text"),
        ('{"id": 1}', "no text"),
        ('{"text": "abc", "mentions": {}}', "not a list"),
        ('{"text": "abc", "mentions": ["x"]}', "without 'start'"),
        ('{"text": "abc", "mentions": [{"start": 2, "end": 4}]}', r"2…4 does not lie in a text of 3 characters"),
        ('{"text": "abc", "mentions": [{"start": 1, "end": 1}]}', r"1…1"),
        ('{"text": "abc", "mentions": [{"start": "1", "end": 2}]}', r"'1'…2: .* whole numbers"),
        ('{"text": "abc", "mentions": [{"start": 0, "end": 2, "kb_ids": [4]}]}', "kb_ids"),
    ],
)
def test_bad_lines_are_named(nlp, tmp_path, line, reason):
    path = write(tmp_path, "x.jsonl", {"text": "fine"}, line)
    with pytest.raises(DataError, match=rf"x\.jsonl, line 2: .*{reason}"):
        list(read_documents(path, nlp))


def test_other_encodings_are_named(nlp, tmp_path):
    path = tmp_path / "x.txt"
    path.write_bytes("gut\nschön\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"line 2: not UTF-8 \(byte 0xf6 in column 4\)"):
        list(read_documents(path, nlp))


def test_missing_and_broken_files(nlp, tmp_path):
    with pytest.raises(DataError, match=r"No such input file: .*none\.txt"):
        list(read_documents(tmp_path / "none.txt", nlp))
    with pytest.raises(DataError, match=r"x\.spacy is not a \.spacy file"):
        list(read_documents(write(tmp_path, "x.spacy", "text"), nlp))
    with pytest.raises(DataError, match=r"not a whole gzip file"):
        list(read_documents(write(tmp_path, "x.jsonl.gz", "text"), nlp))


def test_too_long_for_the_pipeline(nlp, tmp_path):
    nlp.max_length = 10
    with pytest.raises(DataError, match=r"line 1: 11 characters, more than the pipeline's 10"):
        list(read_documents(write(tmp_path, "x.txt", "12345678901"), nlp))


@pytest.mark.parametrize("key", [None, "sc", "own"])
def test_docbin_mentions(nlp, tmp_path, key):
    doc, other = nlp("The milk yield fell."), nlp("Nothing")
    span = Span(doc, 1, 3, label="TRAIT", kb_id="T:2")
    if key:
        doc.spans[key] = [span]
    else:
        doc.ents = [span]
    path = tmp_path / "x.spacy"
    DocBin(docs=[other, doc], store_user_data=True).to_disk(path)
    first, second = read_documents(path, nlp, spans_key=key if key == "own" else None)
    assert not first.spans[SPANS_KEY]
    assert [span.text for span in second.spans[SPANS_KEY]] == ["milk yield"]
    assert second.user_data[GIVEN]["mentions"][0]["kb_ids"] == ["T:2"]


def test_docbin_without_mentions_has_none_given(nlp, tmp_path):
    DocBin(docs=[nlp("Nothing here")]).to_disk(tmp_path / "x.spacy")
    (doc,) = read_documents(tmp_path / "x.spacy", nlp)
    assert SPANS_KEY not in doc.spans


def test_records_show_the_link_and_the_files_own_offsets(nlp, ontolink):
    doc = linked(nlp)
    doc.user_data[GIVEN]["mentions"] = [
        {"start": 5, "end": 14, "text": "ilk yield", "label": "TRAIT", "kb_ids": ["T:9"]}
    ]
    (record,) = mention_records(doc, SPANS_KEY, k=1)
    assert record == {
        "start": 5, "end": 14, "text": "ilk yield", "label": "TRAIT", "kb_ids": ["T:9"],
        "kb_id": "T:2", "name": "milk yield", "matched": "milk yield", "score": 0.9, "candidates": CANDIDATES[:1],
    }  # fmt: skip


def test_mentions_of_the_file_belong_to_spans_at_their_offsets_only(nlp, ontolink):
    doc = linked(nlp)
    elsewhere = {"start": 15, "end": 19, "text": "fell", "label": "TRAIT", "kb_ids": ["T:9"]}
    other_label = {"start": 4, "end": 14, "text": "milk yield", "label": "L", "kb_ids": ["T:9"]}
    own = other_label | {"label": "TRAIT", "kb_ids": ["T:2"]}
    for given, kb_ids in (([elsewhere], None), ([other_label], None), ([elsewhere, other_label, own], ["T:2"])):
        doc.user_data[GIVEN]["mentions"] = given
        (record,) = mention_records(doc, SPANS_KEY, k=1)
        assert (record["start"], record["end"], record["label"]) == (4, 14, "TRAIT")
        assert record.get("kb_ids") == kb_ids


def test_jsonl_can_be_read_again(nlp, tmp_path, ontolink):
    path = tmp_path / "out.jsonl"
    with document_writer(path, "jsonl", spans_key=SPANS_KEY, k=2) as put:
        put(linked(nlp))
    (row,) = map(json.loads, path.read_text("utf-8").splitlines())
    assert row["id"] == "a"
    assert row["mentions"][0]["candidates"] == CANDIDATES
    (doc,) = read_documents(path, nlp)
    assert doc.spans[SPANS_KEY][0].text == "milk yield"


def test_tsv_survives_tabs_and_line_ends(nlp, tmp_path, ontolink):
    import csv

    path = tmp_path / "out.tsv"
    with document_writer(path, "tsv", spans_key=SPANS_KEY) as put:
        put(linked(nlp, "The milk\n\tyield fell.", 1, 4))
        put(linked(nlp, kb_id="NIL"))
    with path.open(newline="") as file:
        head, first, second = csv.reader(file, delimiter="\t")
    assert head[:4] == ["document", "start", "end", "mention"]
    assert first == ["a", "4", "15", "milk\n\tyield", "TRAIT", "T:2", "milk yield", "milk yield", "0.9000"]
    assert second[5:] == ["NIL", "", "", ""]


def test_spacy_keeps_groups_and_user_data(nlp, tmp_path, ontolink):
    path = tmp_path / "out.spacy"
    with document_writer(path, "spacy", spans_key=SPANS_KEY) as put:
        put(linked(nlp))
    (doc,) = DocBin().from_disk(path).get_docs(spacy.blank("en").vocab)
    assert doc.spans[SPANS_KEY][0].kb_id_ == "T:2"
    assert doc.user_data[GIVEN]["id"] == "a"


@pytest.mark.parametrize("overlapping", [False, True])
def test_page_links_ids_and_escapes_the_rest(nlp, tmp_path, ontolink, monkeypatch, overlapping):
    monkeypatch.setitem(CANDIDATES[0], "name", "<b>milk</b> {yield}")
    doc = linked(nlp, "<i> milk yield fell.", 3, 5)
    if overlapping:
        doc.spans[SPANS_KEY] = [*doc.spans[SPANS_KEY], Span(doc, 4, 6, label="X", kb_id="NIL")]
    path = tmp_path / "out.html"
    with document_writer(path, "html", spans_key=SPANS_KEY, links="obo", title="A & B") as put:
        put(doc)
    page = path.read_text("utf-8")
    assert 'href="http://purl.obolibrary.org/obo/T_2"' in page
    assert "&lt;b&gt;milk" in page
    assert "<b>" not in page and "<i>" not in page
    assert "<title>A &amp; B</title>" in page
    assert "<script" not in page and "src=" not in page
    assert page.count("href=") == 1


def test_entities_are_the_mentions_without_a_group(nlp, tmp_path, ontolink):
    doc = nlp("The milk yield fell.")
    doc.ents = [Span(doc, 1, 3, label="TRAIT", kb_id="T:2")]
    assert [record["kb_id"] for record in mention_records(doc, None, 5)] == ["T:2"]


def test_nothing_half_written(nlp, tmp_path, ontolink):
    for name in ("jsonl", "tsv", "html", "spacy"):
        with pytest.raises(KeyboardInterrupt), document_writer(tmp_path / "out", name, spans_key=SPANS_KEY) as put:
            put(linked(nlp))
            raise KeyboardInterrupt
    assert not list(tmp_path.iterdir())


def test_docbin_needs_a_file(nlp):
    with pytest.raises(ConfigError, match="--output"), document_writer(None, "spacy", spans_key=SPANS_KEY):
        pass


@pytest.mark.parametrize(
    ("pattern", "id", "address"),
    [
        ("bioregistry", "HP:0001250", "https://bioregistry.io/HP:0001250"),
        ("obo", "HP:0001250", "http://purl.obolibrary.org/obo/HP_0001250"),
        ("https://x.org/?q={local}", "A:b c", "https://x.org/?q=b%20c"),
        ("https://x.org/{id}", 'A:"><', "https://x.org/A:%22%3E%3C"),
        ("obo", "http://x.org/a#b", "http://x.org/a#b"),
    ],
)
def test_link_patterns(pattern, id, address):
    assert link_pattern(pattern)(id) == address


@pytest.mark.parametrize("pattern", ["unknown", "https://x.org/", "javascript:{id}"])
def test_unusable_patterns(pattern):
    with pytest.raises(ConfigError, match="bioregistry, obo"):
        link_pattern(pattern)


def test_empty_file_has_no_document(nlp, tmp_path):
    assert list(read_documents(write(tmp_path, "x.txt", "", " "), nlp)) == []
    assert Doc(nlp.vocab).text == ""


def test_a_linked_docbin_can_be_linked_again_with_its_ids_and_gold(nlp, tmp_path, ontolink):
    source = write(tmp_path, "in.jsonl", {"id": "note-7", "text": "The milk yield fell.", "mentions": [
        {"start": 4, "end": 14, "label": "TRAIT", "kb_ids": ["T:9", "T:8"]}]})  # fmt: skip
    (doc,) = read_documents(source, nlp)
    doc.spans[SPANS_KEY] = [Span(doc, 1, 3, label="TRAIT", kb_id="T:2")]
    with document_writer(tmp_path / "out.spacy", "spacy", spans_key=SPANS_KEY) as put:
        put(doc)
    (again,) = read_documents(tmp_path / "out.spacy", nlp)
    assert again.user_data[GIVEN]["id"] == "note-7"
    assert [mention["kb_ids"] for mention in again.user_data[GIVEN]["mentions"]] == [["T:9", "T:8"]]
    assert [(span.text, span.kb_id_) for span in again.spans[SPANS_KEY]] == [("milk yield", "")]


def test_a_group_that_a_docbin_lacks_is_named(nlp, tmp_path):
    DocBin(docs=[linked(nlp)]).to_disk(tmp_path / "a.spacy")
    with pytest.raises(DataError, match=f"'nope'.*{SPANS_KEY}"):
        list(read_documents(tmp_path / "a.spacy", nlp, spans_key="nope"))


@pytest.mark.parametrize("line", ["[1, 2]", "5", "[" * 100_000])
def test_a_file_named_jsonl_is_never_text(nlp, tmp_path, line):
    with pytest.raises(DataError, match="line 1"):
        list(read_documents(write(tmp_path, "a.jsonl", line), nlp))


def test_a_corrupt_gzip_is_named(nlp, tmp_path):
    data = bytearray(gzip.compress(json.dumps({"text": "milk yield " * 500}).encode()))
    data[12:40] = b"\xff" * 28
    (tmp_path / "a.jsonl.gz").write_bytes(data)
    with pytest.raises(DataError, match=r"a\.jsonl\.gz"):
        list(read_documents(tmp_path / "a.jsonl.gz", nlp))


def test_a_label_of_null_is_none(nlp, tmp_path):
    row = {"text": "milk yield", "mentions": [{"start": 0, "end": 4, "label": None}]}
    (doc,) = read_documents(write(tmp_path, "a.jsonl", row), nlp)
    assert doc.spans[SPANS_KEY][0].label_ == ""


def test_closed_standard_input(nlp, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(DataError, match="closed"):
        list(read_documents(Path("-"), nlp))
