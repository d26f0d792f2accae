import json
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import spacy
from spacy.tokens import DocBin
from spacy.training import Corpus
from tiny_models import NEEDS_TORCH

from spacy_ontolink.cli import main
from spacy_ontolink.cli.pair_files import write_pairs
from spacy_ontolink.errors import LLMError
from spacy_ontolink.registry import registry
from spacy_ontolink.training.pairs import read_pairs
from spacy_ontolink.types import Usage

ENTITIES = [
    {"id": "T:1", "name": "body fat percentage", "synonyms": ["fat percentage", "BF"],
     "definition": "Share of fat in the body.", "parents": ["T:0"]},
    {"id": "T:2", "name": "milk yield", "definition": "The amount of milk that a cow gives in a day.",
     "parents": ["T:3"], "alt_ids": ["T:22"]},
    {"id": "T:3", "name": "yield trait", "parents": ["T:0"]},
    {"id": "T:5", "name": "egg yield", "definition": "The number of eggs that a hen lays.", "parents": ["T:3"]},
    {"id": "T:0", "name": "trait", "definition": "Any quality of an animal."},
    {"id": "X:9", "name": "breast feeding", "synonyms": ["BF"], "definition": "Giving milk to a child."},
]  # fmt: skip
TEXT = "Milk yield and milk yields fell. BF rose with egg counts. Low was egg yield, and nothing else."
GOLD = {"Milk yield": "T:22", "milk yields": "T:2", "BF": "T:1", "egg counts": "T:5", "Low": "T:1", "egg yield": "T:5"}
MENTIONS = [
    {"start": TEXT.index(text), "end": TEXT.index(text) + len(text), "label": "TRAIT", "kb_ids": [id]}
    for text, id in GOLD.items()
] + [{"start": 32, "end": 33, "kb_ids": []}]
ANSWERS = {
    "amount of milk": "milk yield, milk yields, BF",
    "number of eggs": "1. egg counts\n2. egg yields\n3. milk yields",
    "Share of fat": "fat percentage",
    "quality": None,
}


@dataclass
class ScriptedLLM:
    """Answers by what stands in the prompt; writes down what it was asked; gives up when told to."""

    script: Path
    id: str = "scripted"
    usage: Usage = field(default=Usage())

    def generate(self, prompts):
        script = json.loads(self.script.read_text("utf-8"))
        if script["end"] is not None and self.usage.calls >= script["end"]:
            raise {"error": LLMError("the key is refused."), "kill": KeyboardInterrupt()}[script["how"]]
        answers = [next((a for words, a in script["answers"].items() if words in p.text), "") for p in prompts]
        with self.script.with_suffix(".log").open("a", encoding="utf-8") as log:
            log.writelines(json.dumps(prompt.text) + "\n" for prompt in prompts)
        n, failed = len(prompts), sum(answer is None for answer in answers)
        more = Usage(n - failed, failed, 0, 100 * n, 5 * n)
        self.usage = Usage(*(a + b for a, b in zip(self.usage, more, strict=True)))
        return answers

    def choose(self, prompts, answers):
        raise NotImplementedError

    def to_disk(self, path):
        raise NotImplementedError

    def from_disk(self, path):
        raise NotImplementedError


@registry.ontolink_llms.register("test.Scripted.v1")
def make_scripted(script: str):
    return ScriptedLLM(Path(script))


@pytest.fixture
def script(tmp_path):
    """Write what the model answers; return the file for ``--llm``."""

    def write(answers=ANSWERS, end=None, how="error"):
        (tmp_path / "script.json").write_text(json.dumps({"answers": answers, "end": end, "how": how}), "utf-8")
        block = {"@ontolink_llms": "test.Scripted.v1", "script": str(tmp_path / "script.json")}
        (tmp_path / "llm.json").write_text(json.dumps(block), "utf-8")
        return tmp_path / "llm.json"

    return write


@pytest.fixture
def asked(tmp_path):
    """Return the prompts asked so far."""
    log = tmp_path / "script.log"
    return lambda: [json.loads(line) for line in log.read_text("utf-8").splitlines()] if log.exists() else []


@pytest.fixture(scope="session")
def defined(tmp_path_factory):
    """A saved pipeline whose entities have definitions."""
    return built(tmp_path_factory.mktemp("defined"), ENTITIES)


def built(folder, entities):
    path = folder / "traits.jsonl"
    path.write_text("".join(json.dumps(entity) + "\n" for entity in entities), "utf-8")
    with pytest.raises(SystemExit) as exit:
        main(["build", str(path), str(folder / "pipeline")])
    assert exit.value.code == 0
    return folder / "pipeline"


@pytest.fixture
def texts(tmp_path):
    path = tmp_path / "corpus.jsonl"
    path.write_text(json.dumps({"id": "a", "text": TEXT, "mentions": MENTIONS}) + "\n", "utf-8")
    return path


@pytest.fixture
def make(ontolink, defined, texts, tmp_path):
    """Run the command into OUT and return the report."""

    def run(setting, *options):
        result = ontolink("pairs", defined, texts, tmp_path / "out", "--setting", setting, *options)
        assert result.code == 0, result.err
        report = json.loads(result.out)
        assert report == json.loads((tmp_path / "out" / "report.json").read_text("utf-8"))
        return report, result.err

    return run


def made(tmp_path):
    pairs = read_pairs(tmp_path / "out" / "pairs.jsonl")
    return sorted((pair.mention.text, pair.entity, pair.source) for pair in pairs)


P1 = [("Milk yield", "T:2", "p1"), ("egg yield", "T:5", "p1")]
SYNONYM = [("BF", "T:1", "synonym"), ("BF", "X:9", "synonym")]
KEPT = [("egg counts", "T:5", "p2"), ("milk yields", "T:2", "p2")]  # with tau = 0.5
DROPPED = [("BF", "T:2", "p2"), ("milk yields", "T:5", "p2")]  # too far from milk yield, nearer to it than egg yield


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("none", []),
        ("synonym", SYNONYM),
        ("p1+synonym", P1 + SYNONYM),
        ("gen", P1 + KEPT),
        ("gen-unfiltered", P1 + KEPT + DROPPED),
        ("gen+synonym", P1 + KEPT + SYNONYM),
        ("p2+synonym", KEPT + SYNONYM),
    ],
)
def test_settings(make, script, asked, tmp_path, setting, expected):
    llm = script()
    report, _ = make(setting, "--llm", llm, "--tau", "0.5")
    assert made(tmp_path) == sorted(expected)
    assert report["pairs"]["total"] == len(expected)
    generates = "gen" in setting or "p2" in setting
    assert bool(asked()) == generates == ("selection" in report) == ("filter_effect" in report)


def test_the_report(make, script, tmp_path):
    report, err = make("gen+synonym", "--llm", script(), "--tau", "0.5", "--report", tmp_path / "copy.json")
    assert json.loads((tmp_path / "copy.json").read_text("utf-8")) == report
    assert report["mentions"] == {
        "found_by": "given", "documents": 1, "total": 6, "distinct": 6, "with_gold": 6}  # fmt: skip
    selection = report["selection"]
    assert (selection["by_name"], selection["entities"]) == (2, 6)
    assert selection["selected_share"] == selection["selected"] / 6
    llm = report["llm"]
    assert (llm["calls"], llm["failed"]) == (llm["answers"], 0)
    assert llm["input_tokens"] == 100 * llm["calls"]
    assert (llm["one_call_per_mention"]["calls"], llm["one_call_per_mention"]["input_tokens"]) == (6, 600)
    aliases = report["aliases"]
    assert aliases["equal_to"]["all"]["name"]["n"] == 1  # "milk yield" of milk yield
    assert aliases["retained_share"] == aliases["kept"] / aliases["total"]
    assert report["pairs"]["by_source"] == {"p1": 2, "synonym": 2, "p2": 2}
    assert report["accuracy"]["accuracy"] == 5 / 6
    before, after = report["filter_effect"]["before"], report["filter_effect"]["after"]
    assert (before["pairs"], before["accuracy"]["right"]) == (6, 4)
    assert (after["pairs"], after["accuracy"]["right"]) == (4, 4)
    assert report["skipped"]["blank_mentions"] == 1
    assert report["skipped"]["mentions_that_fit_nothing"] == 1  # "Low"
    for words in ("Selected", "Calls", "Aliases", "Filter", "Accuracy  83.3 %", "blank mentions: 1", "estimated"):
        assert words in err


def test_what_was_skipped_is_said(make, script, texts, tmp_path):
    texts.write_text(json.dumps({"text": "Yield trait and trait and egg yield"}) + "\n", "utf-8")
    report, err = make("gen", "--llm", script(), "--mentions", "dictionary")
    assert report["skipped"]["entities_without_definition"] == 1
    assert report["skipped"]["entities_without_answer"] == 1
    assert "entities not asked about for want of a definition: 1" in err
    assert report["accuracy"] is None and "Accuracy" not in err


@pytest.mark.parametrize(("rule", "total", "skipped"), [("keep", 4, 0), ("drop", 2, 1), ("split", 4, 0)])
def test_ambiguous_mentions(make, tmp_path, rule, total, skipped):
    report, err = make("p1+synonym", "--ambiguous", rule)
    assert (report["ambiguous"], report["pairs"]["total"]) == (rule, total)
    assert report["pairs"]["ambiguous_mentions"] == 1
    assert report["skipped"]["ambiguous_mentions"] == skipped
    assert f"fits several: {rule}" in err
    weights = [pair.weight for pair in read_pairs(tmp_path / "out" / "pairs.jsonl")]
    assert sum(weights) == {"keep": 4, "drop": 2, "split": 3}[rule]


def test_both_files_are_read_by_evaluate_and_spacy(make, ontolink, defined, tmp_path):
    make("p1+synonym")
    out = tmp_path / "out"
    measures = [json.loads(ontolink("evaluate", defined, out / f"pairs.{kind}").out) for kind in ("jsonl", "spacy")]
    for measure in measures:
        assert (measure["n"], measure["documents"], measure["n_unknown_gold"]) == (4, 1, 0)
    assert measures[0]["recall_at_64"] == measures[1]["recall_at_64"] == 1.0
    nlp = spacy.blank("en")
    (doc,) = DocBin().from_disk(out / "pairs.spacy").get_docs(nlp.vocab)
    assert doc.text == TEXT
    spans = {(span.text, span.kb_id_, span.label_) for span in doc.spans["ontolink"]}
    assert spans == {(text, entity, "TRAIT") for text, entity, _ in P1 + SYNONYM}
    (example,) = Corpus(out)(nlp)
    assert len(example.reference.spans["ontolink"]) == 4
    linked = json.loads(ontolink("link", defined, out / "pairs.jsonl").out)
    assert linked["mentions"][0]["setting"] == "p1+synonym"


def test_a_pair_can_be_audited(make, script, tmp_path):
    make("gen", "--llm", script(), "--tau", "0.5")
    row = json.loads((tmp_path / "out" / "pairs.jsonl").read_text("utf-8"))
    record = next(record for record in row["mentions"] if record["source"] == "p2")
    assert row["id"] == "a"
    assert row["text"][record["start"] : record["end"]] == record["text"] == "milk yields"
    assert (record["kb_ids"], record["gold"], record["setting"]) == (["T:2"], ["T:2"], "gen")
    assert record["sentence"] == "Milk yield and milk yields fell."
    assert record["alias"]["model"] == "scripted" and record["alias"]["prompt"] and record["alias"]["answer"]
    aliases = [json.loads(line) for line in (tmp_path / "out" / "aliases.jsonl").read_text("utf-8").splitlines()]
    dropped = next(alias for alias in aliases if (alias["entity"], alias["text"]) == ("T:5", "milk yields"))
    assert (dropped["kept"], dropped["reason"]) == (False, "drift") and dropped["neighbour"] == "T:2"


def test_a_run_that_is_repeated_asks_nothing(make, script, asked, tmp_path):
    first, _ = make("gen", "--llm", script(), "--tau", "0.5")
    n = len(asked())
    second, _ = make("gen+synonym", "--llm", script(), "--tau", "0.5", "--ambiguous", "split")
    assert len(asked()) == n
    assert second["llm"]["calls"] == first["llm"]["calls"] > 0  # over all runs
    assert second["llm"]["this_run"]["calls"] == 0
    assert second["llm"]["one_call_per_mention"]["input_tokens"] == 600
    assert made(tmp_path) == sorted(P1 + KEPT + SYNONYM)


@pytest.fixture
def many(tmp_path):
    """A pipeline of 150 entities, and a corpus that names them all."""
    entities = [
        {"id": f"N:{n}", "name": f"trait number {n}", "definition": f"It is trait {n} of all."} for n in range(150)
    ]
    path = tmp_path / "many.txt"
    path.write_text("".join(f"The {entity['name']} rose.\n" for entity in entities), "utf-8")
    return built(tmp_path, entities), path


def test_a_killed_run_goes_on(ontolink, script, asked, many, tmp_path):
    arguments = ("pairs", *many, tmp_path / "out", "--setting", "gen", "--llm", script({"trait": "name"}, 64, "kill"))
    assert ontolink(*arguments).code == 130
    assert len(asked()) == 64
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["answers.jsonl", "usage.json"]
    script({"trait": "name"})
    report = json.loads(ontolink(*arguments).out)
    assert len(asked()) == len(set(asked())) == 150
    assert report["llm"]["calls"] == report["llm"]["answers"] == 150
    assert report["llm"]["this_run"]["calls"] == 86
    assert not [path for path in (tmp_path / "out").iterdir() if path.name.startswith(".")]


def test_a_model_that_gives_up_costs_the_rest_only(ontolink, script, asked, many, tmp_path):
    arguments = ("pairs", *many, tmp_path / "out", "--setting", "gen", "--llm", script({"trait": "name"}, 64))
    result = ontolink(*arguments)
    assert result.code == 0
    assert "the key is refused. What it answered before is used; another run asks for the rest." in result.err
    assert json.loads(result.out)["skipped"]["entities_not_asked"] == 86
    script({"trait": "name"})
    assert json.loads(ontolink(*arguments).out)["skipped"].get("entities_not_asked", 0) == 0
    assert len(asked()) == 150


@pytest.mark.parametrize(("answers", "end"), [({"": None}, None), ({}, 0)])
def test_a_model_that_refuses_everything(ontolink, make, script, texts, defined, tmp_path, answers, end):
    report, _ = make("gen", "--llm", script(answers, end))
    assert made(tmp_path) == P1  # names need no model
    assert report["skipped"]["entities_without_answer"] + report["skipped"].get("entities_not_asked", 0) > 0
    texts.write_text(json.dumps({"text": "Low", "mentions": [{"start": 0, "end": 3}]}) + "\n", "utf-8")
    result = ontolink("pairs", defined, texts, tmp_path / "out", "--setting", "gen", "--llm", script(answers, end))
    assert result.code == 2 and result.out == ""
    line = result.err.splitlines()[-1]
    assert "no pair came of 1 mention: " in line and "mentions that fit nothing that this setting pairs with: 1" in line


def test_aliases_of_another_run_in_place_of_a_model(make, script, tmp_path):
    first, _ = make("gen", "--llm", script(), "--tau", "0.5")
    for name in ("aliases.jsonl", "answers.jsonl"):
        (tmp_path / "out" / name).rename(tmp_path / name)
    second, _ = make("gen", "--aliases", tmp_path / "aliases.jsonl", "--tau", "0.5")
    assert "llm" not in second and second["aliases"]["kept"] == first["aliases"]["kept"]
    assert made(tmp_path) == sorted(P1 + KEPT)
    third, _ = make("gen-unfiltered", "--aliases", tmp_path / "answers.jsonl", "--tau", "1")
    assert made(tmp_path) == sorted(P1 + KEPT + DROPPED)
    assert third["aliases"]["kept"] == 0


def test_aliases_of_a_file_are_not_asked_for_again(make, script, asked, tmp_path):
    path = tmp_path / "own.jsonl"
    path.write_text('{"entity": "T:2", "text": "milk yields"}\n{"entity": "T:99", "text": "BF"}\n', "utf-8")
    report, err = make("gen", "--aliases", path, "--llm", script(), "--tau", "0.5", "--encoder", "lexical")
    assert not any("amount of milk" in text.splitlines()[-1] for text in asked())
    assert not any("Definition: The amount of milk" in text for text in asked())
    assert made(tmp_path) == sorted(P1 + KEPT)
    assert report["skipped"]["aliases_of_unknown_entities"] == 1
    assert "aliases of entities that the ontology does not have: 1" in err


def test_large_outputs_come_in_several_files(make, monkeypatch, texts, tmp_path):
    monkeypatch.setattr("spacy_ontolink.cli.pair_files.SHARD", 4)  # two documents
    row = json.dumps({"text": TEXT, "mentions": MENTIONS})
    texts.write_text(f"{row}\n" * 5, "utf-8")
    report, _ = make("synonym")
    assert report["files"] == ["pairs.jsonl", "pairs.spacy", "pairs-2.spacy", "pairs-3.spacy"]
    assert len(list(Corpus(tmp_path / "out")(spacy.blank("en")))) == 5
    texts.write_text(f"{row}\n" * 2, "utf-8")
    make("synonym")
    assert not list((tmp_path / "out").glob("pairs-*.spacy"))  # of the earlier run


def test_files_appear_whole_or_not_at_all(make, texts, tmp_path):
    make("synonym")
    before = (tmp_path / "out" / "pairs.jsonl").read_bytes()

    def broken():
        raise RuntimeError("half-way")
        yield

    with pytest.raises(RuntimeError, match="half-way"):
        write_pairs(tmp_path / "out", broken(), spacy.blank("en"))
    assert (tmp_path / "out" / "pairs.jsonl").read_bytes() == before
    assert not [path for path in (tmp_path / "out").iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--setting", "gen"], ["needs generated aliases", "--llm", "--aliases", "none, synonym, p1+synonym"]),
        (["--setting", "all"], ["p1+synonym", "ontolink pairs --help"]),
        ([], ["--setting"]),
        (["--setting", "gen", "--llm", "gpt"], ["--llm gpt is no language model"]),
        (["--setting", "gen", "--aliases", "none.jsonl"], ["No such input file: none.jsonl"]),
        (["--setting", "synonym", "--mentions", "ner"], ["no component that finds entities"]),
        (["--setting", "synonym", "--mentions", "spans"], ["spans (group 'sc')"]),
        (["--setting", "synonym", "--tau", "2"], ["--tau"]),
    ],
)
def test_wrong_usage(refused, defined, texts, tmp_path, options, words):
    line = refused("pairs", defined, texts, tmp_path / "out", *options)
    for word in words:
        assert word in line
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "No such input file"),
        ("", "no document in it"),
        ("Nothing here.\n", "no mention in it to pair"),
        ('{"text": "x"\n', "line 1: not JSON"),
    ],
)
def test_bad_input_leaves_nothing(refused, defined, tmp_path, content, words):
    path = tmp_path / "input.txt"
    if content is not None:
        path.write_text(content, "utf-8")
    line = refused("pairs", defined, path, tmp_path / "out", "--setting", "synonym")
    assert words in line
    assert not (tmp_path / "out").exists()


def test_folders_of_others_are_left_alone(refused, defined, texts, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("x", "utf-8")
    assert "holds no pairs" in refused("pairs", defined, texts, tmp_path / "out", "--setting", "synonym")
    assert "is a file" in refused("pairs", defined, texts, texts, "--setting", "synonym")


def test_the_dictionary_finds_generated_aliases(make, script, tmp_path):
    report, _ = make("gen", "--llm", script(), "--tau", "0.5", "--mentions", "dictionary")
    assert made(tmp_path) == sorted(P1 + KEPT)
    assert (report["mentions"]["total"], report["mentions"]["total_by_name"]) == (4, 2)
    assert report["filter_effect"]["before"]["pairs"] == 5  # "milk yields" with T:5, too; "BF" is too short
    assert report["filter_effect"]["after"]["pairs"] == 4
    report, _ = make("gen-unfiltered", "--llm", script(), "--tau", "1", "--mentions", "dictionary")
    assert made(tmp_path) == sorted([*P1, *KEPT, DROPPED[1]])
    assert report["mentions"]["with_gold"] == 4


def test_the_dictionary_finds_aliases_where_no_name_is(make, texts, tmp_path):
    texts.write_text('{"text": "Few egg counts."}\n', "utf-8")
    path = tmp_path / "own.jsonl"
    path.write_text('{"entity": "T:5", "text": "egg counts"}\n', "utf-8")
    make("gen-unfiltered", "--aliases", path, "--mentions", "dictionary")
    assert made(tmp_path) == [("egg counts", "T:5", "p2")]


@pytest.mark.parametrize("definition", ["The amount of wool.", ""])
def test_answers_about_former_definitions_are_left_out(ontolink, make, script, texts, tmp_path, definition):
    make("gen", "--llm", script(), "--tau", "0.5")
    changed = [{**entity, "definition": definition} if entity["id"] == "T:2" else entity for entity in ENTITIES]
    pipeline = built(tmp_path, changed)
    own = ("--llm", script({"": None}), "--tau", "0.5")  # it answers nothing any more
    answers = tmp_path / "answers.jsonl"
    answers.write_bytes((tmp_path / "out" / "answers.jsonl").read_bytes())
    for out, options in (("out", own), ("other", ("--aliases", answers, "--tau", "0.5"))):
        result = ontolink("pairs", pipeline, texts, tmp_path / out, "--setting", "gen", *options)
        report = json.loads(result.out)
        assert report["skipped"]["outdated_answers"] == 1
        assert "has changed: 1" in result.err
        found = {(p.mention.text, p.entity) for p in read_pairs(tmp_path / out / "pairs.jsonl")}
        assert ("milk yields", "T:2") not in found and ("egg counts", "T:5") in found


@pytest.mark.parametrize(
    ("options", "words"),
    [
        pytest.param(["--encoder", "no/such/folder"], "no/such/folder", marks=NEEDS_TORCH),
        (["--domain", " "], "domain"),
    ],
)
def test_mistakes_are_told_before_anything_is_asked(refused, script, asked, defined, texts, tmp_path, options, words):
    line = refused("pairs", defined, texts, tmp_path / "out", "--setting", "gen", "--llm", script(), *options)
    assert words in line
    assert not asked() and not (tmp_path / "out").exists()
