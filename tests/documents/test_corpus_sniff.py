import io
import sys
from pathlib import Path

import pytest
import spacy
from spacy.tokens import DocBin

from spacy_ontolink.documents import IdRules, Tally, read_documents
from spacy_ontolink.documents.formats.sniff import FORMATS, check_format, format_of, sniff_head, sniff_path
from spacy_ontolink.documents.reading import read_corpus_rows
from spacy_ontolink.errors import ConfigError, DataError


@pytest.mark.parametrize(
    ("name", "head", "format"),
    [
        ("a.jsonl", '{"id": 1, "text": "x"}\n', "jsonl"),
        ("a.jsonl", "Not JSON", "jsonl"),
        ("-", '{"text": "x", "passages": []}\n', "jsonl"),
        ("a.json", '{"text": "x"}\n', "jsonl"),
        ("a.txt", '{"id": "1", "text": "' + "x" * 70000, "jsonl"),
        ("a.jsonl", '{"id": "1", "passages": [{"offset": 0}]}\n', "bioc-json"),
        ("a.json", '{\n "source": "",\n "documents": []\n}', "bioc-json"),
        ("a", '[{"bioctype": "BioCCollection", "documents": [', "bioc-json"),
        ("a", '{"PubTator3": [', "bioc-json"),
        ("a.xml", "<collection>", "bioc-xml"),
        ("a", '<?xml version="1.0"?>\n<!-- one -->\n<!DOCTYPE collection SYSTEM "BioC.dtd">\n<collection>', "bioc-xml"),
        ("a.txt", "\n123|t|Title\n123|a|Text\n", "pubtator"),
        ("a.gz", "PMC12|t|Title\r\n", "pubtator"),
        ("a.PubTator", "broken", "pubtator"),
        ("a.txt", "a|b|c\n", "text"),
        ("a.txt", "<p>text</p>\n", "text"),
        ("a.txt", "[1] text\n", "text"),
        ("-", "", "text"),
    ],
)
def test_formats_are_told_from_content(name, head, format):
    assert sniff_head(Path(name), head.encode()) == format


def test_binary_files_are_no_text():
    with pytest.raises(DataError, match="zero bytes"):
        sniff_head(Path("a.bin"), bytes(16))


@pytest.mark.parametrize(("name", "head"), [("a.xml", "<html>"), ("a.json", "[1, 2]"), ("a.json", '{"a": 1}')])
def test_files_of_no_format(name, head):
    with pytest.raises(DataError, match="The formats are: text, jsonl, spacy, pubtator, bioc-json, bioc-xml, brat"):
        sniff_head(Path(name), head.encode())


def test_formats_are_told_from_names(write):
    assert sniff_path(write("notes.txt", "")) is None
    write("a.ann", "")
    assert sniff_path(write("a.txt", "")) == "brat"
    assert sniff_path(Path("x.ann")) == "brat"
    assert sniff_path(Path("x.spacy")) == "spacy"
    assert sniff_path(Path("-")) is None


def test_formats_of_outputs():
    names = ("a.jsonl.gz", "a.spacy", "a.PubTator", "a.json", "a.xml", "folder", "a.txt")
    assert [format_of(Path(name)) for name in names] == [
        "jsonl", "spacy", "pubtator", "bioc-json", "bioc-xml", None, None,
    ]  # fmt: skip


def test_a_format_that_there_is_not():
    with pytest.raises(ConfigError, match="pubtator"):
        check_format("conll")
    for format in (None, *FORMATS):
        check_format(format)


def test_what_is_said_goes_before_what_is_told(rows, write):
    path = write("a.txt", "1|t|Milk\n")
    assert rows(path)[0][0]["text"] == "Milk"
    assert rows(path, format="text")[0][0]["text"] == "1|t|Milk"


@pytest.mark.parametrize("format", [None, "spacy"])
def test_a_docbin_cannot_come_from_standard_input(monkeypatch, format):
    for read in (
        lambda: read_documents(Path("-"), spacy.blank("en"), format=format),
        lambda: read_corpus_rows(Path("-"), format, IdRules(), None, Tally()),
    ):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(DocBin().to_bytes())))
        with pytest.raises(DataError, match="cannot come from standard input"):
            next(read())


def test_a_span_group_of_what_has_none(write):
    path = write("a.txt", "1|t|Milk\n")
    with pytest.raises(ConfigError, match="leave --spans-key out"):
        next(read_documents(path, spacy.blank("en"), spans_key="sc"))
    with pytest.raises(ConfigError, match="leave --spans-key out"):
        next(read_corpus_rows(path, None, IdRules(), "sc", Tally()))


@pytest.mark.parametrize("content", [b"1|t|Milk\n", b'{"text": "Milk"}', b'{"id": 1, "passages": [{"text": "Milk"}]}'])
def test_standard_input(rows, monkeypatch, content):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert rows(Path("-"))[0][0]["text"] == "Milk"
