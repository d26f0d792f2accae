import numpy as np
import pytest

from spacy_ontolink.encoders.lexical import make_lexical_encoder
from spacy_ontolink.errors import ConfigError, DataError
from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.training import likeness
from spacy_ontolink.training.alias_filter import FilterCounts, Judged, count, judge
from spacy_ontolink.training.aliases import Alias
from spacy_ontolink.types import Entity
from spacy_ontolink.vectors import Vectors, join

PLANE = {  # unit vectors by their angle in degrees
    "root": 90, "left": 0, "right": 60, "below": 30, "alone": 0,
    "near left": 10, "between": 25, "far": 200, "same as right": 60, "half": 15,
}  # fmt: skip


class Plane:
    """Knows each text's vector; notes what it is asked."""

    uses_context = False
    id = "plane"

    def __init__(self, sparse=False):
        self.sparse, self.asked, self.calls = sparse, [], 0

    def encode_mentions(self, mentions):
        self.calls += 1
        self.asked += [mention.text for mention in mentions]
        angles = np.deg2rad([PLANE[mention.text] for mention in mentions])
        rows = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
        if not self.sparse:
            return Vectors((rows,))
        import scipy.sparse as sp

        return join([Vectors((sp.csr_matrix(rows),)), Vectors((rows,))], [0.5, 0.5])


@pytest.fixture(scope="module")
def kb():
    return KnowledgeBase.from_entities(
        [
            Entity("T:0", "root"),
            Entity("T:1", "left", parents=("T:0",)),
            Entity("T:2", "right", parents=("T:0",)),
            Entity("T:3", "below", parents=("T:1",)),
            Entity("T:4", "alone"),
        ]
    )


def cosine(first, second):
    return float(np.cos(np.deg2rad(PLANE[first] - PLANE[second])))


@pytest.mark.parametrize("sparse", [False, True])
def test_hand_computed(kb, sparse):
    aliases = [
        Alias("T:1", "near left"),  # 10 degrees from left, 20 from its child
        Alias("T:1", "between"),  # 25 from left, 5 from its child
        Alias("T:1", "far"),  # 160 from left, 110 from root
        Alias("T:2", "between"),  # 35 from right, 25 from its sibling, left; "below" is no neighbour of right
        Alias("T:4", "between"),  # 25 from alone, which has no neighbour
        Alias("T:4", "near left"),
        Alias("T:1", "half"),  # as near to left as to its child
    ]
    judged = judge(kb, aliases, Plane(sparse), tau=0.95)
    assert [item.alias for item in judged] == aliases
    expected = [
        (cosine("left", "near left"), cosine("below", "near left"), "T:3", True, ""),
        (cosine("left", "between"), cosine("below", "between"), "T:3", False, "drift"),
        (cosine("left", "far"), cosine("root", "far"), "T:0", False, "drift"),
        (cosine("right", "between"), cosine("left", "between"), "T:1", False, "drift"),
        (cosine("alone", "between"), -1.0, "", False, "anchor"),
        (cosine("alone", "near left"), -1.0, "", True, ""),
        (cosine("left", "half"), cosine("below", "half"), "T:3", True, ""),
    ]
    for item, (anchor, drift, *rest) in zip(judged, expected, strict=True):
        assert (item.anchor, item.drift) == pytest.approx((anchor, drift), abs=1e-5)
        assert [item.neighbour, item.kept, item.reason] == rest
    # between left, far from both left and right: too far; of these, all but that of "alone" drift, too
    assert count(judged, 0.95) == FilterCounts(aliases=7, kept=3, drift=3, anchor=4, both=3)
    assert count(judged, 0.95).retained == 3 / 7
    assert count([]) == FilterCounts(0, 0, 0, 0, 0) and count([]).retained == 0


def test_each_condition_alone(kb):
    between = [Alias("T:1", "between")]
    assert judge(kb, between, Plane(), tau=0.5)[0].reason == "drift"
    kept = judge(kb, between, Plane(), tau=0.5, use_drift=False)[0]
    assert kept.kept and kept.reason == "" and kept.neighbour == "T:3"
    assert judge(kb, between, Plane(), tau=0.95, use_drift=False)[0].reason == "anchor"
    assert judge(kb, [Alias("T:1", "near left")], Plane(), tau=0.99)[0].reason == "anchor"


def test_an_alias_at_tau_passes(kb):
    tau = cosine("alone", "between")
    assert judge(kb, [Alias("T:4", "between")], Plane(), tau=tau)[0].kept
    assert not judge(kb, [Alias("T:4", "between")], Plane(), tau=tau + 1e-3)[0].kept


def test_texts_are_encoded_once(kb, monkeypatch):
    encoder = Plane()
    judge(kb, [Alias(id, text) for text in ("between", "far", "left") for id in ("T:1", "T:2")] * 50, encoder)
    assert sorted(encoder.asked) == ["below", "between", "far", "left", "right", "root"]
    monkeypatch.setattr(likeness, "_BATCH", 2)
    batched = Plane()
    judge(kb, [Alias("T:1", "between")], batched)
    assert batched.calls == 3 and sorted(batched.asked) == ["below", "between", "left", "right", "root"]


def test_without_a_hierarchy_only_tau_acts(caplog):
    kb = KnowledgeBase.from_entities([Entity("T:1", "left"), Entity("T:2", "right")], name="flat")
    judged = judge(kb, [Alias("T:1", "same as right"), Alias("T:1", "near left")], Plane())
    assert [(item.reason, item.neighbour, item.drift) for item in judged] == [("anchor", "", -1), ("", "", -1)]
    assert "flat: without a hierarchy" in caplog.text


def test_blocks_and_order_change_nothing(kb, monkeypatch):
    rng = np.random.default_rng(0)
    aliases = [Alias(f"T:{rng.integers(5)}", str(rng.choice(list(PLANE)))) for _ in range(200)]
    whole = judge(kb, aliases, Plane())
    monkeypatch.setattr(likeness, "_ALIASES", 3)
    monkeypatch.setattr(likeness, "_CELLS", 5)
    assert judge(kb, aliases, Plane()) == whole
    assert judge(kb, aliases[::-1], Plane()) == whole[::-1]


def test_of_equal_neighbours_the_first_wins():
    kb = KnowledgeBase.from_entities(
        [
            Entity("T:0", "root"),
            Entity("T:1", "left", parents=("T:0",)),
            Entity("T:2", "right", parents=("T:0",)),
            Entity("T:5", "same as right", parents=("T:0",)),
        ]
    )
    assert judge(kb, [Alias("T:1", "right")], Plane())[0].neighbour == "T:2"


def test_real_vectors_and_many_siblings():
    entities = [Entity("T:0", "trait")]
    entities += [Entity(f"T:{n}", f"trait number {n}", parents=("T:0",)) for n in range(1, 400)]
    kb = KnowledgeBase.from_entities(entities)
    encoder = make_lexical_encoder()
    encoder.fit(kb)
    aliases = [Alias(f"T:{n}", f"number {n} trait") for n in range(1, 400)]
    aliases += [Alias(f"T:{n}", f"trait number {n % 399 + 1}") for n in range(1, 400)]
    judged = judge(kb, aliases, encoder, tau=0.5)
    assert all(item.kept for item in judged[:399])
    assert [(item.reason, item.neighbour) for item in judged[399:]] == [
        ("drift", f"T:{n % 399 + 1}") for n in range(1, 400)
    ]


def test_nothing_to_judge_and_bad_input(kb):
    assert judge(kb, [], Plane()) == []
    with pytest.raises(ConfigError, match="tau = 2"):
        judge(kb, [], Plane(), tau=2)
    with pytest.raises(DataError, match=r"2 alias.* such as X:1"):
        judge(kb, [Alias("X:1", "far"), Alias("T:1", "far"), Alias("X:1", "left")], Plane())


def test_a_judgement_is_a_value():
    first, second = (Judged(Alias("T:1", "x"), 0.5, 0.1, "T:2", False, "anchor") for _ in range(2))
    assert first == second and hash(first) == hash(second)
