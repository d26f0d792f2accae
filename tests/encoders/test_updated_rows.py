"""Rows of real (tiny) transformers after an update of the ontology, against those of a build from scratch."""

from dataclasses import replace

import numpy as np

from spacy_ontolink.indexes.exact import ExactIndex
from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.space import EntitySpace, Pooling, update
from spacy_ontolink.types import Entity, Synonym

OLD = (
    Entity("T:0", "trait"),
    Entity("T:1", "body fat percentage", (Synonym("bf"), Synonym("fat content", "EXACT")), "Fat.", ("T:0",)),
    Entity("T:2", "milk yield", parents=("T:3", "T:0")),
    Entity("T:3", "yield trait", parents=("T:0",)),
    Entity("T:4", "egg yield", (Synonym("eggs"), Synonym("number of eggs")), parents=("T:3",)),
)
CHANGES = {
    "added": (*OLD, Entity("T:5", "wool length", parents=("T:0",))),
    "redefined": (OLD[0], replace(OLD[1], definition="The share of fat."), *OLD[2:]),
    "renamed": (*OLD[:3], replace(OLD[3], name="amount"), OLD[4]),
    "re-parented": (*OLD[:2], replace(OLD[2], parents=("T:0",)), *OLD[3:]),
    "reversed": tuple(reversed(OLD)),
    "synonyms reversed": (*OLD[:4], replace(OLD[4], synonyms=OLD[4].synonyms[::-1])),
}


def test_sentence_encoder_equals_scratch_up_to_the_last_digits(plain_model):
    from spacy_ontolink.encoders.sentence import make_sentence_encoder

    def encoder():
        return make_sentence_encoder(str(plain_model), device="cpu", batch_size=3)

    old = EntitySpace.build(KnowledgeBase.from_entities(OLD), encoder(), ExactIndex(), Pooling(names=0.5))
    done = update(old, KnowledgeBase.from_entities(CHANGES["added"]), ExactIndex())
    scratch = EntitySpace.build(done.space.kb, encoder(), ExactIndex(), Pooling(names=0.5))
    assert int(done.encoded["SentenceEncoder"].sum()) == 1
    copied = ~done.encoded["SentenceEncoder"][done.space.plain.owner]
    new, full = done.space.plain.vectors.blocks[0], scratch.plain.vectors.blocks[0]
    np.testing.assert_allclose(new.astype(np.float32), full.astype(np.float32), atol=2e-3)
    assert copied.sum() == 9


def test_bi_encoder_which_reads_definitions_and_parents_too(plain_model, tmp_path):
    from spacy_ontolink.encoders.bi_encoder import BiEncoder

    encoder = BiEncoder.untrained(
        str(plain_model), tmp_path / "bi", mention_tokens=32, entity_tokens=32, device="cpu", dtype="float32"
    )
    for change in CHANGES:
        old = EntitySpace.build(KnowledgeBase.from_entities(OLD), encoder, ExactIndex(), Pooling())
        kb = KnowledgeBase.from_entities(CHANGES[change])
        done = update(old, kb, ExactIndex())
        scratch = EntitySpace.build(kb, encoder, ExactIndex(), Pooling())
        new, full = (space.plain.vectors.blocks[0].astype(np.float32) for space in (done.space, scratch))
        np.testing.assert_allclose(new, full, atol=2e-3)
        assert np.array_equal(done.space.plain.name, scratch.plain.name)
