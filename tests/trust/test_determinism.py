"""The same input gives the same ids and scores in any process and batch, and ties go by the stated rule."""

import json
import random

import numpy as np
import pytest
import spacy
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from signs import KINDS, PARTS, SIGNS, TEXT, answers, make_pipeline, run_python, signs_obo

OTHERS = list(SIGNS.values())
CLOSE = 1e-5


def scores(candidates):
    return [score for _, score in candidates]


def equal(one, other):
    """The same mentions, ids in the same order, and scores that differ by less than 1e-5."""
    assert [row[:4] for row in one] == [row[:4] for row in other]
    for mine, theirs in zip(one, other, strict=True):
        assert [id for id, _ in mine[4]] == [id for id, _ in theirs[4]]
        assert np.allclose(scores(mine[4]), scores(theirs[4]), atol=CLOSE, rtol=0)
    return True


def mentioning(nlp, texts):
    """Documents that are one mention each."""
    docs = []
    for text in texts:
        doc = nlp.make_doc(text)
        doc.ents = [doc.char_span(0, len(text), label="SIGN")]
        docs.append(doc)
    return docs


def test_other_processes_build_and_link_the_same(files, cache):
    """Hashes of texts differ from process to process; nothing may depend on their order."""
    code = """
import hashlib, json, sys
from signs import TEXT, KINDS, answers, make_pipeline
found = {}
for kind in KINDS:
    nlp = make_pipeline(sys.argv[1], kind, ("ontolink_surface_rerank", "ontolink_fuse"))
    space = nlp.get_pipe("ontolink_retriever").space
    nlp.to_disk(sys.argv[2] + kind)
    found[kind] = [space.kb.hash, space.encoder.id, [row[:5] for row in answers(nlp(TEXT))]]
print(json.dumps(found))
"""
    found = []
    for seed in "01":
        folder = cache / seed
        done = run_python(code, files / "signs.obo", f"{folder}-", PYTHONHASHSEED=seed, ONTOLINK_CACHE=str(folder))
        assert done.returncode == 0, done.stderr
        found.append(json.loads(done.stdout))
    assert found[0] == found[1]
    for kind in KINDS:
        first, second = (cache / f"{seed}-{kind}" / "ontolink_retriever" for seed in "01")
        names = [path.relative_to(first) for path in first.rglob("*") if path.is_file()]
        assert names
        assert [name for name in names if (first / name).read_bytes() != (second / name).read_bytes()] == []


mention_texts = st.lists(
    st.one_of(
        st.builds("{} of the {}".format, st.sampled_from([*SIGNS, *OTHERS]), st.sampled_from(PARTS)),
        st.text(st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"]), min_size=1, max_size=12),
    ),
    min_size=1,
    max_size=12,
)


@pytest.mark.parametrize("kind", KINDS)
@settings(
    max_examples=10,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(texts=mention_texts, sizes=st.tuples(st.integers(1, 5), st.integers(6, 20)), order=st.randoms())
def test_batches_and_their_order_change_nothing(saved, loaded, kind, texts, sizes, order):
    nlp = loaded(kind)
    shuffled = list(range(len(texts)))
    order.shuffle(shuffled)
    first, second = (
        list(nlp.pipe(docs, batch_size=size))
        for docs, size in zip(
            (mentioning(nlp, texts), mentioning(nlp, [texts[n] for n in shuffled])), sizes, strict=True
        )
    )
    for place, doc in zip(shuffled, second, strict=True):
        assert equal(answers(first[place]), answers(doc))
        assert equal(answers(doc), answers(nlp(doc)))  # and linking twice is linking once


@pytest.fixture(scope="module")
def loaded(saved):
    made = {}

    def load(kind):
        if kind not in made:
            made[kind] = spacy.load(saved(kind))
            made[kind].remove_pipe("entity_ruler")
        return made[kind]

    return load


def test_an_unrelated_entity_changes_no_link(files, tmp_path):
    """With the lexical encoder, whose weights of n-grams may move a digit; the default one learns from all names."""
    more = tmp_path / "more.obo"
    more.write_text(signs_obo(PARTS) + "\n[Term]\nid: X:1\nname: zzyzx qqq\n")
    lexical = {"encoder": {"@ontolink_encoders": "spacy-ontolink.LexicalEncoder.v1"}}
    before, after = (answers(make_pipeline(path, **lexical)(TEXT)) for path in (files / "signs.obo", more))
    for row, other in zip(before, after, strict=True):
        assert row[:4] == other[:4]
        assert np.allclose(scores(row[4][:1]), scores(other[4][:1]), atol=0.01)


@pytest.mark.parametrize("kind", KINDS)
def test_ties_go_to_the_closer_scope_then_to_the_entity_that_the_ontology_has_first(tmp_path, kind):
    """A name that six entities have in three scopes: closer scopes first, and of equal ones the order of the file."""
    scopes = ["RELATED", "EXACT", "NARROW", "RELATED", "EXACT", "NARROW"]
    random.Random(0).shuffle(order := list(range(6)))
    terms = [f'[Term]\nid: T:{n}\nname: item {n}\nsynonym: "BF" {scopes[n]} []\n' for n in order]
    (tmp_path / "ties.obo").write_text(signs_obo(PARTS) + "\n" + "\n".join(terms))
    nlp = make_pipeline(tmp_path / "ties.obo", kind, name_pooling=0.0, pooling=0.0, k=6)
    (doc,) = nlp.pipe(mentioning(nlp, ["BF"]))
    ranked = [id for id, _ in doc.ents[0]._.kb_ents]
    expected = sorted(order, key=lambda n: (["EXACT", "NARROW", "RELATED"].index(scopes[n]), order.index(n)))
    assert ranked == [f"T:{n}" for n in expected]
    assert scores(doc.ents[0]._.kb_ents) == [1.0] * 6
