"""Building into a shared LanceDB store, and updating it."""

import multiprocessing

import pytest
import spacy

from spacy_ontolink.cli import BAD_INPUT

pytest.importorskip("lancedb", reason="needs the extra lance")


def ontology(folder, name, terms):
    path = folder / name
    path.write_text("id\tname\tsynonyms\n" + "".join(f"T:{n}\t{text}\tother {text}\n" for n, text in terms), "utf-8")
    return path


def words(n):
    random = [((number * 7919) % 26**3) for number in range(n)]
    return [(number, f"{chr(97 + r % 26)}{chr(97 + r // 26 % 26)}{chr(97 + r // 676)}osis of number {number}")
            for number, r in enumerate(random)]  # fmt: skip


@pytest.fixture
def releases(tmp_path):
    old = words(900)
    new = [(900, "something new"), *((n, "renamed disease" if n == 4 else text) for n, text in old if n != 7)]
    return ontology(tmp_path, "old.tsv", old), ontology(tmp_path, "new.tsv", new)


def space_of(pipeline):
    return spacy.load(pipeline).get_pipe("ontolink_retriever").space


def links(pipeline, texts):
    nlp = spacy.load(pipeline)
    docs = []
    for text in texts:
        doc = nlp.make_doc(text)
        doc.set_ents([spacy.tokens.Span(doc, 0, len(doc), label="X")])
        docs.append(doc)
    return [doc.ents[0].kb_id_ for doc in nlp.pipe(docs)]


def test_a_release_writes_what_changed_and_pipelines_keep_theirs(ontolink, releases, tmp_path):
    old, new = releases
    store = tmp_path / "vectors"
    done = ontolink("build", old, tmp_path / "one", "--store", store)
    assert done.code == 0, done.err
    assert "lance index" in done.out + done.err
    before = space_of(tmp_path / "one").index.describe()
    assert (before["added"], before["left"]) == (1800, 0)
    texts = ["renamed disease", "something new", words(8)[7][1]]
    assert links(tmp_path / "one", texts)[2] == "T:7"
    done = ontolink("update", tmp_path / "one", new, tmp_path / "two", "--keep-idf")
    assert done.code == 0, done.err
    after = space_of(tmp_path / "two").index.describe()
    assert (after["added"], after["deleted"], after["left"]) == (4, 4, 1796)
    assert links(tmp_path / "two", texts)[:2] == ["T:4", "T:900"]
    assert links(tmp_path / "one", texts)[2] == "T:7"
    assert space_of(tmp_path / "one").index.describe() == before


def test_an_update_that_fits_the_encoder_anew_is_refused(ontolink, releases, tmp_path):
    old, new = releases
    assert ontolink("build", old, tmp_path / "one", "--store", f"{tmp_path / 'vectors'}#mine").code == 0
    done = ontolink("update", tmp_path / "one", new, tmp_path / "two")
    assert done.code == BAD_INPUT
    assert "'mine'" in done.err
    assert "--keep-idf" in done.err
    assert not (tmp_path / "two").exists()


def test_a_store_and_an_index(ontolink, releases, tmp_path):
    done = ontolink("build", releases[0], tmp_path / "one", "--store", tmp_path / "vectors", "--index", "exact")
    assert done.code == BAD_INPUT
    assert "--store" in done.err


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="there is no fork here")
def test_worker_processes(ontolink, releases, tmp_path):
    assert ontolink("build", releases[0], tmp_path / "one", "--store", tmp_path / "vectors").code == 0
    nlp = spacy.load(tmp_path / "one")
    texts = [text for _, text in words(40)]
    docs = []
    for text in texts:
        doc = nlp.make_doc(text)
        doc.set_ents([spacy.tokens.Span(doc, 0, len(doc), label="X")])
        docs.append(doc)
    here = [doc.ents[0].kb_id_ for doc in nlp.pipe([doc.copy() for doc in docs])]
    there = [doc.ents[0].kb_id_ for doc in nlp.pipe(docs, n_process=2, batch_size=10)]
    assert here == there == [f"T:{number}" for number in range(40)]
