from spacy_ontolink.training.pair_report import llm_facts
from spacy_ontolink.training.pair_table import SKIPPED, percent, skipped, table
from spacy_ontolink.types import Usage

PAIRS = {
    "total": 3,
    "by_source": {"p1": 2, "synonym": 1, "p2": 0},
    "mentions": 3,
    "share_of_mentions": 0.5,
    "entities": 2,
}
REPORT = {
    "ambiguous": "keep",
    "mentions": {"found_by": "ner", "documents": 2, "total": 6, "distinct": 4, "with_gold": 0},
    "pairs": PAIRS,
    "accuracy": None,
    "skipped": {"blank_mentions": 0, "mentions_that_fit_nothing": 3},
}


def test_only_what_is_there_is_shown():
    lines = table(REPORT).splitlines()
    assert [line.split()[0] for line in lines] == ["Mentions", "Pairs", "Skipped"]
    assert "6 (ner) in 2 document(s), 4 distinct" in lines[0] and "gold" not in lines[0]
    assert "3 (p1 2, synonym 1, p2 0) of 3 mention(s), 50.0 %, with 2 entities" in lines[1]
    assert lines[2] == "Skipped   mentions that fit nothing that this setting pairs with: 3"


def test_costs_that_are_unknown_are_no_zero():
    shown = table({**REPORT, "llm": llm_facts(Usage(0, 5), 6, 4)})
    assert "0 answered, 5 failed" in shown and "6 and – (estimated" in shown
    shown = table({**REPORT, "llm": llm_facts(Usage(4, 0, 0, 1000), 6, 4)})
    assert "with one call per mention 6 and about 1,500" in shown


def test_every_reason_has_words():
    assert skipped({"skipped": dict.fromkeys(SKIPPED, 1)}) == [f"{text}: 1" for text in SKIPPED.values()]
    assert (percent(None), percent(0.123)) == ("–", "12.3 %")


def test_tokens_that_the_server_does_not_count_are_unknown():
    facts = llm_facts(Usage(4, 1), 6, 4)
    assert (facts["input_tokens"], facts["output_tokens"], facts["input_tokens_per_call"]) == (None, None, None)
    assert facts["one_call_per_mention"]["input_tokens"] is None
    assert "4 answered, 1 failed, – input tokens; with one call per mention 6 and –" in table({**REPORT, "llm": facts})
    assert llm_facts(Usage(), 6, 4)["input_tokens"] == 0  # nothing was asked
