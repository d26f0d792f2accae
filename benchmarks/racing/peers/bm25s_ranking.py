# /// script
# dependencies = ["bm25s", "PyStemmer", "numpy"]
# ///
"""bm25s with its default BM25, over character 3-grams or over stemmed words."""

import bm25s
import Stemmer

PACKAGES = ("bm25s",)
DEPTH = 8  # names looked at for each entity wanted


def trigrams(texts):
    """Cut into character 3-grams, with a space at either end."""
    return [[text[at : at + 3] for at in range(len(text) - 2)] for text in (f" {text.lower()} " for text in texts)]


def stems(texts):
    """Cut into stemmed words; short words and stop words stay, which names have reason for."""
    return bm25s.tokenize(
        texts, token_pattern=r"\w+", stopwords=None, stemmer=Stemmer.Stemmer("english"), return_ids=False,
        show_progress=False,
    )  # fmt: skip


def builder(cut):
    """Return what builds over these tokens."""

    def build(entities, folder):
        names = [(name, entity["id"]) for entity in entities for name in [entity["name"], *entity["synonyms"]]]
        owner = [id for _, id in names]
        ranker = bm25s.BM25()
        ranker.index(cut([name for name, _ in names]), show_progress=False)

        def search(texts, k):
            depth = min(DEPTH * k, len(owner))
            places, scores = ranker.retrieve(cut(texts), k=depth, show_progress=False)
            return [
                list(dict.fromkeys(owner[place] for place, score in zip(*row, strict=True) if score > 0))[:k]
                for row in zip(places.tolist(), scores.tolist(), strict=True)
            ]

        return search

    return build


METHODS = {"bm25s char-3": builder(trigrams), "bm25s stems": builder(stems)}
