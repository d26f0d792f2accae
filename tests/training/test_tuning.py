import numpy as np
import pytest

from spacy_ontolink.encoders.lexical import make_lexical_encoder
from spacy_ontolink.indexes.exact import ExactIndex
from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.space import CandidateScores, EntitySpace, Pooling, Query, retrieve
from spacy_ontolink.training.grids import folds
from spacy_ontolink.training.tuning import (
    Lookups,
    Pools,
    gold_among,
    grid_of,
    mix,
    tune_alpha,
    tune_retriever,
    tune_surface,
)
from spacy_ontolink.types import Entity, Mention

PLAIN = {"weights": [1.0, 0.0, 0.0], "pooling": 0.0}


class Counting:
    """An encoder that counts what it encodes."""

    uses_context = False

    def __init__(self, encoder):
        self.encoder, self.calls = encoder, 0

    def __getattr__(self, name):
        if name.startswith("encode"):
            self.calls += 1
        return getattr(self.encoder, name)


@pytest.fixture
def counted(space):
    encoder = Counting(space.encoder)
    return EntitySpace(space.kb, encoder, space.plain, ExactIndex(), space.pooling).repooled(
        space.pooling, ExactIndex()
    )


@pytest.fixture
def rewritten(space):
    """Mentions that say nothing, whose standard names say all."""
    names = space.kb.names_of(np.arange(10, 70))
    queries = [Query(Mention(f"q{i}"), None, Mention(name), Mention("abnormal")) for i, name in enumerate(names)]
    gold = [frozenset([10 + i]) for i in range(60)]
    return Lookups(queries, gold, [None] * 60, folds([query.mention.text for query in queries]))


def test_gold_among_candidates():
    found = gold_among(np.array([[3, 1, -1], [2, 5, 7], [1, 2, 3]], np.int32), [{1, 9}, {5}, set()])
    assert found.tolist() == [[False, True, False], [False, True, False], [False] * 3]
    assert gold_among(np.zeros((0, 4), np.int32), []).shape == (0, 4)


def test_what_makes_no_difference_is_not_tried(space):
    plain, reformulated = [Query(Mention("x"))], [Query(Mention("x"), hypernym=Mention("y"))]
    assert [s["pooling"] for s in grid_of(space, plain)] == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]
    assert all(s["weights"] == [1.0, 0.0, 0.0] for s in grid_of(space, plain))
    assert len(grid_of(space, reformulated)) == 22 * 6
    flat = KnowledgeBase.from_entities([Entity("T:1", "one"), Entity("T:2", "two")])
    flat_space = EntitySpace.build(flat, make_lexical_encoder(), ExactIndex())
    assert grid_of(flat_space, plain) == [PLAIN]


def test_the_retriever_learns_to_read_standard_names(counted, rewritten):
    ticks = []
    step = tune_retriever(counted, rewritten, 10, PLAIN, tick=lambda *t: ticks.append(t))
    assert step.measure == "recall_at_10"
    assert step.value_before < 0.5 < step.value_after
    assert step.after["weights"][1] > 0
    assert len(step.curve) == 22 * 6 == len(ticks)
    assert counted.encoder.calls == 3  # each kind of text once, however many grid points
    best = retrieve(
        counted.repooled(Pooling(0.5, step.after["pooling"]), ExactIndex()), rewritten.queries, 10,
        weights=step.after["weights"],
    )  # fmt: skip
    assert gold_among(best.entities, rewritten.gold).any(axis=1).mean() == pytest.approx(step.value_after)


def test_the_retriever_alone_is_tuned_by_its_first_candidate(space, rewritten):
    step = tune_retriever(space, rewritten, 10, PLAIN, at=1)
    assert step.measure == "recall_at_1"
    assert step.value_after <= tune_retriever(space, rewritten, 10, PLAIN).value_after


def test_masks_hold_while_tuning(space, rewritten):
    hidden = np.ones(len(space.kb), bool)
    hidden[10:40] = False
    masked = Lookups(rewritten.queries, rewritten.gold, [hidden] * 30 + [None] * 30, rewritten.fold)
    step = tune_retriever(space, masked, 70, PLAIN)
    assert step.value_after <= 0.5


def test_surface_is_tuned_over_fixed_candidates(counted, rewritten):
    candidates = np.stack([np.roll(np.arange(70, dtype=np.int32), i)[:70] for i in range(60)])
    step = tune_surface(counted, rewritten, candidates, PLAIN | {"wording": 0.0})
    assert step.measure == "recall_at_1"
    assert step.value_after > 0.9
    assert counted.encoder.calls == 3
    scores = CandidateScores(counted, rewritten.queries, candidates, Pooling(0.0, step.after["pooling"]))
    first = scores.mixed(step.after["weights"]).argmax(axis=1)
    right = gold_among(candidates, rewritten.gold)
    assert right[np.arange(60), first].mean() == pytest.approx(step.value_after)


def test_the_weight_of_wording_is_tuned(space, rewritten):
    """The words point at the right candidate in all mentions, the rows in none."""
    candidates = np.tile(np.arange(70, dtype=np.int32), (60, 1))
    lookups = Lookups([Query(Mention("")) for _ in range(60)], rewritten.gold, rewritten.masks, rewritten.fold)

    class Knowing:
        def of_queries(self, kb, queries, entities):
            return np.where(lookups.right(entities), 0.0, -5.0).astype(np.float32)

    step = tune_surface(space, lookups, candidates, PLAIN | {"wording": 0.0}, wording=Knowing())
    assert step.value_before < 0.1
    assert step.after == PLAIN | {"wording": 0.03}
    assert step.value_after == 1
    assert len(step.curve) == 6 * 7


def test_alpha_weighs_the_views(pools):
    step = tune_alpha(pools, {"surface": 1.0}, "context", 0.5)
    assert 0 < step.after["alpha"] < 1
    assert len(step.curve) == 21
    values = {point["alpha"]: point["value"] for point in step.curve}
    assert values[0.0] == pytest.approx(pools.right_first(pools.views["surface"]).mean())
    assert values[1.0] == pytest.approx(pools.right_first(pools.views["context"]).mean())
    assert step.value_after == max(values.values()) > max(values[0.0], values[1.0])


def test_a_context_that_adds_nothing_is_not_paid_for(pools):
    views = {"surface": np.where(pools.right, 1.0, 0.0).astype(np.float32), "context": pools.views["context"]}
    perfect = Pools(views, pools.valid, pools.right, pools.tie, pools.fold)
    assert tune_alpha(perfect, {"surface": 1.0}, "context", 1.0).after == {"alpha": 0.0}


def test_mixes():
    assert mix({"surface": 1.0}, "context", 0.25) == {"surface": 0.75, "context": 0.25}
    assert mix({"surface": 0.5, "retriever": 0.5}, "context", 0.0) == {"surface": 0.5, "retriever": 0.5, "context": 0.0}


def test_views_may_be_left_out_and_blanked(pools):
    seen = pools.seen(["surface", "context"], {"context": np.arange(200) < 50, "other": np.ones(200, bool)})
    assert seen.views.keys() == {"surface", "context"}
    assert np.isnan(seen.views["context"][:50]).all()
    assert np.isfinite(pools.views["context"]).all()
    np.testing.assert_array_equal(
        seen.right_first(seen.fused({"surface": 0.5, "context": 0.5}))[:50],
        pools.right_first(pools.views["surface"])[:50],
    )
