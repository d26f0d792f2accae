"""Outcomes of mentions made by hand, and their measures as ``ontolink evaluate`` puts them together."""

from spacy_ontolink.evaluation import Outcome, measures_of
from spacy_ontolink.evaluation.outcomes import Entry
from spacy_ontolink.kb.relations import Relation
from spacy_ontolink.metrics import Resampling


def outcome(rank=1, *, gold=("T:2",), leads=None, answer="T:2", number=0, **others):
    """Make the outcome of a mention of "milk yield", by default a right one."""
    leads = gold if leads is None else leads
    live = tuple(Entry(id, f"name of {id}", "a synonym", {"retriever": 0.5, "fused": 1.25}) for id in leads if id)
    spaces = dict.fromkeys(id.split(":")[0] for id in [entry.id for entry in live] or gold)
    linked = answer not in ("", "NIL")
    values = {
        "document": f"d{number}", "start": 4, "end": 14, "text": "milk yield", "left": "the ", "right": " of cows",
        "label": "TRAIT", "namespaces": tuple(spaces), "overlap": "HO",
        "best": Entry(answer if linked else "T:7", "the first", "", {"retriever": 0.75, "fused": 2.0}),
        "probability": None, "fit": "exact",
        "relation": Relation("sibling", 2) if linked and live and answer not in leads else None,
    }  # fmt: skip
    return Outcome(
        number=number, gold=gold, leads=leads, live=live, rank=rank, answer=answer, **values | others
    )  # fmt: skip


def measured(outcomes, **others):
    """Measure outcomes, with what the command adds."""
    measures = measures_of(outcomes, Resampling([one.number for one in outcomes], resamples=100))
    extras = {"documents": len({one.number for one in outcomes}), "mentions_per_second": 10.0, "alpha_curve": None}
    return {"pipeline": "pipe", "data": "data.jsonl", **measures, **extras, **others}
