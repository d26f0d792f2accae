import pytest

from spacy_ontolink.training.alias_filter import Judged
from spacy_ontolink.training.aliases import Alias
from spacy_ontolink.training.corpus import CorpusDocument, CorpusMention
from spacy_ontolink.training.pair_report import PER_MENTION, alias_facts, count_pairs, llm_facts, share
from spacy_ontolink.training.pairs import Matcher, make_pairs
from spacy_ontolink.types import Usage


def counted(kb, rule="keep", sources=("p1", "synonym"), *mentions):
    made = tuple(CorpusMention("a", 0, len(text), text, 0, text, "", gold) for text, gold in mentions)
    stream = make_pairs([CorpusDocument("a", "", made)], Matcher(kb, sources), "p1+synonym", rule)
    return count_pairs(stream, lambda id: {"T:22": "T:2", "X:0": None}.get(id, id))


MENTIONS = [
    ("milk yield", ("T:22",)),  # an old id
    ("milk yield", ("T:5",)),
    ("BF", ("T:1",)),
    ("egg yield", ("X:0",)),  # an unknown one
    ("egg yield", ()),
    ("low", ("T:1",)),
]


def test_counts(traits):
    counts = counted(traits, "keep", ("p1", "synonym"), *MENTIONS)
    facts = counts.facts()
    assert facts == {
        "total": 6,
        "by_source": {"p1": 4, "synonym": 2, "p2": 0},
        "by_scope": {"NAME": 4, "EXACT": 1, "RELATED": 1},
        "mentions": 5,
        "share_of_mentions": 5 / 6,
        "ambiguous_mentions": 1,
        "entities": 4,
    }
    assert (counts.mentions, counts.unmatched) == (6, 1)


@pytest.mark.parametrize(
    ("rule", "right", "judged", "weighted"), [("keep", 2, 5, 2 / 5), ("drop", 1, 3, 1 / 3), ("split", 2, 5, 1.5 / 4)]
)
def test_accuracy_where_gold_is_known(traits, rule, right, judged, weighted):
    accuracy = counted(traits, rule, ("p1", "synonym"), *MENTIONS).accuracy()
    assert (accuracy["right"], accuracy["judged"], accuracy["with_unknown_gold"]) == (right, judged, 1)
    assert accuracy["accuracy"] == right / judged
    assert accuracy["weighted_accuracy"] == pytest.approx(weighted)
    assert accuracy["by_source"]["p1"] == {"accuracy": 1 / 3, "right": 1, "judged": 3}
    assert ("synonym" in accuracy["by_source"]) == (rule != "drop")


def test_no_gold_no_accuracy(traits):
    assert counted(traits, "keep", ("p1",), ("milk yield", ())).accuracy() is None
    assert counted(traits, "keep", ("p1",)).facts()["share_of_mentions"] is None


def judged(entity, text, reason=""):
    return Judged(Alias(entity, text), 1.0, 0.5, "", not reason, reason)


def test_aliases_by_what_they_equal(traits):
    aliases = [
        judged("T:2", "Milk yield"),
        judged("T:2", "MY"),
        judged("T:2", "lactation", "anchor"),
        judged("T:2", "egg yield", "drift"),  # another entity's name is new to this one
        judged("T:1", "BF"),
        judged("T:99", "milk yield"),  # of an entity that is gone
    ]
    facts = alias_facts(traits, aliases, {"by_name": {"T:2"}, "by_retrieval": set()})
    assert (facts["total"], facts["kept"], facts["entities"]) == (6, 4, 3)
    assert facts["retained_share"] == 4 / 6
    assert facts["dropped"] == {"anchor": 1, "drift": 1}
    assert facts["failed_condition"] == {"anchor": 0, "drift": 0, "both": 0}  # by their likenesses, not their reasons
    assert {kind: facts["equal_to"]["all"][kind]["n"] for kind in ("name", "synonym", "new")} == {
        "name": 1, "synonym": 2, "new": 3}  # fmt: skip
    assert facts["equal_to"]["by_name"]["name"] == {"n": 1, "share": 1 / 4}
    assert facts["equal_to"]["by_retrieval"]["name"] == {"n": 0, "share": None}
    assert facts["kept_equal_to"]["new"]["n"] == 1


def test_conditions_are_counted_separately(traits):
    likenesses = [(0.9, 0.1), (0.4, 0.1), (0.6, 0.8), (0.3, 0.7), (0.2, 0.6)]
    aliases = [Judged(Alias("T:2", "x"), a, d, "T:5", a > max(0.5, d), "") for a, d in likenesses]
    facts = alias_facts(traits, aliases, {}, tau=0.5)
    assert facts["failed_condition"] == {"anchor": 3, "drift": 3, "both": 2}
    assert facts["kept"] == 1


def test_no_alias_at_all(traits):
    facts = alias_facts(traits, [], {})
    assert (facts["total"], facts["retained_share"]) == (0, None)


def test_costs_against_one_call_per_mention():
    facts = llm_facts(Usage(10, 1, 2, 1000, 50), mentions=400, distinct=80)
    assert (facts["calls"], facts["failed"], facts["input_tokens"]) == (10, 1, 1000)
    each = facts["one_call_per_mention"]
    assert (each["calls"], each["input_tokens"], each["input_tokens_for_distinct_texts"]) == (400, 40_000, 8_000)
    assert each["how"] == PER_MENTION and "estimated" in PER_MENTION
    assert llm_facts(Usage(), 400, 80)["one_call_per_mention"]["input_tokens"] is None
    assert share(1, 0) is None
