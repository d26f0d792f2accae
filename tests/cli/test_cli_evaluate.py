import json

import pytest
import spacy
from spacy.tokens import DocBin, Span


def test_measures(ontolink, pipeline, corpus, tmp_path):
    out = tmp_path / "metrics.json"
    result = ontolink("evaluate", pipeline, corpus, "--output", out)
    assert result.code == 0
    measures = json.loads(result.out)
    assert measures == json.loads(out.read_text("utf-8"))
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
        ('{"text": "fat"}\n', "no mention in it to compare with"),
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
