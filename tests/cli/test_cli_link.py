import csv
import gzip
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import DocBin

from spacy_ontolink.cli.link import PEEK
from spacy_ontolink.documents import SPANS_KEY, Format

TEXT = "Fat percentage rose.\n\nThe milk yield and milk yields fell.\n"


@pytest.fixture
def notes(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text(TEXT, "utf-8")
    return path


def rows(text):
    return [json.loads(line) for line in text.splitlines()]


def links(text):
    return [[(mention["text"], mention["kb_id"]) for mention in row["mentions"]] for row in rows(text)]


def test_given_mentions(ontolink, pipeline, corpus):
    result = ontolink("link", pipeline, corpus)
    assert result.code == 0
    assert links(result.out)[0] == [("Fat percentage", "T:1"), ("amount of milk", "T:2"), ("BF", "T:1")]
    assert links(result.out)[1][1] == ("low", "NIL")  # no n-gram of it is in any name
    first = rows(result.out)[0]["mentions"][0]
    assert (first["label"], first["kb_ids"], first["matched"]) == ("TRAIT", ["T:1"], "fat percentage")
    assert first["candidates"][0]["id"] == "T:1"
    assert "2 documents, 5 mentions (given)" in result.err


MENTION = {"start": 4, "end": 14, "label": "TRAIT", "kb_ids": ["T:2"]}


def many(tmp_path, *rows):
    path = tmp_path / "many.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def test_a_first_document_without_mentions_drops_none(ontolink, pipeline, tmp_path):
    text = {"text": "The milk yield and fat percentage."}
    path = many(tmp_path, text, text | {"mentions": [MENTION]})
    result = ontolink("link", pipeline, path)
    assert "(given)" in result.err
    assert links(result.out) == [[], [("milk yield", "T:2")]]
    assert rows(result.out)[1]["mentions"][0]["kb_ids"] == ["T:2"]


def test_mentions_after_the_first_documents_are_left_aside_aloud(ontolink, pipeline, tmp_path):
    text = {"text": "The milk yield and fat percentage."}
    path = many(tmp_path, *[text] * PEEK, text | {"mentions": [MENTION]})
    result = ontolink("link", pipeline, path)
    assert "(dictionary)" in result.err
    assert "1 of the input left aside" in result.err
    assert links(result.out)[-1] == [("milk yield", "T:2"), ("fat percentage", "T:1")]
    assert "kb_ids" not in rows(result.out)[-1]["mentions"][0]


def test_the_help_says_how_many_documents_are_looked_at(ontolink):
    assert f"first {PEEK} documents" in " ".join(ontolink("link", "--help").out.split())


def test_a_dash_is_standard_output(ontolink, pipeline, corpus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert ontolink("link", pipeline, corpus, "-o", "-").out == ontolink("link", pipeline, corpus).out != ""
    assert [path.name for path in tmp_path.iterdir()] == ["corpus.jsonl"]


def test_dictionary_is_the_choice_for_text_without_ner(ontolink, pipeline, notes):
    result = ontolink("link", pipeline, notes)
    assert links(result.out) == [[("Fat percentage", "T:1")], [("milk yield", "T:2")]]
    assert [row["id"] for row in rows(result.out)] == ["1", "3"]
    assert "(dictionary)" in result.err


def test_ner_is_the_choice_where_there_is_one(ontolink, ner_pipeline, notes):
    result = ontolink("link", ner_pipeline, notes)
    assert links(result.out) == [[], [("milk yields", "T:2")]]
    assert "(ner)" in result.err


def test_mentions_that_nobody_looked_up_are_no_nil(ontolink, toy, ner_pipeline, notes, tmp_path):
    base = toy.parent / "base"
    assert ontolink("build", toy, tmp_path / "other", "--base-model", base, "--labels", "OTHER").code == 0
    result = ontolink("link", tmp_path / "other", notes)
    assert "1 mention (ner): 0 linked, 1 not looked up;" in result.err
    assert "NIL" not in result.err


def test_dictionary_instead_of_ner(ontolink, ner_pipeline, notes):
    result = ontolink("link", ner_pipeline, notes, "--mentions", "dictionary")
    assert links(result.out) == [[("Fat percentage", "T:1")], [("milk yield", "T:2")]]


def test_the_dictionary_finds_what_the_pipeline_may_answer(ontolink, toy, tmp_path):
    """Names of entities that are filtered out are no mentions, whatever else they might be linked to."""
    text = tmp_path / "text.txt"
    text.write_text("A trait: milk yield, fat percentage.", "utf-8")
    assert ontolink("build", toy, tmp_path / "all").code == 0
    found = [("trait", "T:0"), ("milk yield", "T:2"), ("fat percentage", "T:1")]
    assert links(ontolink("link", tmp_path / "all", text, "--mentions", "dictionary").out) == [found]
    assert ontolink("build", toy, tmp_path / "yields", "--filter", "branches=T:3", "--labels", "YIELD").code == 0
    found = ontolink("link", tmp_path / "yields", text, "--mentions", "dictionary").out
    assert links(found) == [[("milk yield", "T:2")]]
    assert rows(found)[0]["mentions"][0]["label"] == "YIELD"  # one that the retriever links
    assert "T:2" in ontolink("search", tmp_path / "yields", "milk").out


def test_whole_file_is_one_document(ontolink, pipeline, notes):
    (row,) = rows(ontolink("link", pipeline, notes, "--whole-file").out)
    assert row["text"] == TEXT
    assert [mention["text"] for mention in row["mentions"]] == ["Fat percentage", "milk yield"]


def test_k_limits_what_is_written(ontolink, pipeline, corpus):
    for k in (1, 3):
        mentions = rows(ontolink("link", pipeline, corpus, "-k", k).out)[0]["mentions"]
        assert max(len(mention["candidates"]) for mention in mentions) <= k


def test_tsv(ontolink, pipeline, corpus, tmp_path):
    out = tmp_path / "out.tsv"
    result = ontolink("link", pipeline, corpus, "--output", out)
    assert result.out == ""
    assert str(out) in result.err
    with out.open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file, delimiter="\t"))
    assert [row["kb_id"] for row in table][:3] == ["T:1", "T:2", "T:1"]
    assert float(table[0]["score"]) > 0.9


def test_html(ontolink, pipeline, corpus, tmp_path):
    out = tmp_path / "out.html"
    assert ontolink("link", pipeline, corpus, "-o", out, "--links", "https://x.org/{local}").code == 0
    assert 'href="https://x.org/1"' in out.read_text("utf-8")


@pytest.mark.parametrize("name", ["a.xml", "a.PubTator", "a.jsonl.gz", "a.csv", "a.json", "a.docx", "a"])
def test_names_of_other_formats_are_refused(ontolink, pipeline, corpus, tmp_path, name):
    result = ontolink("link", pipeline, corpus, "-o", tmp_path / name)
    assert result.code == 2 and not (tmp_path / name).exists()
    assert "--format, or a name that ends in .jsonl, .tsv, .spacy or .html" in result.err
    assert ontolink("link", pipeline, corpus, "-o", tmp_path / name, "--format", "jsonl").code == 0


def test_a_folder_is_no_file_to_write(refused, pipeline, corpus, tmp_path):
    assert "give --output the name of a file" in refused("link", pipeline, corpus, "-o", tmp_path)


def test_devices_need_no_suffix(ontolink, pipeline, corpus):
    assert ontolink("link", pipeline, corpus, "-o", "/dev/null").code == 0


@pytest.mark.parametrize("name", ["notes.csv", "notes.TSV", "notes.csv.gz"])
def test_tables_are_no_text_unless_that_is_said(ontolink, refused, pipeline, tmp_path, name):
    content = b"id,text\n1,The milk yield fell.\n"
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    line = refused("link", pipeline, tmp_path / name)
    assert "it is a table" in line and "pubtator" in line and "--from text" in line
    assert links(ontolink("link", pipeline, tmp_path / name, "--from", "text").out) == [[], [("milk yield", "T:2")]]


def test_documents_in_a_file_named_like_a_table(ontolink, pipeline, corpus, tmp_path):
    (tmp_path / "corpus.tsv").write_text(corpus.read_text("utf-8"), "utf-8")
    assert "(given)" in ontolink("link", pipeline, tmp_path / "corpus.tsv").err


def test_spacy_in_and_out(ontolink, ner_pipeline, notes, tmp_path):
    out, again = tmp_path / "out.spacy", tmp_path / "again.jsonl"
    assert ontolink("link", ner_pipeline, notes, "-o", out).code == 0
    docs = list(DocBin().from_disk(out).get_docs(spacy.blank("en").vocab))
    assert [(ent.text, ent.kb_id_) for ent in docs[1].ents] == [("milk yields", "T:2")]
    assert docs[1].ents[0]._.kb_ents[0][0] == "T:2"
    assert ontolink("link", ner_pipeline, out, "-o", again).code == 0
    assert links(again.read_text("utf-8")) == [[], [("milk yields", "T:2")]]


def test_format_wins_over_the_name(ontolink, pipeline, corpus, tmp_path):
    out = tmp_path / "out.txt"
    assert ontolink("link", pipeline, corpus, "-o", out, "--format", "tsv").code == 0
    assert out.read_text("utf-8").startswith("document\t")


def test_noun_chunks_need_a_parser(refused, pipeline, notes):
    assert "no component that finds noun chunks" in refused("link", pipeline, notes, "--mentions", "noun-chunks")


@pytest.fixture
def parsing(make_pipeline, tmp_path):
    """Build pipelines that parse, with these options of ``ontolink build`` and in this language."""

    @Language.component("toy_parser", assigns=["token.dep"])
    def toy_parser(doc):
        verb = doc[2]
        for token, head, dep in zip(
            doc, (doc[1], verb, verb, verb), ("compound", "nsubj", "ROOT", "punct"), strict=True
        ):
            token.head, token.dep_, token.pos_ = head, dep, "VERB" if token is verb else "NOUN"
        return doc

    def parsing(*options, lang="en"):
        base = spacy.blank(lang)
        base.add_pipe("toy_parser")
        base.to_disk(tmp_path / "base")
        (tmp_path / "notes.txt").write_text("Milk yield fell.\n", "utf-8")
        return make_pipeline(tmp_path / "out", "--base-model", tmp_path / "base", *options)

    return parsing


@pytest.mark.parametrize(
    ("options", "label", "id"),
    [
        ([], "NP", "T:2"),
        (["--labels", "TRAIT,GENE"], "TRAIT", "T:2"),  # labels of entities: a chunk is none
        (["--labels", "GENE,NP"], "NP", "T:2"),
    ],
)
def test_noun_chunks(ontolink, parsing, tmp_path, options, label, id):
    result = ontolink("link", parsing(*options), tmp_path / "notes.txt", "--mentions", "noun-chunks")
    assert links(result.out) == [[("Milk yield", id)]]
    assert rows(result.out)[0]["mentions"][0]["label"] == label


def test_noun_chunks_may_be_discarded(ontolink, parsing, tmp_path):
    path = parsing()
    config = path / "config.cfg"
    config.write_text(config.read_text("utf-8").replace("labels_discard = []", 'labels_discard = ["NP"]'), "utf-8")
    result = ontolink("link", path, tmp_path / "notes.txt", "--mentions", "noun-chunks")
    assert links(result.out) == [[("Milk yield", "NIL")]]


def test_a_language_without_noun_chunks(refused, parsing, tmp_path):
    line = refused("link", parsing(lang="xx"), tmp_path / "notes.txt", "--mentions", "noun-chunks")
    assert "no noun chunks in the language" in line
    assert "--mentions given, ner or dictionary" in line


def test_standard_input(ontolink, pipeline, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
    assert links(ontolink("link", pipeline, "-").out)[0] == [("Fat percentage", "T:1")]


# Several inputs


def ids(text):
    return [row["id"] for row in rows(text)]


def test_several_files_in_order(ontolink, pipeline, notes, corpus, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"milk yield")))
    result = ontolink("link", pipeline, notes, corpus, "-", notes, "--mentions", "dictionary")
    assert ids(result.out) == ["notes.txt:1", "notes.txt:3", "corpus.jsonl:a", "corpus.jsonl:b", "-:1"]
    assert "5 documents" in result.err
    assert "5 of the input left aside" not in result.err  # nobody asked for them


def test_given_mentions_of_several_files(ontolink, pipeline, notes, corpus):
    result = ontolink("link", pipeline, corpus, notes)
    assert "4 documents, 5 mentions (given)" in result.err
    assert "2 documents of files without mentions left as they are (--mentions dictionary" in result.err
    assert [len(row["mentions"]) for row in rows(result.out)] == [3, 2, 0, 0]


def test_files_of_one_name_are_told_apart(ontolink, pipeline, tmp_path):
    for folder in "ab":
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.txt").write_text("milk yield", "utf-8")
    files = [tmp_path / folder / "x.txt" for folder in "ab"]
    assert ids(ontolink("link", pipeline, *files).out) == [f"{file.as_posix()}:1" for file in files]


def test_a_path_may_be_the_name_of_another_file(ontolink, pipeline, tmp_path, monkeypatch):
    """Of a file in a folder, the name begins with that folder; of two files of one name it is the path."""
    monkeypatch.chdir(tmp_path)
    for folder in ("q/x", "x", "y"):
        Path(folder).mkdir(parents=True)
        Path(folder, "1.txt").write_text("milk yield", "utf-8")
    assert ids(ontolink("link", pipeline, "q/x", "x/1.txt", "y/1.txt").out) == ["q/x/1.txt:1", "x/1.txt:1", "y/1.txt:1"]


@pytest.fixture
def folder(tmp_path):
    """Two texts, one of them packed, in a folder with what is no text."""
    folder = tmp_path / "folder"
    (folder / "more").mkdir(parents=True)
    (folder / ".hidden.txt").write_text("hidden", "utf-8")
    (folder / "readme.md").write_text("no text", "utf-8")
    (folder / "b.txt").write_text(TEXT, "utf-8")
    (folder / "more" / "a.txt.gz").write_bytes(gzip.compress(b"milk yield\n"))
    return folder


def test_a_folder_of_texts(ontolink, pipeline, folder, notes, monkeypatch):
    assert ids(ontolink("link", pipeline, folder).out) == ["b.txt:1", "b.txt:3", "more/a.txt.gz:1"]
    assert ids(ontolink("link", pipeline, folder, "--whole-file").out) == ["b.txt", "more/a.txt.gz"]
    several = ontolink("link", pipeline, folder, folder / "b.txt", notes, "--whole-file")
    assert ids(several.out) == ["folder/b.txt", "folder/more/a.txt.gz", "notes.txt"]
    assert "3 documents" in several.err
    monkeypatch.chdir(folder)
    here = ontolink("link", pipeline, ".", notes, "--whole-file")
    assert ids(here.out) == ["folder/b.txt", "folder/more/a.txt.gz", "notes.txt"]


def test_folders_are_read_through_links_and_not_for_ever(ontolink, pipeline, folder, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "c.txt").write_text("milk yield", "utf-8")
    (folder / "linked").symlink_to(tmp_path / "elsewhere")
    (folder / "more" / "loop").symlink_to(folder)
    (folder / "self").symlink_to(folder / "self")
    found = ids(ontolink("link", pipeline, folder, "--whole-file").out)
    assert found == ["b.txt", "linked/c.txt", "more/a.txt.gz"]


@pytest.mark.skipif(sys.platform != "linux", reason="file systems elsewhere take no such names")
@pytest.mark.parametrize("format", get_args(Format))
def test_names_of_files_that_are_no_text(ontolink, pipeline, tmp_path, format):
    (folder := tmp_path / "folder").mkdir()
    odd = Path(os.fsdecode(os.fsencode(folder) + b"/bad\xff.txt"))
    for file in (odd, folder / "good.txt"):
        file.write_text("milk yield", "utf-8")
    for place, options in enumerate([[folder], [folder, "--whole-file"], [odd, "--whole-file"], [odd]]):
        out = tmp_path / f"{place}.{format}"
        result = ontolink("link", pipeline, *options, "-o", out)
        assert result.code == 0, result.err
        if format == "jsonl" and "--whole-file" in options:
            assert ids(out.read_text("utf-8"))[0] == "bad\\xff.txt"


def test_a_pipe_that_is_named(refused, pipeline, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert "let a pipe come by standard input" in refused("link", pipeline, tmp_path / "pipe")


def test_the_texts_of_a_folder_of_brat(ontolink, pipeline, folder):
    (folder / ".hidden.txt").unlink()
    (folder / "b.ann").write_text("T1\tTRAIT 0 14\tFat percentage\n", "utf-8")
    assert ids(ontolink("link", pipeline, folder).out) == ["b"]
    assert ids(ontolink("link", pipeline, folder / "b.ann", folder / "b.txt").out) == ["b"]  # a pair is one input
    assert len(ids(ontolink("link", pipeline, folder, "--from", "text").out)) == 3


def test_a_folder_with_nothing_to_read(refused, pipeline, tmp_path):
    (tmp_path / "docs").mkdir()
    assert "without .txt files" in refused("link", pipeline, tmp_path / "docs")


def test_no_input_of_several_is_overwritten(refused, pipeline, notes, corpus):
    before = corpus.read_text("utf-8")
    assert "another name" in refused("link", pipeline, notes, corpus, "-o", corpus)
    assert corpus.read_text("utf-8") == before
    assert "No such input file" in refused("link", pipeline, notes, notes.with_name("none.txt"))


def test_the_title_of_a_page_of_several(ontolink, pipeline, notes, corpus, tmp_path):
    assert ontolink("link", pipeline, notes, corpus, "-o", tmp_path / "out.html").code == 0
    assert "Mentions in 2 files linked by" in (tmp_path / "out.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("name", "content", "options", "words"),
    [
        ("none.txt", None, [], "No such input file"),
        ("empty.txt", "\n \n", [], "no document in it"),
        ("bad.jsonl", '{"text": "a"}\n{"text": 3}\n', [], "bad.jsonl, line 2"),
        ("bare.jsonl", '{"text": "fat", "mentions": []}\n', [], "no mention in it to link"),
        ("text.txt", "fat\n", ["--mentions", "given"], "no mention in it to link"),
        ("text.txt", "fat\n", ["--mentions", "ner"], "no component that finds entities"),
        ("text.txt", "fat\n", ["--format", "spacy"], "--output"),
        ("text.txt", "fat\n", ["--links", "nowhere"], "bioregistry, obo"),
        ("text.spacy", "fat\n", [], "is not a .spacy file"),
    ],
)
def test_bad_input_leaves_nothing(refused, pipeline, tmp_path, name, content, options, words):
    if content is not None:
        (tmp_path / name).write_text(content, "utf-8")
    output = [] if "spacy" in options else ["--output", tmp_path / "out.jsonl"]
    assert words in refused("link", pipeline, tmp_path / name, *output, *options)
    assert {path.name for path in tmp_path.iterdir()} <= {name}


@pytest.mark.parametrize("what", ["missing", "file", "folder", "plain"])
def test_what_is_no_pipeline(refused, notes, tmp_path, what):
    path = tmp_path / what
    if what == "file":
        path.write_text("x")
    elif what == "folder":
        path.mkdir()
    elif what == "plain":
        spacy.blank("en").to_disk(path)
    line = refused("link", path, notes)
    assert f"{what} is not a spaCy pipeline with an ontolink component" in line
    assert (f"ontolink build {path} OUT" in line) == (what == "file")


def test_interrupt_leaves_nothing(ontolink, pipeline, corpus, tmp_path, monkeypatch):
    def interrupted(*_):
        yield from ()
        raise KeyboardInterrupt

    monkeypatch.setattr("spacy_ontolink.cli.mentions.run", interrupted)
    before = sorted(tmp_path.iterdir())
    assert ontolink("link", pipeline, corpus, "-o", tmp_path / "out.jsonl").code == 130
    assert sorted(tmp_path.iterdir()) == before


def test_reader_of_the_output_may_leave(pipeline, tmp_path):
    path = tmp_path / "many.txt"
    path.write_text("milk yield and fat percentage\n" * 3000, "utf-8")
    command = f"{sys.executable} -m spacy_ontolink link {pipeline} {path} | head -n 1"
    result = subprocess.run(command, shell=True, capture_output=True, text=True, check=False, env=os.environ)
    assert len(rows(result.stdout)) == 1
    assert "Traceback" not in result.stderr


def test_formats_are_those_of_the_writer():
    from spacy_ontolink.cli.link import Format
    from spacy_ontolink.documents import FORMATS

    assert get_args(Format) == FORMATS
    assert SPANS_KEY == "ontolink"


def test_the_input_is_not_overwritten(refused, pipeline, notes):
    before = notes.read_text("utf-8")
    assert "another name" in refused("link", pipeline, notes, "-o", notes)
    assert notes.read_text("utf-8") == before


def test_a_place_that_cannot_be_written_to(refused, pipeline, notes, tmp_path):
    assert "notes.txt" in refused("link", pipeline, notes, "-o", notes / "out.jsonl")
