"""Words that differ, as features by hand, and what an ontology's synonyms teach of them."""

import numpy as np
import pytest

from spacy_ontolink.encoders.lexical import make_lexical_encoder
from spacy_ontolink.errors import StateError
from spacy_ontolink.indexes.exact import ExactIndex
from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.space import CandidateScores, EntitySpace, Query, Wording
from spacy_ontolink.space import differences as module
from spacy_ontolink.space.differences import BUCKETS, PLAIN, WordSets, differences
from spacy_ontolink.types import Entity, Mention, Synonym

ORGANS = [
    f"{a}{b}" for a in ("lu", "ki", "sto", "bra", "hea", "ski") for b in ("ng", "dney", "mach", "in", "rt", "nal")
]


def compare(*pairs):
    sets = WordSets()
    mentions, names = ([sets(pair[side]) for pair in pairs] for side in (0, 1))
    return differences(sets.vocabulary(), mentions, names)


def plain(row):
    return pytest.approx(row.toarray()[0, :PLAIN], abs=1e-3)


def test_what_differs_by_hand():
    same, other, number, form, longer = compare(
        ("Lung cancer", "cancer of lung"),
        ("lung cancer", "lung tumour"),
        ("type 1 defect", "defect type II"),
        ("neoplasms", "neoplasm"),
        ("lung", "hereditary lung cancer"),
    )
    assert plain(same) == [0, 2 / 12, 0, 0, 0, 1, 0, 0]  # "of" is in the name only
    assert plain(other) == [0.6, 5 / 9, 0, 0, 1, 1, 0, 0]  # tumour is folded to tumor
    assert plain(number) == [1 / 11, 1 / 11, 1, 1, 1, 1, 0, 0]  # II is folded to 2
    assert plain(form) == [0, 0, 0, 0, 0, 0, 1 - 2 * 7 / 17, 1]
    assert plain(longer) == [0, 16 / 20, 0, 0, 0, 2, 0, 0]
    hashed = [row.indices[row.indices >= PLAIN] for row in (same, other, number, form, longer)]
    assert [len(found) for found in hashed] == [1, 3, 3, 0, 2]  # a word of either side, and the pair of them
    assert max(map(max, filter(len, hashed))) < BUCKETS


def test_sides_are_told_apart_and_blocks_make_no_difference(monkeypatch):
    pairs = [("lung", "kidney"), ("kidney", "lung"), ("", "lung"), ("lung", "lung"), ("+", "+")] * 3
    table = compare(*pairs)
    features = [set(row.indices[row.indices >= PLAIN].tolist()) for row in table[:2]]
    assert not features[0] & features[1]
    monkeypatch.setattr(module, "_PAIRS", 2)
    assert (compare(*pairs) != table).nnz == 0


@pytest.fixture(scope="module")
def space():
    """Of each organ, two measures; a crypt may be called a gland, but a width is not a depth."""
    entities = [
        Entity(f"T:{number}-{measure}", f"{organ} crypt {measure}", (Synonym(f"{organ} gland {measure}", "EXACT"),))
        for number, organ in enumerate(ORGANS)
        for measure in ("width", "depth")
    ]
    wrong = Entity("T:w", "spleen crypt width", (Synonym("spleen gland width", "EXACT"),))
    kb = KnowledgeBase.from_entities([*entities, wrong, Entity("T:d", "spleen crypt depth")])
    return EntitySpace.build(kb, make_lexical_encoder(), ExactIndex())


@pytest.fixture(scope="module")
def wording(space):
    return Wording.learn(space)


def test_the_ontology_teaches_which_words_stand_for_others(space, wording):
    wrong, right = space.kb.numbers_of(["T:w", "T:d"]).tolist()
    queries, candidates = [Query(Mention("spleen gland depth"))], np.array([[wrong, right, -1]], np.int32)
    by_row, words = CandidateScores(space, queries, candidates), wording.of_queries(space.kb, queries, candidates)
    cosine = by_row.mixed((1, 0, 0))[0]
    assert cosine[0] > cosine[1]  # each has two of the three words
    assert words[0, 1] > words[0, 0] + 1
    share = 11 / 16  # of "spleen gland depth", the first candidate has no "depth"
    assert np.exp(words[0, :2] / share).sum() == pytest.approx(1, abs=1e-5)
    assert words[0, 2] == -np.inf
    mixed = by_row.mixed((1, 0, 0), 0.03 * words)[0]
    assert mixed[1] > mixed[0]


def test_words_count_by_how_much_of_the_mention_the_first_candidate_has_in_its_own(space, wording):
    wrong, right = space.kb.numbers_of(["T:w", "T:d"]).tolist()
    found_by_words, found_otherwise = ([wrong, right], [space.kb.number_of("T:0-width"), right])
    texts = ["spleen gland depth", "spleen girth", "girth", "spleen gland depth", ""]
    candidates = np.array([found_by_words] * 3 + [found_otherwise] * 2, np.int32)
    scores = wording.scores(space.kb, texts, candidates)
    assert scores[0, 0] < scores[0, 1] < 0
    for row, share in ((1, 6 / 11), (3, 5 / 16)):  # "spleen", and "gland"
        assert np.exp(scores[row] / share).sum() == pytest.approx(1, abs=1e-4)
    assert scores[2].tolist() == scores[4].tolist() == [0, 0]  # nothing shared, and no words at all


def test_what_few_names_meet_is_left_to_what_is_known_of_unknown_words():
    entities = [Entity(f"T:{organ}", f"{organ} crypt", (Synonym(f"{organ} gland"),)) for organ in ORGANS]
    kb = KnowledgeBase.from_entities([*entities, Entity("T:1", "crypt span", (Synonym("crypt reach"),))])
    weights = Wording.learn(EntitySpace.build(kb, make_lexical_encoder(), ExactIndex())).weights

    def pair(mention, name):
        both, left, right = compare((mention, name), (mention, ""), ("", name))
        (place,) = set(both.indices[both.indices >= PLAIN]) - set(left.indices) - set(right.indices)
        return weights[place]

    assert pair("gland", "crypt") > 0
    assert pair("reach", "span") == 0


def test_an_exact_name_keeps_its_score(space, wording):
    candidates = space.kb.numbers_of(["T:d", "T:w"])[None]
    for query in (Query(Mention("spleen crypt depth")), Query(Mention("SCD"), Mention("spleen crypt depth"))):
        by_row, words = CandidateScores(space, [query], candidates), wording.of_queries(space.kb, [query], candidates)
        mixed, cosine = by_row.mixed((1, 0, 0), words)[0], by_row.mixed((1, 0, 0))[0]
        assert mixed[0] == cosine[0] == 1
        assert mixed[1] == pytest.approx(cosine[1] + words[0, 1], abs=1e-5)


def test_the_same_is_learned_again_saved_and_opened(space, wording, tmp_path):
    np.testing.assert_array_equal(Wording.learn(space).weights, wording.weights)
    wording.to_disk(tmp_path / "saved")
    opened = Wording.from_disk(tmp_path / "saved")
    assert opened.kb == space.kb.hash
    np.testing.assert_array_equal(opened.weights, wording.weights)
    file = tmp_path / "saved" / "wording.safetensors"
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(StateError, match=r"wording\.safetensors"):
        Wording.from_disk(tmp_path / "saved")


def test_few_names_teach_nothing(tmp_path):
    kb = KnowledgeBase.from_entities([Entity("T:1", "one", (Synonym("first"),)), Entity("T:2", "two")])
    wording = Wording.learn(EntitySpace.build(kb, make_lexical_encoder(), ExactIndex()))
    assert wording.weights is None
    assert wording.scores(kb, ["one"], np.array([[0, 1, -1]], np.int32)).tolist() == [[0, 0, -np.inf]]
    wording.to_disk(tmp_path)
    assert Wording.from_disk(tmp_path).weights is None


def test_candidates_far_behind_are_as_probable_as_the_least(space, wording):
    numbers = np.arange(30, dtype=np.int32)[None]
    scores = wording.scores(space.kb, ["spleen gland depth"], numbers)[0]
    assert (scores[16:] == scores[:16].min()).all()
    assert len(np.unique(scores[:16])) > 2
    assert wording.scores(space.kb, [""], numbers).shape == (1, 30)
