import json
import re

import pytest
import spacy
from spacy.tokens import DocBin, Span

from spacy_ontolink.cli.evaluate import measure
from spacy_ontolink.cli.evaluate_table import _comparison
from spacy_ontolink.errors import DataError


def test_measures(ontolink, pipeline, corpus, tmp_path):
    out = tmp_path / "metrics.json"
    assert ontolink("evaluate", pipeline, corpus, "--output", out).out == ""
    result = ontolink("evaluate", pipeline, corpus)
    assert result.code == 0
    measures = json.loads(result.out)
    written = json.loads(out.read_text("utf-8"))
    mentions = written.pop("mentions")
    assert measures.keys() == written.keys()
    assert measures["intervals"] == written["intervals"]
    assert [(row["document"], row["rank"], row["verdict"]) for row in mentions] == [
        ("a", 1, "right"), ("a", 1, "right"), ("a", 1, "right"), ("b", 0, "spurious"), ("b", 0, "nil")
    ]  # fmt: skip
    assert '\n    {"document": "a", "start": 0,' in out.read_text("utf-8")  # one line each
    assert measures["n"] == 4
    assert measures["n_without_gold"] == 1
    assert measures["recall_at_1"] == 0.75  # the fourth has an unknown gold id
    assert measures["recall_at_64"] == 0.75
    assert measures["mrr"] == 0.75
    assert (measures["gold_ids_resolved"], measures["gold_ids_unknown"]) == (1, 2)
    assert measures["n_unknown_gold"] == 1
    assert {name: part["n"] for name, part in measures["by_overlap"].items()} == {"HO": 1, "LO": 1, "NO": 2}
    assert "1 gold id(s) brought up to date" in result.err


def test_gold_in_spacy_files(ontolink, pipeline, tmp_path):
    doc = spacy.blank("en")("The milk yield fell.")
    doc.ents = [Span(doc, 1, 3, label="TRAIT", kb_id="T:22")]
    DocBin(docs=[doc]).to_disk(tmp_path / "gold.spacy")
    measures = json.loads(ontolink("evaluate", pipeline, tmp_path / "gold.spacy").out)
    assert (measures["n"], measures["recall_at_1"], measures["gold_ids_resolved"]) == (1, 1.0, 1)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "No such input file"),
        ("just text\n", "data.jsonl, line 1: not JSON"),
        ("\n", "no document in it"),
        ('{"text": "fat"}\n', "no mention in it to compare with"),
        ('{"text": "fat", "mentions": []}\n', "no mention in it to compare with"),
        ('{"text": "fat", "mentions": [{"start": 0, "end": 3}]}\n', "Each mention needs 'kb_ids'"),
    ],
)
def test_data_without_gold(refused, pipeline, tmp_path, content, words):
    path = tmp_path / "data.jsonl"
    if content:
        path.write_text(content, "utf-8")
    assert words in refused("evaluate", pipeline, path, "--output", tmp_path / "metrics.json")
    assert not (tmp_path / "metrics.json").exists()


@pytest.mark.parametrize(("component", "unknown"), [("ontolink_retriever", 2), ("second", 3)])
def test_one_of_several_retrievers_ranks_and_resolves(ontolink, two_retrievers, corpus, component, unknown):
    measures = json.loads(ontolink("evaluate", two_retrievers, corpus, "--component", component).out)
    assert measures["gold_ids_unknown"] == unknown
    assert measures["recall_at_1"] == (0.75 if component == "ontolink_retriever" else 0.0)  # no name in it is like "BF"


def test_several_retrievers_need_a_choice(refused, two_retrievers, corpus):
    assert "--component: ontolink_retriever, second" in refused("evaluate", two_retrievers, corpus)
    assert "no component 'third'" in refused("evaluate", two_retrievers, corpus, "--component", "third")


def test_spans_of_no_length_in_spacy_files(ontolink, pipeline, tmp_path):
    doc = spacy.blank("en")("The milk yield fell.")
    doc.spans["sc"] = [Span(doc, 1, 3, label="TRAIT", kb_id="T:2"), Span(doc, 2, 2, label="TRAIT", kb_id="T:2")]
    DocBin(docs=[doc]).to_disk(tmp_path / "gold.spacy")
    measures = json.loads(ontolink("evaluate", pipeline, tmp_path / "gold.spacy").out)
    assert (measures["n"], measures["recall_at_1"], measures["mentions_without_token"]) == (2, 0.5, 1)


def test_mentions_without_entity_alone(ontolink, pipeline, tmp_path):
    row = {"text": "fat", "mentions": [{"start": 0, "end": 3, "kb_ids": ["NIL"]}]}
    (tmp_path / "nil.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
    result = ontolink("evaluate", pipeline, tmp_path / "nil.jsonl", "--report", tmp_path / "nil.html")
    measures = json.loads(result.out)
    assert (measures["n"], measures["recall_at_1"], measures["nil"]["n_nil"]) == (0, None, 1)
    assert "NIL: 1 of 1 mentions have no known entity" in result.err
    assert "No mention has a gold id that the knowledge base knows" in result.err


def test_what_is_odd_is_said(ontolink, pipeline, tmp_path):
    text = "milk yield of fattening cows"
    mentions = [
        {"start": 0, "end": 10, "kb_ids": ["T:22"]},
        {"start": 4, "end": 5, "kb_ids": ["T:2"]},  # the space between two tokens
        {"start": 14, "end": 17, "kb_ids": ["T:1"]},  # a part of a token
        {"start": 24, "end": 28, "kb_ids": ["NCBITaxon:9913"]},
        {"start": 24, "end": 28, "kb_ids": []},
    ]
    (tmp_path / "odd.jsonl").write_text(json.dumps({"text": text, "mentions": mentions}) + "\n", "utf-8")
    result = ontolink("evaluate", pipeline, tmp_path / "odd.jsonl", "-o", tmp_path / "m.json")
    for note in (
        "1 gold id(s) brought up to date (alt ids and replacements), such as T:22 -> T:2",
        "1 gold id(s) unknown to the knowledge base, such as NCBITaxon:9913",
        "1 mention(s) with unknown gold ids only",
        "1 mention(s) without gold id",
        "1 mention(s) that cover no token",
        "1 mention(s) widened to whole tokens",
    ):
        assert note in result.err
    measures = json.loads((tmp_path / "m.json").read_text("utf-8"))
    assert (measures["n"], measures["nil"]["n"]) == (4, 5)
    assert len(measures["mentions"]) == 5


def test_what_is_written_is_said(ontolink, pipeline, corpus, tmp_path):
    out, page = tmp_path / "m.json", tmp_path / "page.html"
    result = ontolink("evaluate", pipeline, corpus, "-o", out, "--report", page)
    assert result.out == ""
    assert result.err.rstrip().endswith(f" s -> {out}, {page}")
    assert "->" not in ontolink("evaluate", pipeline, corpus).err.splitlines()[-1]


def test_the_output_of_link_has_no_gold_ids(ontolink, refused, pipeline, tmp_path):
    (tmp_path / "notes.txt").write_text("The milk yield fell.\n", "utf-8")
    assert ontolink("link", pipeline, tmp_path / "notes.txt", "-o", tmp_path / "links.jsonl").code == 0
    assert "looks like the output of 'ontolink link'" in refused("evaluate", pipeline, tmp_path / "links.jsonl")


@pytest.fixture
def answered(ontolink, ner_pipeline, tmp_path):
    """A .spacy file that 'ontolink link' made of text: all ids in it are answers."""
    (tmp_path / "text.txt").write_text("Fat percentage and fat percentage, milk yields.\n", "utf-8")
    assert ontolink("link", ner_pipeline, tmp_path / "text.txt", "-o", tmp_path / "linked.spacy").code == 0
    return tmp_path / "linked.spacy"


def test_answers_in_spacy_files_are_not_gold(ontolink, refused, ner_pipeline, answered):
    for arguments in (["evaluate", ner_pipeline, answered], ["tune", ner_pipeline, answered, answered.parent / "out"]):
        line = refused(*arguments)
        assert "answers of a pipeline" in line
    # The way out that the message names.
    gold = answered.with_name("gold.jsonl")
    assert f"ontolink convert {answered} gold.jsonl" in line
    assert ontolink("convert", answered, gold).code == 0
    assert json.loads(ontolink("evaluate", ner_pipeline, gold).out)["recall_at_1"] == 1


def test_linking_answers_again_makes_no_gold_of_them(ontolink, refused, ner_pipeline, answered):
    again = answered.with_name("again.jsonl")
    assert ontolink("link", ner_pipeline, answered, "-o", again).code == 0
    mentions = [mention for line in again.read_text("utf-8").splitlines() for mention in json.loads(line)["mentions"]]
    assert [mention["kb_ids"] for mention in mentions] == [[]] * len(mentions)
    assert all(mention["kb_id"] for mention in mentions)
    assert "gold id" in refused("evaluate", ner_pipeline, again)


def test_answers_that_someone_corrected_are_gold(ontolink, ner_pipeline, answered):
    nlp = spacy.load(ner_pipeline)
    (doc,) = DocBin().from_disk(answered).get_docs(nlp.vocab)
    first, *others = doc.ents
    doc.ents = [spacy.tokens.Span(doc, first.start, first.end, label=first.label, kb_id="T:3"), *others]
    DocBin(docs=[doc], store_user_data=True).to_disk(answered)
    measures = json.loads(ontolink("evaluate", ner_pipeline, answered).out)
    assert measures["recall_at_1"] == pytest.approx(0.5)


def test_gold_ids_of_a_linked_corpus_stay_gold(ontolink, pipeline, corpus, tmp_path):
    expected = json.loads(ontolink("evaluate", pipeline, corpus).out)
    assert ontolink("link", pipeline, corpus, "-o", tmp_path / "linked.spacy").code == 0
    found = json.loads(ontolink("evaluate", pipeline, tmp_path / "linked.spacy").out)
    assert found["recall_at_1"] == expected["recall_at_1"]


def test_two_runs(ontolink, refused, pipeline, corpus, tmp_path, monkeypatch):
    first, other = tmp_path / "first.json", tmp_path / "other.jsonl"
    ontolink("evaluate", pipeline, corpus, "-o", first)
    page = tmp_path / "page.html"
    result = ontolink("evaluate", pipeline, corpus, "--compare", first, "--report", page, "--seed", 3)
    found = json.loads(result.out)["comparison"]
    assert (found["with"], found["file"], found["recall_at_1"]["p_value"]) == ("pipeline", "first.json", 1.0)
    assert found["resampling"]["seed"] == 3
    assert "beside pipeline (first.json), 4 mentions:" in result.err
    assert "Beside pipeline (first.json)" in page.read_text("utf-8")
    other.write_text(corpus.read_text("utf-8").splitlines()[0] + "\n", "utf-8")
    page.unlink()
    monkeypatch.setattr("spacy_ontolink.cli.mentions.run", None)  # it is said before anything is linked
    line = refused("evaluate", pipeline, other, "--compare", first, "--report", page)
    assert "measured on other data" in line
    assert "0 mention(s) are only here and 2 only there" in line
    assert not page.exists()


def test_a_run_without_mentions_cannot_be_compared_with(refused, pipeline, corpus, tmp_path):
    (tmp_path / "old.json").write_text('{"n": 4, "recall_at_1": 0.75}', "utf-8")
    line = refused("evaluate", pipeline, corpus, "--compare", tmp_path / "old.json")
    assert "it does not say what became of each mention" in line
    assert "--output FILE" in line


def test_options_that_cannot_be_used(refused, pipeline, corpus, tmp_path):
    assert "give --report the name of a file" in refused("evaluate", pipeline, corpus, "--report", tmp_path)
    assert "give --output the name of a file" in refused("evaluate", pipeline, corpus, "-o", tmp_path)
    assert "no pattern of web addresses" in refused("evaluate", pipeline, corpus, "--links", "javascript:{id}")
    assert "--resamples" in refused("evaluate", pipeline, corpus, "--resamples", 10)


def test_no_file_is_written_over_another(refused, pipeline, corpus, tmp_path, monkeypatch):
    monkeypatch.setattr("spacy_ontolink.cli.pipelines.load_pipeline", None)  # it is said before anything is opened
    kept, other, link = corpus.read_bytes(), tmp_path / "run.json", tmp_path / "link.json"
    link.symlink_to(corpus)
    other.write_text("{}", "utf-8")
    for option in ("--output", "--report"):
        for path in (corpus, link):
            assert "is the input, too" in refused("evaluate", pipeline, corpus, option, path)
        assert "is the input, too" in refused("evaluate", pipeline, corpus, "--compare", other, option, other)
        line = refused("evaluate", pipeline, corpus, option, corpus / "x" / "y.json")
        assert f"since {corpus.resolve()} is a file; give {option}" in line
    new = tmp_path / "new.html"
    line = refused("evaluate", pipeline, corpus, "--report", new, "-o", tmp_path / "." / "new.html")
    assert "--output and --report would both write" in line
    assert "--report needs a file" in refused("evaluate", pipeline, corpus, "--report", "-")
    assert (corpus.read_bytes(), other.read_text("utf-8"), new.exists()) == (kept, "{}", False)


@pytest.mark.parametrize("data", ["brat", "brat/a.ann", "brat/a.txt"])
def test_no_part_of_a_brat_corpus_is_written_over(refused, tmp_path, data):
    (tmp_path / "brat").mkdir()
    (tmp_path / "brat" / "a.txt").write_text("fat", "utf-8")
    (tmp_path / "brat" / "a.ann").write_text("", "utf-8")
    for name in ("a.txt", "a.ann"):
        assert "is the input" in refused("evaluate", "none", tmp_path / data, "-o", tmp_path / "brat" / name)


def test_standard_output_is_no_file(ontolink, pipeline, corpus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert json.loads(ontolink("evaluate", pipeline, corpus, "-o", "-").out)["n"] == 4
    assert not (tmp_path / "-").exists()


def test_measuring_leaves_the_pipeline_as_it_was(pipeline, corpus, tmp_path):
    nlp = spacy.load(pipeline)
    settings = nlp.get_pipe("ontolink_retriever").settings
    found = measure(nlp, str(corpus))
    assert nlp.get_pipe("ontolink_retriever").settings == settings
    (tmp_path / "text").write_bytes(corpus.read_bytes())
    assert measure(nlp, str(tmp_path / "text"), format="jsonl")["mrr"] == found["mrr"]
    with pytest.raises(DataError):
        measure(nlp, corpus, format="pubtator")
    assert nlp.get_pipe("ontolink_retriever").settings == settings


def test_the_columns_of_a_comparison_stay_apart():
    half = {"there": 0.5, "here": 0.5, "difference": 0.0, "interval": [-1.0, 1.0], "p_value": 1.0}
    resampling = {"level": 0.95, "unit": "document", "units": 12, "resamples": 100, "seed": 0}
    found = {"with": "b", "file": "b.json", "n": 9, "recall_at_1": half, "mrr": half, "accuracy": half,
             "mcnemar": {"only_here": 0, "only_there": 0, "p_value": 1.0}, "resampling": resampling}  # fmt: skip
    _, head, *rows = _comparison(found)[:5]
    assert "difference" in head
    assert [row.split("  ")[0] for row in rows] == ["R@1", "MRR", "accuracy with NIL"]
    for row in rows:
        assert [cell for cell in re.split(" {2,}", row)][1:] == ["50.0", "50.0", "+0.0", "-100.0 to +100.0", "1.000"]


def test_a_span_group_is_for_spacy_files(refused, pipeline, corpus):
    line = refused("evaluate", pipeline, corpus, "--spans-key", "sc")
    assert "is not a .spacy file, so it has no span groups" in line


def test_the_same_seed_gives_the_same_figures(ontolink, pipeline, corpus):
    runs = [json.loads(ontolink("evaluate", pipeline, corpus, "--resamples", 200).out) for _ in range(2)]
    for run in runs:
        del run["seconds"], run["mentions_per_second"]
    assert runs[0] == runs[1]
