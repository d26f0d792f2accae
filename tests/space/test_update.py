from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from spacy_ontolink.encoders.hybrid import HybridEncoder
from spacy_ontolink.encoders.lexical import LexicalEncoder
from spacy_ontolink.indexes.exact import ExactIndex
from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.kb.readers import read_ontology
from spacy_ontolink.space import EntitySpace, Pooling, Query, retrieve, update
from spacy_ontolink.types import Entity, EntityRows, Mention, Synonym
from spacy_ontolink.vectors import Vectors

OLD = (
    Entity("T:0", "trait"),
    Entity("T:1", "body fat percentage", (Synonym("BF"), Synonym("fat content", "EXACT")), "Fat.", ("T:0",)),
    Entity("T:2", "milk yield", (Synonym("amount of milk"),), "", ("T:3",)),
    Entity("T:3", "yield trait", parents=("T:0",)),
    Entity("T:4", "egg yield", parents=("T:3",)),
    Entity("T:5", "wool length", parents=("T:6",)),
    Entity("T:6", "wool trait", parents=("T:0",)),
)
FIRST = Entity("T:00", "entity", alt_ids=("T:9",))
CHANGES = {
    "added": (*OLD, Entity("T:7", "wool colour", (Synonym("colour of wool"),), parents=("T:6",))),
    "added in front": (FIRST, *OLD),
    "retired": OLD[:-2],
    "merged": (*OLD[:4], Entity("T:4", "egg yield", obsolete=True, replaced_by=("T:2",)), *OLD[5:]),
    "renamed": (*OLD[:6], replace(OLD[6], name="fleece trait")),
    "synonym": (*OLD[:6], replace(OLD[6], synonyms=(Synonym("fleece trait"),))),
    "synonym gone": (OLD[0], replace(OLD[1], synonyms=(Synonym("BF"),)), *OLD[2:]),
    "re-parented": (*OLD[:5], replace(OLD[5], parents=("T:0", "T:3")), OLD[6]),
    "redefined": (OLD[0], replace(OLD[1], definition="The share of fat."), *OLD[2:]),
    "reversed": tuple(reversed(OLD)),
    "same": OLD,
}
POOLINGS = [Pooling(), Pooling(names=0.5), Pooling(names=0.5, hierarchy=0.3)]


def build(entities):
    return KnowledgeBase.from_entities(entities, name="toy")


class Hashed:
    """A dense encoder of names, pretrained so to speak: each text has random numbers of its own."""

    uses_context = False
    by_name = True

    def __init__(self):
        self.read = []

    id = "hashed"

    def fit(self, kb):
        pass

    def encode_mentions(self, mentions):
        return Vectors((np.vstack([self._row(mention.text) for mention in mentions]),))

    def encode_entities(self, kb, entities=None):
        names = np.arange(kb.n_names) if entities is None else np.flatnonzero(np.isin(kb.name_owner, entities))
        texts = kb.texts_of(names)
        self.read += texts
        vectors = Vectors((np.vstack([self._row(text) for text in texts]),))
        return EntityRows(vectors, np.asarray(kb.name_owner)[names], names.astype(np.int32))

    def _row(self, text):
        row = np.random.default_rng(list(text.encode())).normal(size=8).astype(np.float32)
        return row / np.linalg.norm(row)

    def to_disk(self, path):
        path.mkdir()

    def from_disk(self, path):
        return self


class Described(Hashed):
    """Reads the name, the definition and the parents of an entity; one row each."""

    by_name = False
    id = "described"

    def encode_entities(self, kb, entities=None):
        numbers = np.arange(len(kb), dtype=np.int32) if entities is None else np.asarray(entities, np.int32)
        ids = kb.ids_of(numbers)
        texts = [f"{kb[id].name}|{kb[id].definition}|{kb.names_of(kb.numbers_of(kb.parents(id)))}" for id in ids]
        self.read += ids
        vectors = Vectors((np.vstack([self._row(text) for text in texts]),))
        return EntityRows(vectors, numbers, np.asarray(kb.primary_names()[numbers], np.int32))


def equal(one, other):
    """Whether rows are equal bit for bit."""
    same = np.array_equal(one.owner, other.owner) and np.array_equal(one.name, other.name)
    for a, b in zip(one.vectors.blocks, other.vectors.blocks, strict=True):
        if sp.issparse(a):
            same &= all(np.array_equal(getattr(a, part), getattr(b, part)) for part in ("data", "indices", "indptr"))
        else:
            same &= a.dtype == b.dtype and np.array_equal(a, b)
    return same


ENCODERS = {
    "lexical": LexicalEncoder,
    "dense": Hashed,
    "described": Described,
    "hybrid": lambda: HybridEncoder(LexicalEncoder(), Hashed(), weight=0.3),
}


@pytest.mark.parametrize("pooling", POOLINGS, ids=str)
@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("change", CHANGES)
def test_equals_a_build_from_scratch(encoder, change, pooling):
    old = EntitySpace.build(build(OLD), ENCODERS[encoder](), ExactIndex(), pooling)
    kb = build(CHANGES[change])
    scratch = EntitySpace.build(kb, ENCODERS[encoder](), ExactIndex(), pooling)
    new = update(old, kb, ExactIndex()).space
    assert new.encoder.id == scratch.encoder.id
    assert equal(new.plain, scratch.plain)
    assert equal(new.rows, scratch.rows)
    queries = [Query(Mention(text)) for text in ("wool", "fat", "milk yield")]
    assert all(map(np.array_equal, retrieve(new, queries, 9), retrieve(scratch, queries, 9)))


@pytest.mark.parametrize("encoder", ["lexical", "hybrid"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_kept_fit_equals_the_old_encoder_on_the_new_names(encoder, change):
    pooling = POOLINGS[2]
    old = EntitySpace.build(build(OLD), ENCODERS[encoder](), ExactIndex(), pooling)
    kb = build(CHANGES[change])
    rows = old.encoder.encode_entities(kb)
    expected = EntitySpace(kb, old.encoder, rows._replace(vectors=rows.vectors.half()), ExactIndex(), pooling).indexed()
    done = update(old, kb, ExactIndex(), refit=False)
    assert equal(done.space.plain, expected.plain)
    assert equal(done.space.rows, expected.rows)
    assert all(np.array_equal(mask, done.diff.reembed()) for mask in done.encoded.values())


@pytest.mark.parametrize(
    ("change", "read"),
    [
        ("added", {"wool colour", "colour of wool"}),
        ("retired", set()),
        ("merged", {"milk yield", "amount of milk", "egg yield"}),
        ("renamed", {"fleece trait"}),
        ("synonym", {"wool trait", "fleece trait"}),
        ("re-parented", set()),
        ("redefined", set()),
        ("reversed", set()),
    ],
)
def test_names_of_unchanged_entities_are_not_read(change, read):
    old = EntitySpace.build(build(OLD), Hashed(), ExactIndex(), Pooling())
    old.encoder.read.clear()
    update(old, build(CHANGES[change]), ExactIndex())
    assert set(old.encoder.read) == read


def test_an_encoder_of_more_than_names_reads_all_that_is_touched():
    old = EntitySpace.build(build(OLD), Described(), ExactIndex(), Pooling())
    old.encoder.read.clear()
    done = update(old, build(CHANGES["redefined"]), ExactIndex())
    assert old.encoder.read == done.space.kb.ids_of(np.flatnonzero(done.diff.touched)) == ["T:0", "T:1", "T:3", "T:6"]


def test_only_the_part_that_was_fitted_anew_reads_all():
    old = EntitySpace.build(build(OLD), ENCODERS["hybrid"](), ExactIndex(), Pooling())
    done = update(old, build(CHANGES["added"]), ExactIndex())
    assert {kind: int(mask.sum()) for kind, mask in done.encoded.items()} == {"LexicalEncoder": 8, "Hashed": 1}
    unfitted = update(old, build(CHANGES["redefined"]), ExactIndex())
    assert not any(mask.any() for mask in unfitted.encoded.values())


@pytest.mark.parametrize("encoder", ENCODERS)
def test_the_old_space_stays_as_it_was(encoder):
    old = EntitySpace.build(build(OLD), ENCODERS[encoder](), ExactIndex(), Pooling(names=0.5))
    id, plain = old.encoder.id, old.encoder.encode_entities(old.kb)
    update(old, build(CHANGES["renamed"]), ExactIndex())
    assert old.encoder.id == id
    assert equal(old.encoder.encode_entities(old.kb), plain)


def test_a_saved_space_can_be_updated_and_saved(tmp_path):
    pooling = Pooling(names=0.5)
    EntitySpace.build(build(OLD), ENCODERS["hybrid"](), ExactIndex(), pooling).to_disk(tmp_path / "old")
    old = EntitySpace.from_disk(tmp_path / "old", ENCODERS["hybrid"](), ExactIndex())
    update(old, build(CHANGES["added in front"]), ExactIndex()).space.to_disk(tmp_path / "new")
    new = EntitySpace.from_disk(tmp_path / "new", ENCODERS["hybrid"](), ExactIndex())
    scratch = EntitySpace.build(build(CHANGES["added in front"]), ENCODERS["hybrid"](), ExactIndex(), pooling)
    assert equal(new.rows, scratch.rows)


@pytest.mark.parametrize("change", CHANGES)
def test_pooled_rows_outside_of_the_narrow_set_are_what_they_were(change):
    old = EntitySpace.build(build(OLD), Hashed(), ExactIndex(), POOLINGS[2])
    done = update(old, build(CHANGES[change]), ExactIndex())
    kept = np.flatnonzero(~done.diff.reembed(hierarchy=True))
    for now, was in zip(kept, done.diff.before[kept], strict=True):
        before, after = (space.rows_of(np.array([n])).vectors.blocks[0] for space, n in ((old, was), (done.space, now)))
        np.testing.assert_allclose(before.astype(np.float32), after.astype(np.float32), atol=1e-3)


@pytest.mark.parametrize(("old", "new"), [("old/cmo_20151203_v2.36.obo", "cmo.obo"), ("old/VT_v13.14.obo", "vt.obo")])
def test_real_releases_equal_a_build_from_scratch(shared_data, old, new):
    before, after = (read_ontology(shared_data / "ontologies" / path) for path in (old, new))
    done = update(EntitySpace.build(before, LexicalEncoder(), ExactIndex(), POOLINGS[2]), after, ExactIndex())
    scratch = EntitySpace.build(after, LexicalEncoder(), ExactIndex(), POOLINGS[2])
    assert equal(done.space.plain, scratch.plain)
    assert equal(done.space.rows, scratch.rows)
    assert done.diff.counts()["added"] > 200
