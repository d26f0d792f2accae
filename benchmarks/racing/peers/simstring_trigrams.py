# /// script
# dependencies = ["simstring-rust"]
# ///
"""SimString, the matcher inside QuickUMLS: names whose 3-grams have a cosine of 0.5 or more with the mention's."""

from simstring_rust.database import HashDb
from simstring_rust.extractors import CharacterNgrams
from simstring_rust.measures import Cosine
from simstring_rust.searcher import Searcher

PACKAGES = ("simstring-rust",)
LEAST = 0.5


def build(entities, folder):
    """Keep every name in lower case once."""
    owners = {}
    for entity in entities:
        for name in [entity["name"], *entity["synonyms"]]:
            owners.setdefault(name.lower(), []).append(entity["id"])
    database = HashDb(CharacterNgrams(3, "$"))
    for name in owners:
        database.insert(name)
    searcher = Searcher(database, Cosine())

    def search(texts, k):
        return [
            list(dict.fromkeys(id for name, _ in searcher.ranked_search(text.lower(), LEAST) for id in owners[name]))
            for text in texts
        ]

    return search


METHODS = {"SimString, cosine 0.5": build}
