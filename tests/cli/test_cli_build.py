import json
import os
import sys
from pathlib import Path

import pytest
import spacy
from tiny_models import NEEDS_TORCH

from spacy_ontolink.cli.build import describe_encoder
from spacy_ontolink.cli.building import fill
from spacy_ontolink.cli.console import bar
from spacy_ontolink.encoders.lexical import LexicalEncoder
from spacy_ontolink.kb.readers import read_ontology


def test_pipeline_links_after_spacy_load(pipeline):
    nlp = spacy.load(pipeline)
    doc = nlp.make_doc("The fat percentage")
    doc.ents = [spacy.tokens.Span(doc, 1, 3, label="TRAIT")]
    assert [ent.kb_id_ for ent in nlp(doc).ents] == ["T:1"]


def test_summary(ontolink, toy, tmp_path):
    result = ontolink("build", toy, tmp_path / "out")
    assert result.code == 0
    assert result.out == ""
    assert "4 entities, 7 names, 7 rows, 0 warnings" in result.err.splitlines()[-1]


def test_settings_reach_the_pipeline(ontolink, toy, tmp_path):
    out = tmp_path / "out"
    assert (
        ontolink(
            "build", toy, out, "-k", 3, "--pooling", 0.2, "--name-pooling", 0.1, "--spans-key", "sc", "--lang", "de"
        ).code
        == 0
    )
    nlp = spacy.load(out)
    block = nlp.get_pipe_config("ontolink_retriever")
    assert nlp.lang == "de"
    assert (block["k"], block["pooling"], block["name_pooling"], block["spans_key"]) == (3, 0.2, 0.1, "sc")


def test_what_is_linked_is_narrowed(ontolink, toy, tmp_path):
    out = tmp_path / "out"
    options = ["--labels", "TRAIT, SIGN", "--labels", "X", "--threshold", 0.4, "--filter", "branches=T:3,T:1"]
    assert ontolink("build", toy, out, *options, "--filter", "branches=T:2", "--filter", "prefixes=T").code == 0
    nlp = spacy.load(out)
    block = nlp.get_pipe_config("ontolink_retriever")
    assert (block["labels"], block["threshold"]) == (["TRAIT", "SIGN", "X"], 0.4)
    assert block["filters"] == {"branches": ["T:3", "T:1", "T:2"], "prefixes": ["T"]}
    doc = nlp.make_doc("fat percentage trait trait wool")
    doc.ents = [
        spacy.tokens.Span(doc, start, end, label=label)
        for start, end, label in [(0, 2, "TRAIT"), (2, 3, "X"), (3, 4, "OTHER"), (4, 5, "SIGN")]
    ]
    ids = [ent.kb_id_ for ent in nlp(doc).ents]
    assert (ids[0], ids[2:]) == ("T:1", ["", "NIL"])
    assert ids[1] != "T:0"  # its name, but above the branches


def test_a_filter_of_an_unknown_branch_is_refused_before_encoding(refused, toy, tmp_path, monkeypatch):
    monkeypatch.setattr("spacy_ontolink.components.pipe.OntologyRetriever.initialize", None)
    assert "X:9" in refused("build", toy, tmp_path / "out", "--filter", "branches=X:9")
    assert not (tmp_path / "out").exists()


def test_nothing_of_this_machine_is_stored(pipeline):
    for name in ("config.cfg", "meta.json"):
        assert str(pipeline.parent) not in (pipeline / name).read_text("utf-8")


def test_several_ontologies_in_one(ontolink, toy, tmp_path):
    rows = [{"id": "Y:1", "name": "wool length"}]
    other = tmp_path / "other.jsonl"
    other.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    assert ontolink("build", toy, other, tmp_path / "out").code == 0
    kb = spacy.load(tmp_path / "out").get_pipe("ontolink_retriever").kb
    assert kb.prefixes() == {"T": 4, "Y": 1}


def test_table_with_columns(ontolink, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("Code,Label\nX:1,fat\nX:2,milk\n", "utf-8")
    assert ontolink("build", table, tmp_path / "out", "--columns", "id=Code, name=Label").code == 0
    assert spacy.load(tmp_path / "out").get_pipe("ontolink_retriever").kb["X:2"].name == "milk"


def test_base_model_keeps_its_components(ner_pipeline):
    nlp = spacy.load(ner_pipeline)
    assert nlp.pipe_names == ["entity_ruler", "ontolink_retriever"]
    (ent,) = nlp("The fat percentage fell.").ents
    assert (ent.label_, ent.kb_id_) == ("TRAIT", "T:1")


CONFIG = """
[nlp]
lang = "en"
pipeline = ["linker"]

[components]

[components.linker]
factory = "{factory}"
"""


def test_config_file(ontolink, toy, tmp_path):
    config = tmp_path / "own.cfg"
    config.write_text(CONFIG.format(factory="ontolink_retriever") + "k = 2\n", "utf-8")
    assert ontolink("build", toy, tmp_path / "out", "--config", config).code == 0
    nlp = spacy.load(tmp_path / "out")
    assert len(nlp.get_pipe("linker").kb) == 4
    assert nlp.get_pipe("linker").settings.k == 2


LOADER = """
[initialize]

[initialize.components]

[initialize.components.linker]

[initialize.components.linker.kb_loader]
@ontolink_readers = "spacy-ontolink.OntologyReader.v1"
path = null
format = "table"
columns = {"id": "Code", "name": "Label"}
"""


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("Code,Label,Name,ID\nX:1,fat,wrong,W:1\n", "utf-8")
    return path


@pytest.fixture
def config_with_loader(tmp_path):
    path = tmp_path / "own.cfg"
    path.write_text(CONFIG.format(factory="ontolink_retriever") + LOADER, "utf-8")
    return path


def test_the_reader_of_a_config_is_used(ontolink, config_with_loader, table, tmp_path):
    assert ontolink("build", table, tmp_path / "out", "--config", config_with_loader).code == 0
    nlp = spacy.load(tmp_path / "out")
    assert nlp.get_pipe("linker").kb["X:1"].name == "fat"
    block = nlp.config["initialize"]["components"]["linker"]["kb_loader"]
    assert (block["path"], block["columns"]) == ("./t.csv", {"id": "Code", "name": "Label"})
    nlp.initialize()  # the file is not there, the space is
    assert nlp.get_pipe("linker").kb["X:1"].name == "fat"


def test_retrievers_of_a_config_read_each_in_their_own_way(ontolink, config_with_loader, table, tmp_path):
    config = config_with_loader.read_text("utf-8").replace('["linker"]', '["linker", "second"]')
    config = config.replace("[initialize]\n", '[components.second]\nfactory = "ontolink_retriever"\n\n[initialize]\n')
    config_with_loader.write_text(
        config + LOADER.partition("components]\n")[2].replace("linker", "second").replace("Label", "Name"), "utf-8"
    )
    assert ontolink("build", table, tmp_path / "out", "--config", config_with_loader).code == 0
    nlp = spacy.load(tmp_path / "out")
    assert [nlp.get_pipe(name).kb["X:1"].name for name in nlp.pipe_names] == ["fat", "wrong"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["-k", "64", "--spans-key", "sc"], "-k, --spans-key and --config"),
        (["--encoder", "lexical"], "--encoder and --config"),
        (["--base-model", "x"], "--base-model and --config"),
        (["--labels", "A", "--filter", "x", "--threshold", "0"], "--labels, --filter, --threshold and --config"),
        (["--strict"], "--strict and the kb_loader of --config"),
        (["--columns", "id=ID"], "--columns and the kb_loader of --config"),
    ],
)
def test_a_config_excludes_the_options_it_is_in_place_of(refused, config_with_loader, table, tmp_path, options, words):
    assert words in refused("build", table, tmp_path / "out", "--config", config_with_loader, *options)


def test_a_config_without_reader_takes_options_for_reading(ontolink, table, tmp_path):
    config = tmp_path / "own.cfg"
    config.write_text(CONFIG.format(factory="ontolink_retriever"), "utf-8")
    options = ["--config", config, "--columns", "id=ID,name=Name"]
    assert ontolink("build", table, tmp_path / "out", *options).code == 0
    assert spacy.load(tmp_path / "out").get_pipe("linker").kb["W:1"].name == "wrong"


def test_a_reader_that_cannot_be_made(refused, config_with_loader, table, tmp_path):
    config_with_loader.write_text(config_with_loader.read_text("utf-8").replace("format =", "kind ="), "utf-8")
    reason = refused("build", table, tmp_path / "out", "--config", config_with_loader)
    assert "own.cfg is not a config to build from" in reason
    assert "kind" in reason


@pytest.mark.parametrize("index", ["hnsw", "ivf"])
def test_an_index_that_does_not_fit_is_refused_before_reading(refused, tmp_path, monkeypatch, toy, index):
    monkeypatch.setattr("spacy_ontolink.cli.building.read_all", lambda *_: pytest.fail("read"))
    config = tmp_path / "own.cfg"
    block = '\n[components.linker.encoder]\n@ontolink_encoders = "spacy-ontolink.LexicalEncoder.v1"\n'
    block += f'\n[components.linker.index]\n@ontolink_indexes = "spacy-ontolink.FaissIndex.v1"\nkind = "{index}"\n'
    config.write_text(CONFIG.format(factory="ontolink_retriever") + block, "utf-8")
    assert f"the index {index} and the lexical encoder" in refused("build", toy, tmp_path / "out", "--config", config)


def test_an_index_of_dense_vectors_takes_those_of_the_default_encoder(ontolink, refused, toy, tmp_path):
    result = ontolink("build", toy, tmp_path / "out", "--index", "ivf")
    assert result.code == 0, result.err
    assert "flat index" in result.err  # of so few rows
    assert ontolink("search", tmp_path / "out", "milk yields").out.split()[1] == "T:2"
    (tmp_path / "bare.csv").write_text("id,name\n1,milk yield\n2,fat percentage\n", "utf-8")
    line = refused("build", tmp_path / "bare.csv", tmp_path / "other", "--index", "ivf")
    assert "where few entities have synonyms" in line
    assert not (tmp_path / "other").exists()


@NEEDS_TORCH
def test_an_inverted_index_of_dense_vectors_is_refused_before_reading(refused, tmp_path, monkeypatch, toy):
    monkeypatch.setattr("spacy_ontolink.cli.building.read_all", lambda *_: pytest.fail("read"))
    (tmp_path / "model").mkdir()
    reason = refused("build", toy, tmp_path / "out", "--encoder", tmp_path / "model", "--index", "inverted")
    assert "the index inverted and dense vectors" in reason


@pytest.mark.parametrize("index", ["auto", "exact", "inverted"])
def test_every_index_of_lexical_rows_gives_the_same_links(ontolink, toy, pipeline, tmp_path, index):
    outcome = ontolink("build", toy, tmp_path / "out", "--index", index)
    assert outcome.code == 0
    kind = "inverted" if index == "inverted" else "exact"
    assert f"{kind} index" in outcome.err
    nlp = spacy.load(tmp_path / "out")
    assert nlp.get_pipe("ontolink_retriever").space.index.describe()["kind"] == kind
    found = ontolink("search", tmp_path / "out", "milk fat").out
    assert found == ontolink("search", pipeline, "milk fat").out
    assert len(found.splitlines()) > 1


class Reporting(LexicalEncoder):
    """Tells how far it is, as encoders with a network do."""

    progress = None

    def encode_entities(self, kb, entities=None):
        if self.progress:
            self.progress(kb.n_names, kb.n_names)
        return super().encode_entities(kb, entities)


def test_long_encoding_reports_to_the_bar_and_to_nothing_later(toy):
    nlp = spacy.blank("en")
    component = nlp.add_pipe("ontolink_retriever")
    component._parts = (Reporting(), component._parts[1])
    seen = []
    kb = read_ontology([toy])
    with bar("Encoding") as report:
        report(1, 2)
        fill(nlp, {"ontolink_retriever": kb}, [toy], lambda done, total: seen.append((done, total)))
    assert seen == [(7, 7)]
    assert component.space.encoder.progress is component._parts[0].progress is None


@pytest.mark.parametrize("content", ["[nlp", CONFIG.format(factory="sentencizer")])
def test_config_that_is_none(refused, toy, tmp_path, content):
    config = tmp_path / "own.cfg"
    config.write_text(content, "utf-8")
    assert "own.cfg is not a config to build from" in refused("build", toy, tmp_path / "out", "--config", config)
    assert not (tmp_path / "out").exists()


def test_existing_folder_is_replaced_only_when_told(ontolink, refused, toy, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "config.cfg").write_text("an older one")
    (out / "mine.txt").write_text("precious")
    assert "--overwrite" in refused("build", toy, out)
    assert (out / "mine.txt").exists()
    assert ontolink("build", toy, out, "--overwrite").code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]
    assert (out / "config.cfg").exists()
    assert not (out / "mine.txt").exists()


def test_a_folder_that_is_no_pipeline_is_not_replaced(refused, toy, tmp_path):
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "thesis.txt").write_text("all of it")
    for options in ([], ["--overwrite"]):
        assert "is no pipeline" in refused("build", toy, tmp_path / "precious", *options)
    assert (tmp_path / "precious" / "thesis.txt").exists()


def test_an_empty_folder_may_be_the_place(ontolink, toy, tmp_path):
    (tmp_path / "out").mkdir()
    assert ontolink("build", toy, tmp_path / "out").code == 0


def test_out_that_is_a_file(refused, toy):
    assert "the last argument is the folder to write" in refused("build", toy, toy)


@pytest.mark.parametrize("content", ["", "format-version: 1.2\nontology: toy\n", "just text\n"])
def test_ontology_with_nothing_in_it(refused, tmp_path, content):
    path = tmp_path / "empty.obo"
    path.write_text(content, "utf-8")
    assert "empty.obo" in refused("build", path, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["empty.obo"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--hybrid"], "--hybrid and --encoder lexical"),
        (["--columns", "id"], "--columns 'id'"),
        (["--filter", "T:1"], "KIND=ID,… with one of these kinds: prefixes, branches, types"),
        (["--filter", "branches="], "--filter 'branches='"),
        (["--threshold", "2"], "--threshold"),
        (["--base-model", "no/such/pipeline"], "no/such/pipeline"),
        (["--lang", "zz"], "zz"),
        (["--config", "none.cfg"], "none.cfg"),
        pytest.param(["--encoder", "./no-such-encoder"], "no-such-encoder", marks=NEEDS_TORCH),
    ],
)
def test_options_that_make_no_sense(refused, toy, tmp_path, options, words):
    assert words in refused("build", toy, tmp_path / "out", *options)
    assert not list(tmp_path.iterdir())


def test_an_ontology_that_is_a_folder(refused, tmp_path):
    (tmp_path / "dir.obo").mkdir()
    assert "folder" in refused("build", tmp_path / "dir.obo", tmp_path / "out")


def test_missing_ontology(refused, tmp_path):
    assert "none.obo" in refused("build", tmp_path / "none.obo", tmp_path / "out")


def test_retriever_on_top_of_a_retriever(refused, toy, pipeline, tmp_path):
    assert "has an ontolink_retriever already" in refused("build", toy, tmp_path / "out", "--base-model", pipeline)


def test_strict_names_the_line(refused, toy, tmp_path):
    path = tmp_path / "bad.obo"
    path.write_text(toy.read_text("utf-8").replace("is_a: T:3", "synonym: unquoted EXACT []"), "utf-8")
    assert "bad.obo, line 15" in refused("build", path, tmp_path / "out", "--strict")


def test_encoder_blocks():
    lexical = describe_encoder("lexical", False, 0.5)
    names = [block["@ontolink_encoders"] for block in (lexical, lexical["encoder"])]
    assert names == ["spacy-ontolink.SynonymEncoder.v1", "spacy-ontolink.LexicalEncoder.v1"]
    assert describe_encoder("a/b", False, 0.5)["model"] == "a/b"
    hybrid = describe_encoder("a/b", True, 0.3)
    assert (hybrid["weight"], hybrid["lexical"], hybrid["dense"]["encoder"]["model"]) == (0.3, lexical, "a/b")


def test_definitions_are_compared_on_request(ontolink, tmp_path):
    terms = tmp_path / "terms.tsv"
    terms.write_text("id\tname\tdefinition\nX:1\texcessive thirst\tmuch drinking\nX:2\tdrinking\t\n", "utf-8")
    rows = []
    for folder, options in (("plain", ()), ("defined", ("--definitions",))):
        assert ontolink("build", terms, tmp_path / folder, *options).code == 0
        rows.append(spacy.load(tmp_path / folder).get_pipe("ontolink_retriever").space.rows.owner.tolist())
    assert rows == [[0, 1], [0, 0, 1]]


def test_annotated_mentions_become_names(ontolink, toy, tmp_path):
    mention = {"start": 0, "end": 5, "kb_ids": ["T:2"]}
    names = tmp_path / "train.jsonl"
    names.write_text(json.dumps({"text": "moolk", "mentions": [mention]}) + "\n", "utf-8")
    assert ontolink("build", toy, tmp_path / "out", "--names", names).code == 0
    kb = spacy.load(tmp_path / "out").get_pipe("ontolink_retriever").kb
    assert [(name.text, name.type, name.count) for name in kb["T:2"].synonyms if name.count] == [("moolk", "train", 1)]


def test_missing_names(refused, toy, tmp_path):
    assert "nowhere.jsonl" in refused("build", toy, tmp_path / "out", "--names", tmp_path / "nowhere.jsonl")


def test_wrong_settings_of_a_part_are_told_with_the_block(ontolink, refused, toy, tmp_path):
    config = tmp_path / "own.cfg"
    index = '[components.linker.index]\n@ontolink_indexes = "spacy-ontolink.AutoIndex.v1"\nsize = 3\n'
    base = (
        '[nlp]\nlang = "en"\npipeline = ["linker"]\n[components]\n[components.linker]\nfactory = "ontolink_retriever"\n'
    )
    config.write_text(base + index, "utf-8")
    reason = refused("build", toy, tmp_path / "out", "--config", config)
    assert "own.cfg: [components.linker.index] is wrong: size: unexpected argument" in reason
    config.write_text(base + index.replace("size = 3\n", ""), "utf-8")
    assert ontolink("build", toy, tmp_path / "out", "--config", config).code == 0
    saved = tmp_path / "out" / "config.cfg"
    whole = saved.read_text("utf-8")
    saved.write_text(whole.replace("AutoIndex.v1", 'AutoIndex.v1"\nsize = "3'), "utf-8")
    reason = refused("info", tmp_path / "out")
    assert "config.cfg: [components.linker.index] is wrong: size" in reason
    assert "not a spaCy pipeline" not in reason
    saved.write_text(whole.replace("AutoIndex.v1", "NoIndex.v1"), "utf-8")
    reason = refused("info", tmp_path / "out")
    assert "config.cfg: a block is wrong" in reason
    assert "NoIndex" in reason


@pytest.mark.skipif(sys.platform != "linux", reason="file systems elsewhere take no such names")
def test_an_ontology_whose_name_is_no_text(ontolink, toy, tmp_path):
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/toy\xff.obo"))
    odd.write_bytes(toy.read_bytes())
    result = ontolink("build", odd, tmp_path / "out")
    assert result.code == 0, result.err
    assert spacy.load(tmp_path / "out").get_pipe("ontolink_retriever").kb.name == "toy\\xff"
    odd.write_bytes(toy.read_bytes().replace(b"milk yield", b"yield of milk"))
    assert ontolink("update", tmp_path / "out", odd, tmp_path / "new").code == 0
    assert "T:2" in ontolink("search", tmp_path / "new", "yield of milk").out
