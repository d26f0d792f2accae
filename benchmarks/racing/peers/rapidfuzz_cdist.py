# /// script
# dependencies = ["rapidfuzz", "numpy"]
# ///
"""RapidFuzz: every mention is compared with every name."""

import numpy as np
from rapidfuzz import fuzz, process, utils

PACKAGES = ("rapidfuzz",)
DEPTH, BATCH = 8, 64  # names looked at for each entity wanted


def builder(scorer):
    """Return what builds with this scorer; there is only to lower case what is to be compared."""

    def build(entities, folder):
        names = [(name, entity["id"]) for entity in entities for name in [entity["name"], *entity["synonyms"]]]
        owner, texts = [id for _, id in names], [utils.default_process(name) for name, _ in names]

        def search(mentions, k):
            depth, found = min(DEPTH * k, len(texts)), []
            for start in range(0, len(mentions), BATCH):
                batch = [utils.default_process(mention) for mention in mentions[start : start + BATCH]]
                for row in process.cdist(batch, texts, scorer=scorer, dtype=np.float32, workers=1):
                    top = np.argpartition(-row, depth - 1)[:depth]
                    top = top[np.lexsort((top, -row[top]))]
                    found.append(list(dict.fromkeys(owner[place] for place in top))[:k])
            return found

        return search

    return build


METHODS = {"rapidfuzz token_sort": builder(fuzz.token_sort_ratio), "rapidfuzz ratio": builder(fuzz.ratio)}
