"""``ontolink convert``, and corpora of every format in the commands that take one."""

import gzip
import json

import pytest
import spacy
from spacy.tokens import DocBin

from spacy_ontolink.cli.convert import Target
from spacy_ontolink.cli.options import CorpusFormat
from spacy_ontolink.documents import CORPUS_FORMATS

FORMATS = ("jsonl", "spacy", "pubtator", "bioc-json", "bioc-xml", "brat")


def test_the_formats_are_those_of_the_library():
    assert CorpusFormat.__args__ == CORPUS_FORMATS
    assert Target.__args__ == CORPUS_FORMATS[1:]


@pytest.fixture
def corpus_in(ontolink, corpus, tmp_path):
    """The corpus in another format."""

    def convert(format):
        path = tmp_path / f"converted.{format}"
        assert ontolink("convert", corpus, path, "--to", format).code == 0
        return path

    return convert


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_is_evaluated_alike(ontolink, pipeline, corpus, corpus_in, format):
    expected, found = (json.loads(ontolink("evaluate", pipeline, path).out) for path in (corpus, corpus_in(format)))
    for key in ("data", "seconds", "mentions_per_second"):
        expected.pop(key), found.pop(key)
    if format == "brat":  # where a mention without a label cannot be
        expected["by_label"]["Mention"] = expected["by_label"].pop("")
    assert found == expected


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_is_linked_alike(ontolink, pipeline, corpus, corpus_in, format):
    def links(path):
        rows = map(json.loads, ontolink("link", pipeline, path).out.splitlines())
        return [[(mention["text"], mention["kb_id"], mention["kb_ids"]) for mention in row["mentions"]] for row in rows]

    assert links(corpus_in(format)) == links(corpus)


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_is_paired_alike(ontolink, pipeline, corpus_in, tmp_path, format):
    out = tmp_path / "pairs"
    result = ontolink("pairs", pipeline, corpus_in(format), out, "--setting", "p1+synonym")
    assert result.code == 0, result.err
    report = json.loads(result.out)
    assert (report["mentions"]["total"], report["mentions"]["with_gold"]) == (5, 4)


def test_a_folder_tunes_a_pipeline(ontolink, pipeline, corpus_in, tmp_path):
    result = ontolink("tune", pipeline, corpus_in("brat"), tmp_path / "tuned", "--from", "brat")
    assert "No such input" not in result.err
    assert "Reading converted.brat" in result.err


def test_the_summary_tells_what_there_is(ontolink, tmp_path):
    path = tmp_path / "in.txt"
    path.write_text("1|t|Milk and fat\n1\t0\t12\tMilk and fat\tT\tD000001|D000002\n1\t0\t4\tmilk\tT\t-1\n", "utf-8")
    result = ontolink("convert", path, tmp_path / "out.jsonl")
    assert "1 document, 2 mentions, 1 with several ids, 1 composite, 1 without id" in result.err
    assert "1 mention(s) have another text than their offsets show (first: line 3, 0…4)" in result.err
    assert result.out == ""


def test_standard_output_prefixes_and_gzip(ontolink, corpus, tmp_path):
    result = ontolink("convert", corpus, "-", "--to", "pubtator", "--prefix", "T:=X")
    assert result.out.splitlines()[2] == "a\t0\t14\tFat percentage\tTRAIT\tX:1"
    ontolink("convert", corpus, tmp_path / "out.xml.gz")
    assert gzip.decompress((tmp_path / "out.xml.gz").read_bytes()).startswith(b"<?xml")
    assert "2 documents, 5 mentions" in ontolink("convert", tmp_path / "out.xml.gz", tmp_path / "again.json").err


def test_text_becomes_documents_without_mentions(ontolink, tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("One.\nTwo.\n", "utf-8")
    ontolink("convert", path, tmp_path / "out.spacy", "--lang", "de")
    docs = DocBin().from_disk(tmp_path / "out.spacy").get_docs(spacy.blank("de").vocab)
    assert [(doc.text, dict(doc.spans)) for doc in docs] == [("One.", {}), ("Two.", {})]


def test_what_is_refused(refused, corpus, tmp_path):
    assert "give --to" in refused("convert", corpus, tmp_path / "out")
    assert "is the input, too" in refused("convert", corpus, corpus)
    assert "is the input, too" in refused("convert", corpus, tmp_path, "--to", "brat")
    assert "not standard output" in refused("convert", corpus, "-", "--to", "brat")
    assert "not standard output" in refused("convert", corpus, "-", "--to", "spacy")
    assert "--prefix" in refused("convert", corpus, tmp_path / "out.xml", "--prefix", "A=")
    assert "no such language" in refused("convert", corpus, tmp_path / "out.xml", "--lang", "qq")
    assert "No such input file" in refused("convert", tmp_path / "none", tmp_path / "out.xml")
    assert "line 1" in refused("convert", corpus, tmp_path / "out.xml", "--from", "pubtator")
    assert "BioC XML" in refused("convert", corpus, tmp_path / "out.xml", "--from", "bioc-xml")
