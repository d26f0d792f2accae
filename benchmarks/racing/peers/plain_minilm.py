"""Plain MiniLM by sentence-transformers, names alone, and exact search; runs in this project's own environment."""

import os

import numpy as np
from sentence_transformers import SentenceTransformer

PACKAGES = ("sentence-transformers", "torch")
DEPTH, BATCH = 8, 256  # names looked at for each entity wanted


def build(entities, folder):
    """Encode all names."""
    model = SentenceTransformer(os.environ["RACE_MINILM"], device="cpu")
    names = [(name, entity["id"]) for entity in entities for name in [entity["name"], *entity["synonyms"]]]
    owner = [id for _, id in names]
    matrix = model.encode([name for name, _ in names], batch_size=64, normalize_embeddings=True)

    def search(texts, k):
        depth, found = min(DEPTH * k, len(owner)), []
        for start in range(0, len(texts), BATCH):
            scores = model.encode(texts[start : start + BATCH], batch_size=64, normalize_embeddings=True) @ matrix.T
            top = np.argpartition(-scores, depth - 1, axis=1)[:, :depth]
            for row, places in zip(scores, top, strict=True):
                places = places[np.lexsort((places, -row[places]))]
                found.append(list(dict.fromkeys(owner[place] for place in places))[:k])
        return found

    return search


METHODS = {"MiniLM, exact": build}
