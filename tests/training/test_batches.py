"""Table 8 of Sci-ZSEL on batches that fit in one's head."""

import numpy as np
import pytest

from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.training.batches import Example, Relatives, Sampler, draw_names
from spacy_ontolink.types import Entity, Mention, Synonym

#        root
#       /    \
#     fat    milk            lonely 0 … 39
#    /   \      \
#  body  leg    yield
ROOT, FAT, MILK, BODY, LEG, YIELD = range(6)
LONELY = 40


@pytest.fixture(scope="module")
def kb():
    entities = [
        Entity("R:0", "root"),
        Entity("F:0", "fat", parents=("R:0",)),
        Entity("M:0", "milk", (Synonym("white stuff", "EXACT"),), parents=("R:0",)),
        Entity("B:0", "body fat", (Synonym("Adiposity", "EXACT"), Synonym("fatness")), parents=("F:0",)),
        Entity("L:0", "leg fat", parents=("F:0",)),
        Entity("Y:0", "milk yield", (Synonym("adiposity"),), parents=("M:0",)),
    ]
    return KnowledgeBase.from_entities([*entities, *(Entity(f"X:{n}", f"thing {n}") for n in range(LONELY))])


@pytest.fixture(scope="module")
def relatives(kb):
    return Relatives(kb)


def examples(*entities, others=()):
    return [Example(Mention(f"m{number}"), entity, others) for number, entity in enumerate(entities)]


def sets(batch, mask):
    return [set(batch.columns[row].tolist()) for row in mask]


def golds_of(found):
    return [{entity for entity in row if entity < 6} for row in found]


def test_relatives(relatives):
    assert relatives.near(FAT).tolist() == [ROOT, BODY, LEG]
    assert relatives.wide(FAT).tolist() == [ROOT, MILK, BODY, LEG]
    assert relatives.wide(BODY).tolist() == [FAT, LEG]
    assert relatives.near(10).tolist() == relatives.wide(10).tolist() == []
    assert relatives.namesakes([BODY, MILK, YIELD, BODY]) == {BODY: {YIELD}, MILK: set(), YIELD: {BODY}}


@pytest.mark.parametrize(
    ("strategy", "positives", "negatives"),
    [
        ("BASE", [{FAT}, {BODY}, {LEG}, {MILK}, {FAT}],
         [{BODY, LEG, MILK}, {FAT, LEG, MILK}, {FAT, BODY, MILK}, {FAT, BODY, LEG}, {BODY, LEG, MILK}]),
        ("RM-PCS", [{FAT}, {BODY}, {LEG}, {MILK}, {FAT}], [set(), {MILK}, {MILK}, {BODY, LEG}, set()]),
        ("PC-POS", [{FAT, BODY, LEG}, {BODY, FAT}, {LEG, FAT}, {MILK}, {FAT, BODY, LEG}],
         [{MILK}, {LEG, MILK}, {BODY, MILK}, {FAT, BODY, LEG}, {MILK}]),
    ],
)  # fmt: skip
def test_strategies_by_hand(relatives, strategy, positives, negatives):
    batch = Sampler(relatives, strategy)(examples(FAT, BODY, LEG, MILK, FAT), np.random.default_rng(0))
    golds, random = batch.columns[:4].tolist(), batch.columns[4:].tolist()
    assert golds == [FAT, BODY, LEG, MILK]
    assert len(random) == (5 - 4) + 4  # b - |G|, and N+(fat) has 4
    assert len(set(random)) == 5
    assert not set(random) & set(golds)
    assert sets(batch, batch.positive) == positives
    found = sets(batch, batch.negative)
    assert [row & set(golds) for row in found] == negatives
    assert all(len(row) == 4 for row in found)  # the target budget, b - 1
    assert not any(positive & negative for positive, negative in zip(positives, found, strict=True))


def test_neighbours_drawn_at_random_are_spared(kb, relatives):
    everything = Sampler(relatives, "RM-PCS", cap=1000)
    relatives_of_fat = set(relatives.wide(FAT).tolist())
    for seed in range(20):
        batch = everything(examples(*[FAT] * 44), np.random.default_rng(seed))
        assert len(batch.columns) == len(kb)  # 43 + 4 wanted, 45 there
        (negative,) = {frozenset(row) for row in sets(batch, batch.negative)}
        assert not negative & (relatives_of_fat | {FAT})
        assert len(negative) == len(kb) - 5


def test_parents_drawn_at_random_are_no_positives(relatives):
    batch = Sampler(relatives, "PC-POS")(examples(*[BODY] * 44), np.random.default_rng(0))
    assert FAT in batch.columns[1:]
    assert sets(batch, batch.positive)[0] == {BODY}
    assert FAT not in sets(batch, batch.negative)[0]


def test_budget_is_capped(relatives):
    sampler = Sampler(relatives, "BASE", cap=2)
    batch = sampler(examples(FAT, FAT, BODY), np.random.default_rng(0))
    assert len(batch.columns) == 2 + 1 + 2
    assert batch.negative.sum(1).tolist() == [2, 2, 2]
    assert Sampler(relatives, cap=0)(examples(FAT), np.random.default_rng(0)).columns.tolist() == [FAT]


@pytest.mark.parametrize("strategy", ["BASE", "RM-PCS", "PC-POS"])
def test_namesakes_and_other_right_ones_are_never_negatives(relatives, strategy):
    batch = Sampler(relatives, strategy)(examples(YIELD, BODY, 7, others=(7, 8, 20)), np.random.default_rng(0))
    found = sets(batch, batch.negative)
    assert BODY not in found[0]  # both are called "adiposity"
    assert YIELD not in found[1]
    for seed in range(20):
        batch = Sampler(relatives, strategy)(examples(*[YIELD] * 44, others=(7, 8)), np.random.default_rng(seed))
        assert {7, 8, BODY} <= set(batch.columns.tolist())
        assert not {7, 8, BODY} & sets(batch, batch.negative)[0]


def test_seeded(relatives):
    draws = [
        Sampler(relatives)(examples(FAT, BODY), np.random.default_rng(seed)).columns.tolist() for seed in (0, 0, 1)
    ]
    assert draws[0] == draws[1] != draws[2]


def test_names_of_columns(kb):
    columns = np.array([BODY, ROOT, MILK], np.int32)
    every = draw_names(kb, columns, 5, np.random.default_rng(0))
    assert kb.texts_of(every.names) == ["body fat", "Adiposity", "fatness", "root", "milk", "white stuff"]
    assert every.column.tolist() == [0, 0, 0, 1, 2, 2]
    drawn = {
        tuple(kb.texts_of(draw_names(kb, columns[:1], 2, np.random.default_rng(seed)).names)) for seed in range(20)
    }
    assert drawn == {("body fat", "Adiposity"), ("body fat", "fatness")}
    assert kb.texts_of(draw_names(kb, columns, 1, np.random.default_rng(0)).names) == ["body fat", "root", "milk"]
