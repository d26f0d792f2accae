import json
import random

import numpy as np
import pytest
import spacy

from spacy_ontolink.cli import main
from spacy_ontolink.files import read_json, write_json
from spacy_ontolink.registry import registry
from spacy_ontolink.types import Reformulation

PARTS = "arm leg heart liver kidney eye ear skin bone brain hand foot".split()
SIGNS = {"pain": "ache", "swelling": "oedema", "weakness": "paresis", "stiffness": "rigidity",
         "bleeding": "haemorrhage", "atrophy": "wasting", "rupture": "tear"}  # fmt: skip


def terms():
    for place, part in enumerate(PARTS):
        yield {"id": f"P:{place}", "name": f"abnormal {part}"}
        for number, (sign, other) in enumerate(SIGNS.items()):
            yield {"id": f"S:{place}{number}", "name": f"{sign} of the {part}", "parents": [f"P:{place}"],
                   "synonyms": [f"{other} of the {part}", f"{part} {other}", f"{other} in {part}"]}  # fmt: skip


@pytest.fixture(scope="module")
def signs(tmp_path_factory):
    """A saved pipeline over 96 entities, with a retriever alone."""
    folder = tmp_path_factory.mktemp("signs")
    (folder / "signs.jsonl").write_text("".join(json.dumps(term) + "\n" for term in terms()), "utf-8")
    with pytest.raises(SystemExit) as exit:
        main(["build", str(folder / "signs.jsonl"), str(folder / "pipeline"), "-k", "20"])
    assert exit.value.code == 0
    return folder / "pipeline"


@pytest.fixture
def dev(tmp_path):
    """Mentions in sentences, not as the ontology writes them; some have no gold id, or an unknown one."""
    chance = random.Random(0)
    rows = []
    for place, part in enumerate(PARTS):
        for number, sign in enumerate(SIGNS):
            text = chance.choice(["{1} with {0}", "{0}s, {1}", "{1} type {2}"]).format(sign, part, sign[::-1])
            ids = [[f"S:{place}{number}"], [], ["X:1"]][chance.choices([0, 1, 2], [8, 1, 1])[0]]
            mention = {"start": 4, "end": 4 + len(text), "text": text, "label": "SIGN", "kb_ids": ids}
            rows.append({"id": f"{place}{number}", "text": f"The {text} grew worse.", "mentions": [mention]})
    path = tmp_path / "dev.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


class Oracle:
    """Reads backwards, and so knows the sign of 'arm type niap'; of the parts of the body it takes the longest word."""

    id = "oracle"
    asked = 0

    def score(self, mentions, candidates):
        Oracle.asked += len(mentions)
        return [
            np.array([(text.name.split()[0] in (mention.text, mention.text[::-1].split()[0])) + 0.01 * len(text.name)
                      for text in texts], "f4")
            for mention, texts in zip(mentions, candidates, strict=True)
        ]  # fmt: skip

    def to_disk(self, path):
        path.mkdir(parents=True)
        write_json(path / "oracle.json", {})

    def from_disk(self, path):
        return self


class Rewriter:
    """Gives the standard name of what ends in 's, PART'."""

    asked = 0

    def reformulate(self, mentions):
        Rewriter.asked += len(mentions)
        parts = [mention.text.split("s, ") for mention in mentions]
        return [Reformulation(f"{p[0]} of the {p[1]}" if len(p) == 2 else "", "") for p in parts]

    def to_disk(self, path):
        path.mkdir(parents=True)
        write_json(path / "rewriter.json", {})

    def from_disk(self, path):
        return self


@pytest.fixture
def pilot(signs, tmp_path):
    """The whole stack, with fakes for the models."""
    registry.ontolink_rerankers.register("test.Oracle.v1", func=Oracle)
    registry.ontolink_reformulators.register("test.Rewriter.v1", func=Rewriter)
    Oracle.asked = Rewriter.asked = 0
    plain = spacy.load(signs)
    nlp = spacy.blank("en")
    config = {"k": 20, "reformulator": {"@ontolink_reformulators": "test.Rewriter.v1"}, "spans_key": "signs"}
    retriever = nlp.add_pipe("ontolink_retriever", config=config)
    retriever.adopt(plain.get_pipe("ontolink_retriever").space)
    own = {"weights": [1.0, 0.0, 0.0], "pooling": 0.0, "name_pooling": 0.0, "wording": 0.0}
    nlp.add_pipe("ontolink_surface_rerank", config=own)
    nlp.add_pipe("ontolink_context_rerank", config={"reranker": {"@ontolink_rerankers": "test.Oracle.v1"}})
    nlp.add_pipe("ontolink_fuse", config={"weights": {"surface": 0.0, "context": 1.0}})
    nlp.to_disk(tmp_path / "pilot")
    return tmp_path / "pilot"


def steps_of(folder):
    return {step["name"]: step for step in read_json(folder / "tuning.json")["steps"]}


def test_held_out_synonyms(ontolink, signs, tmp_path):
    result = ontolink("tune", signs, tmp_path / "out", "--limit", 80)
    assert result.code == 0, result.err
    assert "No annotated mentions given: tuned on" in result.out
    assert "EXACT synonyms held out" in result.out
    facts = read_json(tmp_path / "out" / "tuning.json")
    assert facts["data"] is None
    assert 40 < facts["mentions"] <= 80
    assert facts["entities_hidden"] > 0
    assert facts["nil"]["n_nil"] > 0
    steps = steps_of(tmp_path / "out")
    assert list(steps) == ["retriever", "calibration", "threshold"]
    assert steps["retriever"]["measure"] == "recall_at_1"  # nothing puts it right later
    assert (tmp_path / "out" / "tuning" / "reliability.svg").is_file()
    nlp = spacy.load(tmp_path / "out")
    assert nlp.pipe_names == ["ontolink_retriever", "ontolink_fuse"]
    config = nlp.config["components"]["ontolink_fuse"]
    assert config["calibration"]["features"]
    assert config["threshold"] == steps["threshold"]["after"]["threshold"]
    assert len(nlp.get_pipe("ontolink_retriever").kb) == len(spacy.load(signs).get_pipe("ontolink_retriever").kb)
    again = ontolink("tune", signs, tmp_path / "again", "--limit", 80)
    assert again.out == result.out
    assert read_json(tmp_path / "again" / "tuning.json") == facts


def test_annotated_mentions(ontolink, pilot, dev, tmp_path):
    result = ontolink("tune", pilot, dev, tmp_path / "out", "--hide", 0.1)
    assert result.code == 0, result.err
    facts = read_json(tmp_path / "out" / "tuning.json")
    assert (facts["data"], facts["mentions"], facts["mentions_in_file"]) == ("dev.jsonl", 84, 84)
    assert facts["without_gold"] > 0
    assert facts["with_unknown_gold_only"] > 0
    steps = steps_of(tmp_path / "out")
    assert list(steps) == ["retriever", "surface", "fusion", "cascade", "calibration", "threshold"]
    assert steps["retriever"]["measure"] == "recall_at_20"
    assert len(steps["surface"]["curve"]) == 22 * 6
    assert steps["fusion"]["after"]["alpha"] < 1
    assert "not applied" in steps["cascade"]["note"]
    hidden = facts["nil"]["n_nil"] - facts["without_gold"] - facts["with_unknown_gold_only"]
    assert hidden == facts["entities_hidden"]  # each is gold to one mention here
    assert Oracle.asked == Rewriter.asked == 84
    assert {path.name for path in (tmp_path / "out" / "tuning").iterdir()} == {
        "retriever.svg", "retriever-weights.svg", "surface.svg", "surface-weights.svg", "fusion.svg", "cascade.svg",
        "threshold.svg", "reliability.svg",
    }  # fmt: skip
    for name in ("retriever", "surface", "fusion", "cascade", "calibration", "threshold"):
        assert any(line.startswith(name) for line in result.out.splitlines())


def test_the_saved_pipeline_is_as_good_as_was_said(ontolink, pilot, dev, tmp_path):
    assert ontolink("tune", pilot, dev, tmp_path / "out", "--hide", 0).code == 0
    steps, nlp = steps_of(tmp_path / "out"), spacy.load(tmp_path / "out")
    retriever, surface = nlp.get_pipe("ontolink_retriever"), nlp.get_pipe("ontolink_surface_rerank")
    fuser = nlp.get_pipe("ontolink_fuse")
    for name, component in (("retriever", retriever), ("surface", surface)):
        assert component.settings.weights == steps[name]["after"]["weights"]
        assert component.settings.pooling == steps[name]["after"]["pooling"]
    assert fuser.weights["context"] == steps["fusion"]["after"]["alpha"]
    assert retriever.settings.spans_key == "signs"
    assert retriever.settings.k == 20
    fuser.threshold = None
    hits = total = 0
    for row in map(json.loads, dev.read_text("utf-8").splitlines()):
        doc = nlp.make_doc(row["text"])
        (mention,) = row["mentions"]
        doc.spans["signs"] = [doc.char_span(mention["start"], mention["end"], label="SIGN")]
        doc = nlp(doc)
        if mention["kb_ids"] and mention["kb_ids"] != ["X:1"]:
            total += 1
            hits += doc.spans["signs"][0].kb_id_ == mention["kb_ids"][0]
    assert hits / total == pytest.approx(steps["fusion"]["value_after"])
    assert total == steps["fusion"]["n"]


def test_a_cascade_that_is_on_is_tuned(ontolink, pilot, dev, tmp_path):
    nlp = spacy.load(pilot)
    nlp.get_pipe_config("ontolink_context_rerank")["cascade_exact"] = True
    nlp.to_disk(tmp_path / "cascading")
    assert ontolink("tune", tmp_path / "cascading", dev, tmp_path / "out").code == 0
    step = steps_of(tmp_path / "out").get("cascade")
    config = spacy.load(tmp_path / "out").config["components"]["ontolink_context_rerank"]
    assert {key: config[key] for key in step["after"]} == step["after"]
    assert "passes over" in step["note"]
    assert "not applied" not in step["note"]


def test_a_precision(ontolink, refused, signs, dev, tmp_path):
    assert ontolink("tune", signs, dev, tmp_path / "out", "--precision", 0.7).code == 0
    assert "precision of 70%" in steps_of(tmp_path / "out")["threshold"]["note"]
    assert ontolink("tune", signs, dev, tmp_path / "out", "--precision", 0.7, "--overwrite").code == 0


def test_too_few_mentions_leave_a_pipeline_without_calibration(ontolink, signs, dev, tmp_path):
    result = ontolink("tune", signs, dev, tmp_path / "out", "--limit", 10)
    assert result.code == 0, result.err
    assert "no calibration: " in result.out
    assert "Tuned on 10 mentions of 84 of dev.jsonl." in result.out
    assert spacy.load(tmp_path / "out").pipe_names == ["ontolink_retriever"]
    assert read_json(tmp_path / "out" / "tuning.json")["nil"] is None


def test_one_of_several_retrievers(ontolink, two_retrievers, refused, corpus, tmp_path):
    assert "--component" in refused("tune", two_retrievers, corpus, tmp_path / "out")
    result = ontolink("tune", two_retrievers, corpus, tmp_path / "out", "--component", "second")
    assert result.code == 0, result.err
    assert spacy.load(tmp_path / "out").pipe_names == ["ontolink_retriever", "second"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nothing.jsonl", "out"], "No such input file: "),
        (["a", "b", "c"], "one DEV and one OUT, not 3 paths"),
        (["out", "--hide", "1.5"], "--hide"),
        (["out", "--precision", "2"], "--precision"),
        (["out", "--seed", "-1"], "--seed"),
        (["taken"], "is not empty and is no pipeline"),
    ],
)
def test_what_is_refused(refused, signs, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").touch()
    assert words in refused("tune", signs, *arguments)
    assert not (tmp_path / "out").exists()


def test_nothing_is_written_when_it_fails(refused, signs, dev, tmp_path):
    (tmp_path / "no_gold.jsonl").write_text('{"text": "arm", "mentions": [{"start": 0, "end": 3}]}\n', "utf-8")
    assert "Each mention needs 'kb_ids'" in refused("tune", signs, tmp_path / "no_gold.jsonl", tmp_path / "out")
    assert "No threshold reaches" in refused("tune", signs, dev, tmp_path / "out", "--precision", 1, "--hide", 0.7)
    assert not (tmp_path / "out").exists()


def test_an_ontology_without_synonyms(refused, tmp_path):
    (tmp_path / "bare.jsonl").write_text('{"id": "T:1", "name": "one"}\n{"id": "T:2", "name": "two"}\n', "utf-8")
    with pytest.raises(SystemExit):
        main(["build", str(tmp_path / "bare.jsonl"), str(tmp_path / "bare")])
    assert "has no synonyms to hold out" in refused("tune", tmp_path / "bare", tmp_path / "out")


def altered(path, out, alter):
    """Save a pipeline anew under another name, altered."""
    nlp = spacy.load(path)
    alter(nlp)
    nlp.to_disk(out)
    return out


def lines_of(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


@pytest.mark.parametrize("ids", [["NIL"], ["X:1"], ["NIL", "X:1"]])
def test_mentions_none_of_which_has_a_known_id(refused, signs, tmp_path, ids):
    rows = [{"text": "arm pain", "mentions": [{"start": 0, "end": 8, "kb_ids": ids}]}] * 40
    said = refused("tune", signs, lines_of(tmp_path / "dev.jsonl", rows), tmp_path / "out")
    assert "None of the 40 has a gold id that the ontology knows" in said
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("text", ["漢字", "   x"])
def test_mentions_none_of_which_has_candidates(refused, signs, tmp_path, text):
    rows = [{"text": text, "mentions": [{"start": 0, "end": 2, "kb_ids": ["S:00"]}]}] * 40
    said = refused("tune", signs, lines_of(tmp_path / "dev.jsonl", rows), tmp_path / "out")
    assert "None of 40 mention(s) gets a candidate from 'ontolink_retriever'" in said
    assert not (tmp_path / "out").exists()


def test_labels_that_the_retriever_leaves_alone(ontolink, refused, signs, dev, tmp_path):
    def choose(nlp):
        nlp.get_pipe_config("ontolink_retriever")["labels"] = ["X"]

    other = altered(signs, tmp_path / "other", choose)
    assert "'ontolink_retriever' links X; these are SIGN" in refused("tune", other, dev, tmp_path / "out")
    rows = [json.loads(line) for line in dev.read_text("utf-8").splitlines()]
    for row in rows[:60]:
        row["mentions"][0]["label"] = "X"
    result = ontolink("tune", other, lines_of(tmp_path / "some.jsonl", rows), tmp_path / "out")
    assert result.code == 0, result.err
    assert "Tuned on 60 mentions of 84 of some.jsonl; 24 others of labels" in result.out
    facts = read_json(tmp_path / "out" / "tuning.json")
    assert (facts["mentions"], facts["of_other_labels"], facts["nil"]["n"]) == (60, 24, 60)


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ([], "  no threshold helps; none was set: NIL"),
        (["--precision", 0.01], "  no threshold is needed for this precis"),
    ],
)
def test_where_no_threshold_helps_that_is_said(ontolink, signs, dev, tmp_path, option, words):
    rows = [json.loads(line) for line in dev.read_text("utf-8").splitlines()]
    for row in rows:
        row["mentions"] = [one for one in row["mentions"] if one["kb_ids"] and one["kb_ids"][0].startswith("S:")]
    path = lines_of(tmp_path / "known.jsonl", rows)
    result = ontolink("tune", signs, path, tmp_path / "out", "--hide", 0, *option)
    assert result.code == 0, result.err
    assert words in result.out
    assert spacy.load(tmp_path / "out").get_pipe("ontolink_fuse").threshold is None


def test_mentions_without_candidates_count_as_nil(ontolink, signs, dev, tmp_path):
    rows = [json.loads(line) for line in dev.read_text("utf-8").splitlines()]
    rows += [{"text": "漢字", "mentions": [{"start": 0, "end": 2, "kb_ids": []}]}] * 30
    result = ontolink("tune", signs, lines_of(tmp_path / "more.jsonl", rows), tmp_path / "out", "--hide", 0)
    assert result.code == 0, result.err
    facts = read_json(tmp_path / "out" / "tuning.json")
    nil = facts["nil"]
    assert (facts["mentions"], nil["n"], nil["without_candidates"]) == (114, 114, 30)
    assert nil["n_nil"] == facts["without_gold"] + facts["with_unknown_gold_only"] > 30
    assert f"NIL: {nil['n_nil']} of 114 mentions (" in result.out
    assert "; 30 mentions without candidates answered NIL; " in result.out


class Failing(Oracle):
    def score(self, mentions, candidates):
        return [np.full(len(texts), np.nan, "f4") for texts in candidates]


def test_a_context_stage_that_fails_on_all(refused, pilot, dev, tmp_path):
    registry.ontolink_rerankers.register("test.Failing.v1", func=Failing)

    def fail(nlp):
        nlp.remove_pipe("ontolink_context_rerank")
        config = {"reranker": {"@ontolink_rerankers": "test.Failing.v1"}}
        nlp.add_pipe("ontolink_context_rerank", config=config, before="ontolink_fuse")

    failing = altered(pilot, tmp_path / "failing", fail)
    assert "'ontolink_context_rerank' gave none of 84 mention(s) a score" in refused(
        "tune", failing, dev, tmp_path / "out"
    )


def test_alpha_without_calibration_is_applied(ontolink, pilot, dev, tmp_path):
    bare = altered(pilot, tmp_path / "bare", lambda nlp: nlp.remove_pipe("ontolink_fuse"))
    rows = [row for row in map(json.loads, dev.read_text("utf-8").splitlines()) if "with" in row["text"]]
    result = ontolink("tune", bare, lines_of(tmp_path / "few.jsonl", rows[:18]), tmp_path / "out", "--hide", 0)
    assert result.code == 0, result.err
    assert "no calibration: 18 mention(s)" in result.out
    step, nlp = steps_of(tmp_path / "out")["fusion"], spacy.load(tmp_path / "out")
    assert step["before"] == {"alpha": 1.0}
    assert step["after"] != step["before"]
    fuser = nlp.get_pipe("ontolink_fuse")
    assert fuser.weights["context"] == step["after"]["alpha"]
    assert fuser.calibration is None


def test_the_last_stage_decides_before(ontolink, pilot, dev, tmp_path):
    def turn(nlp):
        nlp.remove_pipe("ontolink_fuse")
        nlp.remove_pipe("ontolink_surface_rerank")
        nlp.add_pipe("ontolink_surface_rerank")

    turned = altered(pilot, tmp_path / "turned", turn)
    assert ontolink("tune", turned, dev, tmp_path / "out", "--hide", 0).code == 0
    steps = steps_of(tmp_path / "out")
    assert steps["fusion"]["before"] == {"alpha": 0.0}
    assert steps["fusion"]["value_before"] == pytest.approx(steps["surface"]["value_after"])
    assert spacy.load(tmp_path / "out").pipe_names[-3:] == [
        "ontolink_context_rerank", "ontolink_surface_rerank", "ontolink_fuse",
    ]  # fmt: skip


def test_the_threshold_of_the_retriever_is_told(ontolink, signs, dev, tmp_path):
    def reject(nlp):
        nlp.get_pipe_config("ontolink_retriever")["threshold"] = 0.95

    strict = altered(signs, tmp_path / "strict", reject)
    result = ontolink("tune", strict, dev, tmp_path / "out")
    assert result.code == 0, result.err
    step = steps_of(tmp_path / "out")["threshold"]
    assert step["before"] == {"threshold": None, "retriever_threshold": 0.95}
    assert step["after"]["retriever_threshold"] is None
    assert step["value_before"] < steps_of(tmp_path / "out")["retriever"]["value_after"]
    assert "(before: retriever_threshold = 0.95" in result.out
    assert spacy.load(tmp_path / "out").get_pipe("ontolink_retriever").settings.threshold is None
    few = ontolink("tune", strict, dev, tmp_path / "few", "--limit", 10)
    assert " Rejected as before: retriever_threshold = 0.95" in few.out
    assert spacy.load(tmp_path / "few").get_pipe("ontolink_retriever").settings.threshold == 0.95


def test_tuning_again_begins_with_what_was_tuned(ontolink, signs, dev, tmp_path):
    assert ontolink("tune", signs, dev, tmp_path / "once", "--precision", 0.7).code == 0
    tuned = spacy.load(tmp_path / "once").get_pipe("ontolink_fuse")
    assert ontolink("tune", tmp_path / "once", dev, tmp_path / "twice").code == 0
    assert steps_of(tmp_path / "twice")["threshold"]["before"] == {"threshold": tuned.threshold}
    result = ontolink("tune", tmp_path / "once", dev, tmp_path / "few", "--limit", 10)
    assert f" Rejected as before: threshold = {tuned.threshold}" in result.out
    again = spacy.load(tmp_path / "few").get_pipe("ontolink_fuse")
    assert (again.threshold, again.calibration) == (tuned.threshold, tuned.calibration)


def test_a_second_surface_stage(ontolink, pilot, dev, tmp_path):
    def double(nlp):
        for name in ("ontolink_context_rerank", "ontolink_fuse"):
            nlp.remove_pipe(name)
        nlp.add_pipe("ontolink_surface_rerank", "second", config={"pooling": 0.4})
        nlp.add_pipe("ontolink_fuse")

    two = altered(pilot, tmp_path / "two", double)
    result = ontolink("tune", two, dev, tmp_path / "out")
    assert result.code == 0, result.err
    assert "'ontolink_surface_rerank' stays as it is: 'second' after it is tuned instead" in result.out
    assert steps_of(tmp_path / "out")["surface"]["before"]["pooling"] == 0.4
    config = spacy.load(tmp_path / "out").config["components"]
    assert config["ontolink_surface_rerank"]["pooling"] == 0.0


def test_a_single_synonym_is_held_out(ontolink, tmp_path):
    rows = [{"id": "T:1", "name": "one", "synonyms": ["ones"]}, {"id": "T:2", "name": "two"}]
    with pytest.raises(SystemExit):
        main(["build", str(lines_of(tmp_path / "few.jsonl", rows)), str(tmp_path / "few")])
    result = ontolink("tune", tmp_path / "few", tmp_path / "out", "--hide", 0)
    assert result.code == 0, result.err
    assert "tuned on 1 EXACT synonym held out" in result.out
