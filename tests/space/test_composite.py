import numpy as np
import pytest

from spacy_ontolink.encoders.lexical import make_lexical_encoder
from spacy_ontolink.indexes.exact import make_exact_index
from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.space import EntitySpace, Query, level, retrieve, split_composites
from spacy_ontolink.types import Entity, Mention

NAMES = [
    "breast cancer",
    "ovarian cancer",
    "breast pain",
    "complement C6 deficiency",
    "complement C7 deficiency",
    "cleft lip and palate",
    "cleft lip",
    "cleft palate",
    "hereditary breast and ovarian cancer syndrome",
]


@pytest.fixture(scope="module")
def space():
    kb = KnowledgeBase.from_entities([Entity(f"T:{number}", name) for number, name in enumerate(NAMES)])
    return EntitySpace.build(kb, make_lexical_encoder(), make_exact_index())


def split(space, text, k=9, allowed=None):
    queries = [Query(Mention(text))]
    hits = retrieve(space, queries, k, allowed)
    before = hits.entities.copy(), hits.scores.copy()
    return hits, split_composites(space, queries, hits, allowed), before


@pytest.mark.parametrize(
    ("text", "parts", "best"),
    [
        ("breast and ovarian cancer", ["breast cancer", "ovarian cancer"], [0, 1]),
        ("ovarian or breast cancer", ["ovarian cancer", "breast cancer"], [1, 0]),
        ("complement C6 and C7 deficiency", ["complement C6 deficiency", "complement C7 deficiency"], [3, 4]),
    ],
)
def test_the_best_of_each_part_comes_first(space, text, parts, best):
    hits, found, _ = split(space, text)
    assert found[0][: len(best)] == tuple(parts)
    assert hits.entities[0, : len(best)].tolist() == best
    there = hits.entities[0] >= 0
    scores = hits.scores[0][there]
    assert scores[0] == scores[1] and (np.diff(scores) <= 0).all()
    assert len(found[0]) == there.sum() and len(set(hits.entities[0][there].tolist())) == there.sum()


@pytest.mark.parametrize(
    "text", ["cleft lip and palate", "breast cancer", "lip and lip", "zzz and qqq", "hereditary breast cancer"]
)
def test_the_whole_stays_where_it_is_a_name_or_parts_say_no_more(space, text):
    hits, found, (entities, scores) = split(space, text)
    assert found == {}
    assert (hits.entities == entities).all() and (hits.scores == scores).all()


def test_parts_obey_the_filter(space):
    allowed = np.ones(len(NAMES), bool)
    allowed[1] = False
    hits, _, _ = split(space, "breast and ovarian cancer", allowed=allowed)
    assert 1 not in hits.entities[0]


def test_a_pool_of_one_keeps_the_first_part(space):
    hits, found, _ = split(space, "breast and ovarian cancer", k=1)
    assert hits.entities.tolist() == [[0]] and found[0] == ("breast cancer",)


def test_scores_of_parts_are_level():
    joined = level(np.array([[1.0, 0.5, 0.2], [0.1, 0.2, 0.8]], np.float32))
    np.testing.assert_allclose(joined, [0.8, 0.4, 0.8], rtol=1e-6)
    unlike = level(np.array([[0.5, 0.25], [-0.5, -0.1]], np.float32))  # a part that nothing is like says nothing
    np.testing.assert_allclose(unlike, [0.5, 0.25], rtol=1e-6)
