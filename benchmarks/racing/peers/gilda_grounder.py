# /// script
# dependencies = ["gilda-slim"]
# ///
"""Gilda: exact look-up of names after its own normalisation, ranked by its own score."""

from gilda.grounder import Grounder
from gilda.process import normalize
from gilda.term import Term

PACKAGES = ("gilda-slim",)


def build(entities, folder):
    """Make one term of each name; a name that Gilda normalises to nothing it would refuse."""
    terms = {}
    for entity in entities:
        for text in dict.fromkeys([entity["name"], *entity["synonyms"]]):
            if key := normalize(text).strip():
                status = "name" if text == entity["name"] else "synonym"
                term = Term(key, text, "race", entity["id"], entity["name"], status, "race")
                terms.setdefault(key, []).append(term)
    grounder = Grounder(terms)
    return lambda texts, k: [[match.term.id for match in grounder.ground(text)] for text in texts]


METHODS = {"gilda": build}
