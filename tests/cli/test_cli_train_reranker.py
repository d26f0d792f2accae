"""``ontolink train reranker``: candidates from a saved pipeline, settings, and a block that puts the result to use."""

import json
import runpy
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
import spacy
from confection import Config
from spacy.util import load_config
from tiny_models import save_model

from spacy_ontolink.cli.pipelines import adjust, only_retriever
from spacy_ontolink.cli.reranker_pools import read_pools
from spacy_ontolink.cli.train_reranker import BLOCKS
from spacy_ontolink.cli.training import Watch
from spacy_ontolink.components.context_reranker import ContextSettings
from spacy_ontolink.documents import read_documents
from spacy_ontolink.errors import DataError
from spacy_ontolink.training.config import read_config
from spacy_ontolink.training.hard_negatives import Negatives
from spacy_ontolink.training.reranker_settings import (
    CrossEncoderModel,
    PoolSettings,
    ReadAndSelectModel,
    YesNoModel,
)

TESTS = Path(__file__).parents[1]
CONFIGS = TESTS.parent / "configs"
SMALL = ["--model.mention_tokens=40", "--model.entity_tokens=40", "--training.epochs=1", "--training.batch_size=2"]


@pytest.fixture
def pairs(tmp_path):
    """Mentions: plain, one that is given once for each of its two ids, of an old id, of unknown ids, and of none."""
    texts = {
        "The yield of fat was low.": [("yield", ["T:3"]), ("yield of fat", ["T:1"]), ("low", []), ("fat", ["T:9"])],
        "Less milk yields, more fat milk.": [("milk yields", ["T:8"]), ("fat milk", ["T:2"]), ("fat milk", ["T:1"])],
    }
    rows = [
        {"text": text, "mentions": [
            {"start": text.index(mention), "end": text.index(mention) + len(mention), "text": mention, "kb_ids": ids}
            for mention, ids in mentions
        ]}
        for text, mentions in texts.items()
    ]  # fmt: skip
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


@pytest.fixture
def read(pipeline):
    """Read pools with the pipeline as it was saved, or with a surface stage after its retriever."""

    def run(paths, surface=None, settings=None, **given):
        nlp = spacy.load(pipeline)
        if surface is not None:
            nlp.add_pipe("ontolink_surface_rerank", config=surface)
        return nlp, read_pools(nlp, only_retriever(nlp, None, ""), paths, settings or PoolSettings(), **given)

    return run


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    rerankers = runpy.run_path(str(TESTS / "rerankers" / "conftest.py"))
    return {"bert": rerankers["save_bert"](folder / "bert"), "roberta": rerankers["save_roberta"](folder / "roberta")}


def linked(nlp, path):
    """What a pipeline says of the mentions of a file, as dicts of scores by id."""
    adjust(nlp, spans_key="ontolink", k=1)
    docs = list(nlp.pipe(read_documents(path, nlp)))
    return [{row["id"]: row["scores"] for row in span._.ontolink} for doc in docs for span in doc.spans["ontolink"]]


def by_text(nlp, pools):
    kb = nlp.get_pipe("ontolink_retriever").kb
    return {pool.mention.text: (kb.ids_of(pool.candidates), set(kb.ids_of(pool.gold)), pool) for pool in pools.pools}


def test_pools_are_what_the_pipeline_finds(read, pairs):
    nlp, pools = read([pairs])
    found = by_text(nlp, pools)
    assert {text: gold for text, (_, gold, _) in found.items()} == {
        "yield": {"T:3"},
        "yield of fat": {"T:1"},
        "milk yields": {"T:2"},  # what the old id leads to
        "fat milk": {"T:1", "T:2"},  # both, so that neither is a negative of the other
    }
    assert pools.facts == {
        "mentions": 7, "without_gold": 1, "with_unknown_gold_only": 1, "mentions_used": 4, "in_pool": 4,
    }  # fmt: skip
    scores = linked(nlp, pairs)
    for text, place in {"yield": 0, "yield of fat": 1, "milk yields": 4, "fat milk": 5}.items():
        ids, _, pool = found[text]
        assert ids == list(scores[place])
        np.testing.assert_allclose(pool.surface, [own["retriever"] for own in scores[place].values()], atol=1e-5)
    assert found["fat milk"][2].weights.tolist() == [1.0, 1.0]
    pool = found["milk yields"][2]
    assert (pool.mention.left, pool.mention.right) == ("Less ", ", more fat milk.")
    texts = pools.describe(pool.candidates.tolist(), pool.mention.text)
    assert [text.name for text in texts][:2] == ["milk yield", "yield trait"]


def test_surface_scores_are_those_of_the_surface_stage(read, pairs):
    nlp, pools = read([pairs], surface={"pooling": 1.0, "name_pooling": 0.3})
    scores = linked(nlp, pairs)
    found = by_text(nlp, pools)
    for text, place in {"yield": 0, "yield of fat": 1, "milk yields": 4, "fat milk": 5}.items():
        ids, gold, pool = found[text]
        expected = {id: own["surface"] for id, own in scores[place].items()}
        assert ids == sorted(expected, key=lambda id: -expected[id])
        np.testing.assert_allclose(pool.surface, [expected[id] for id in ids], atol=1e-5)
        np.testing.assert_allclose(pool.gold_surface, [expected[id] for id in sorted(gold)], atol=1e-5)


def test_weights_of_pairs_count(read, tmp_path):
    path = tmp_path / "weighed.jsonl"
    mention = {"start": 0, "end": 5, "text": "yield"}
    rows = [{**mention, "kb_ids": ["T:1"], "weight": 0.25}, {**mention, "kb_ids": ["T:3"], "weight": 0.75}]
    path.write_text(json.dumps({"text": "yield", "mentions": rows}), "utf-8")
    nlp, pools = read([path])
    (pool,) = pools.pools
    assert nlp.get_pipe("ontolink_retriever").kb.ids_of(pool.gold) == ["T:1", "T:3"]
    assert pool.weights.tolist() == [0.25, 0.75]
    rows = [{**mention, "kb_ids": ["T:1", "T:3"], "weight": 0.5}]
    path.write_text(json.dumps({"text": "yield", "mentions": rows}), "utf-8")
    assert read([path])[1].pools[0].weights.tolist() == [0.25, 0.25]
    path.write_text(json.dumps({"text": "yield", "mentions": [{**mention, "kb_ids": ["T:1"], "weight": 0}]}), "utf-8")
    with pytest.raises(DataError, match="'weight' of mention 0…5 is 0, not a number above 0"):
        read([path])


def test_right_entities_that_were_not_found_have_a_score(read, tmp_path):
    path = tmp_path / "far.jsonl"
    mention = {"start": 0, "end": 5, "text": "yield", "kb_ids": ["T:1"]}
    path.write_text(json.dumps({"text": "yield", "mentions": [mention]}), "utf-8")
    nlp, pools = read([path], settings=PoolSettings(k=2))
    ((ids, gold, pool),) = by_text(nlp, pools).values()
    assert "T:1" not in ids
    assert (len(ids), gold) == (2, {"T:1"})
    assert np.isfinite(pool.gold_surface).all()
    assert (pool.gold_surface < pool.surface.min()).all()
    assert pools.facts["in_pool"] == 0


def test_a_limit_is_a_seeded_choice(read, pairs):
    chosen = [[pool.mention.text for pool in read([pairs], limit=2, seed=seed)[1].pools] for seed in (0, 0, 1, 2, 3)]
    assert chosen[0] == chosen[1]
    assert {len(texts) for texts in chosen} == {2}
    assert len({tuple(texts) for texts in chosen}) > 1
    with pytest.raises(DataError, match="Each mention needs 'kb_ids'"):
        bare = pairs.with_name("bare.jsonl")
        bare.write_text('{"text": "a b", "mentions": [{"start": 0, "end": 1}]}', "utf-8")
        read([bare])


def rerank(pipeline, block):
    """Put what the command printed into the pipeline; return it."""
    nlp = spacy.load(pipeline)
    config = Config().from_str(block)["components"]["ontolink_context_rerank"]
    nlp.add_pipe(config.pop("factory"), config=config)
    return nlp


@pytest.mark.parametrize(("config", "base"), [("train_cross_encoder", "bert"), ("train_read_and_select", "roberta")])
def test_cross_encoders_drop_into_a_pipeline(ontolink, pipeline, pairs, models, tmp_path, config, base):
    out = tmp_path / "out"
    arguments = ["train", "reranker", CONFIGS / f"{config}.cfg", "--pairs", pairs, "--pipeline", pipeline, "-o", out,
                 "--model.base", models[base], *SMALL, "--negatives.scheme", "hard"]  # fmt: skip
    result = ontolink(*arguments)
    assert result.code == 0, result.err
    assert "4 mentions, 100.0% of them with a right entity among their candidates" in result.err
    assert "Left out: 1 mention without an id; 1 mention with ids that the ontology does not have" in result.err
    trained = Config().from_disk(out / "training.cfg")
    assert (trained["training"]["epochs"], trained["negatives"]["scheme"], trained["data"]["pairs"]) == (
        1, "hard", ["pairs.jsonl"],
    )  # fmt: skip
    assert str(tmp_path) not in (out / "training.cfg").read_text("utf-8")
    nlp = rerank(pipeline, result.out)
    scores = linked(nlp, pairs)
    assert {tuple(own) for rows in scores for own in rows.values()} == {("retriever", "context")}
    nlp.to_disk(tmp_path / "saved")
    assert "exists; give --overwrite" in ontolink(*arguments).err
    assert ontolink(*arguments, "--overwrite", "--training.seed", "1").code == 0
    assert linked(spacy.load(tmp_path / "saved"), pairs) == scores


def test_a_training_that_was_cut_short_goes_on(ontolink, pipeline, pairs, models, tmp_path, monkeypatch):
    arguments = ["train", "reranker", CONFIGS / "train_cross_encoder.cfg", "--pairs", pairs, "--pipeline", pipeline,
                 "--model.base", models["bert"], *SMALL, "--training.epochs=3", "--training.checkpoint_minutes=0",
                 "--negatives.scheme=hard"]  # fmt: skip
    assert ontolink(*arguments, "-o", tmp_path / "straight").code == 0

    def stop(watch, done):
        if done.step == 4:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Watch, "__call__", stop)
        assert ontolink(*arguments, "-o", tmp_path / "stopped").code == 130
    assert not (tmp_path / "stopped" / "config.json").exists()
    changed = ontolink(*arguments, "-o", tmp_path / "stopped", "--negatives.n=6")
    assert changed.code == 2
    assert "another training" in changed.err
    assert ontolink(*arguments, "-o", tmp_path / "stopped").code == 0
    for name in ("model.safetensors", "head.safetensors", "training.cfg"):
        assert (tmp_path / "straight" / name).read_bytes() == (tmp_path / "stopped" / name).read_bytes()


@pytest.mark.parametrize("merge", [False, True])
def test_adapters_drop_into_a_pipeline(ontolink, pipeline, pairs, tmp_path, merge):
    pytest.importorskip("peft")

    qwen = save_model(tmp_path / "qwen", "Qwen3", max_position_embeddings=2048)
    out = tmp_path / "out"
    result = ontolink(
        "train", "reranker", CONFIGS / "train_reranker.cfg", "--pairs", pairs, "--pipeline", pipeline, "-o", out,
        "--model.base", qwen, "--training.epochs", "1", *(["--merge"] if merge else []),
    )  # fmt: skip
    assert result.code == 0, result.err
    assert (out / "adapter_config.json").exists() is not merge
    nlp = rerank(pipeline, result.out)
    assert nlp.get_pipe("ontolink_context_rerank").settings.definition is False
    trained = contexts(linked(nlp, pairs))
    assert np.isfinite(trained).all()
    block = Config().from_str(result.out)
    llm = block["components"]["ontolink_context_rerank"]["reranker"]["llm"]
    assert set(llm) == {"@ontolink_llms", "model", "max_length"} | (set() if merge else {"adapter"})
    llm["model"] = str(qwen)
    llm.pop("adapter", None)
    assert np.abs(trained - contexts(linked(rerank(pipeline, block.to_str()), pairs))).max() > 1e-3


def contexts(scores):
    return np.array([own["context"] for rows in scores for own in rows.values()], np.float32)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--training.epoch=1"], "did you mean 'epochs'"),
        (["--model.rank=8"], "[model] has no setting 'rank'"),
        (["--merge"], "[model] has no setting 'merge'"),
        (["--model.kind=soft"], 'must be "yes-no" or "cross-encoder" or "read-and-select"'),
        (["--negatives.n=4"], "n_semi_hard = 5 makes no sense"),
        (["--pool.k=1"], "pool.k = 1"),
        (["--model.base=/nowhere/at/all"], "No model folder"),
        (["--data.component=other"], "no component 'other'"),
        (["--data.limit=0"], "data.limit = 0"),
    ],
)
def test_what_is_refused(refused, pipeline, pairs, models, tmp_path, arguments, said):
    line = refused(
        "train", "reranker", CONFIGS / "train_cross_encoder.cfg", "--pairs", pairs, "--pipeline", pipeline,
        "-o", tmp_path / "out", "--model.base", models["bert"], *SMALL, *arguments,
    )  # fmt: skip
    assert said in line
    assert not (tmp_path / "out").exists()


def test_what_is_missing(refused, pipeline, pairs, models, tmp_path):
    start = ["train", "reranker", CONFIGS / "train_cross_encoder.cfg", "-o", tmp_path / "out", "--model.base",
             models["bert"]]  # fmt: skip
    assert "give --pairs FILE" in refused(*start, "--pipeline", pipeline)
    assert "data.pipeline = None must be text" in refused(*start, "--pairs", pairs)
    assert "No such input file" in refused(*start, "--pipeline", pipeline, "--pairs", tmp_path / "none.jsonl")
    assert "no config.cfg in it" in refused(*start, "--pipeline", tmp_path, "--pairs", pairs)


@pytest.mark.parametrize(
    ("name", "model", "training", "negatives", "k"),
    [
        ("train_reranker", YesNoModel("Qwen/Qwen3-Reranker-0.6B", max_length=512, rank=16, alpha=32),
         (2, 8, 5e-5, 0.05, "cosine"), Negatives("hard", 8, 5, 0.30, 0.02), 50),
        ("train_cross_encoder",
         CrossEncoderModel("bert-large-uncased", mention_tokens=64, entity_tokens=128, dropout=0.2),
         (3, 32, 2e-5, 0.05, "cosine"), Negatives("random", 20), 64),
        ("train_read_and_select",
         ReadAndSelectModel("roberta-base", mention_tokens=256, entity_tokens=256, dropout=0.2),
         (3, 8, 1e-4, 0.05, "cosine"), Negatives("random", 20), 64),
    ],
)  # fmt: skip
def test_the_configs_have_the_papers_settings_and_leave_nothing_out(name, model, training, negatives, k):
    path = CONFIGS / f"{name}.cfg"
    blocks = read_config(path, BLOCKS, {"data.pipeline": "out"}, optional=("logger",))
    own = blocks["training"]
    assert (own.epochs, own.batch_size, own.learning_rate, own.warmup, own.schedule) == training
    assert (blocks["model"], blocks["negatives"], blocks["pool"].k) == (model, negatives, k)
    text = load_config(path, interpolate=False)
    for block, made in blocks.items():
        if made is not None:
            assert set(text[block]) == {field.name for field in fields(made)}


@pytest.mark.parametrize(
    ("training", "pipeline"),
    [("train_reranker", "pilot"), ("train_cross_encoder", "scizsel")],
)
def test_training_shows_what_the_pipeline_shows(training, pipeline):
    pool = load_config(CONFIGS / f"{training}.cfg")["pool"]
    config = load_config(CONFIGS / f"{pipeline}.cfg")["components"]
    context = config["ontolink_context_rerank"]
    assert pool.pop("k") == config["ontolink_retriever"]["k"]
    read = {"n_context", "n_synonyms", "definition"} | (set(pool) if pipeline == "pilot" else set())
    defaults = ContextSettings()
    for name in read:
        assert pool[name] == context.get(name, getattr(defaults, name))
