# /// script
# dependencies = ["scikit-learn", "sparse_dot_topn"]
# ///
"""The usual baseline: scikit-learn's TF-IDF of character 3-grams, and sparse_dot_topn's exact product."""

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sparse_dot_topn import sp_matmul_topn

PACKAGES = ("scikit-learn", "sparse_dot_topn")
DEPTH, BATCH = 8, 1024  # names looked at for each entity wanted


def build(entities, folder):
    """Weigh the 3-grams of all names."""
    texts = [(name, entity["id"]) for entity in entities for name in [entity["name"], *entity["synonyms"]]]
    owner = [id for _, id in texts]
    vectorizer = TfidfVectorizer(analyzer="char", ngram_range=(3, 3), dtype=np.float32)
    columns = vectorizer.fit_transform(name for name, _ in texts).T.tocsr()

    def search(texts, k):
        found = []
        for start in range(0, len(texts), BATCH):
            queries = vectorizer.transform(texts[start : start + BATCH])
            top = sp_matmul_topn(queries, columns, top_n=DEPTH * k, sort=True)
            rows = np.split(top.indices, top.indptr[1:-1])
            found += [list(dict.fromkeys(owner[name] for name in row))[:k] for row in rows]
        return found

    return search


METHODS = {"TF-IDF char-3, exact": build}
