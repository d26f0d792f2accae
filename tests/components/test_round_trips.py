"""The component and its results in other processes, folders and formats."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
import spacy
from spacy.lang.en import English
from spacy.tokens import Doc, DocBin

from spacy_ontolink.components.retriever import OntologyRetriever
from spacy_ontolink.errors import ConfigError, StateError

TEXT = "The milk yield and body fat percentage of BF cows with beta-carotene level , zzzqqq ."
TEXTS = [TEXT, "", "BF", "milk yield (MY) of BF"] * 3
ROOT = Path(__file__).parents[2]


def run_python(code, cwd):
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], cwd=cwd, env=env, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return done.stdout


def stored_paths(folder, place):
    """Return the files that hold the path of a folder."""
    return [path for path in folder.rglob("*") if path.is_file() and str(place).encode() in path.read_bytes()]


def test_saved_pipelines_are_self_contained(make_nlp, tmp_path, obo, results):
    nlp = make_nlp()
    nlp.to_disk(tmp_path / "out")  # never used before
    Path(obo).unlink()
    expected = results(nlp(TEXT))
    assert stored_paths(tmp_path / "out", tmp_path) == []
    assert nlp.config["components"]["ontolink_retriever"]["built_from"] == ["toy.obo"]
    assert results(spacy.load(tmp_path / "out")(TEXT)) == expected
    (tmp_path / "out").rename(tmp_path / "moved")
    (tmp_path / "elsewhere").mkdir()
    code = f"""
import spacy
nlp = spacy.load("../moved")
doc = nlp({TEXT!r})
print([(x.start, x.end, x.label_, x.id_, x.kb_id_, x._.kb_ents, x._.ontolink) for x in doc.ents])
"""
    assert run_python(code, tmp_path / "elsewhere").strip() == str(expected)


def test_loading_again_and_saving_again(make_nlp, tmp_path, results):
    nlp = make_nlp()
    expected = results(nlp(TEXT))
    nlp.to_disk(tmp_path / "first")
    loaded = spacy.load(tmp_path / "first")
    loaded.from_disk(tmp_path / "first")
    loaded.to_disk(tmp_path / "second")
    assert results(spacy.load(tmp_path / "second")(TEXT)) == expected


def test_other_settings_than_it_was_built_with_are_refused(make_nlp, tmp_path):
    make_nlp(pooling=0.25, name_pooling=0.5).to_disk(tmp_path / "out")
    space = spacy.load(tmp_path / "out").get_pipe("ontolink_retriever").space
    assert (space.pooling.hierarchy, space.pooling.names) == (0.25, 0.5)
    with pytest.raises(StateError, match="pooling"):
        spacy.load(tmp_path / "out", config={"components": {"ontolink_retriever": {"pooling": 0.0}}})


def test_bytes(make_nlp, results):
    nlp = make_nlp(spans_key="sc")  # entity_ruler itself loses its patterns in from_bytes
    expected = results(nlp(TEXT), "sc")
    loaded = English.from_config(nlp.config)
    with pytest.raises(ConfigError, match=r"toy\.obo"):
        loaded.get_pipe("ontolink_retriever").kb  # noqa: B018
    assert results(loaded.from_bytes(nlp.to_bytes())(TEXT), "sc") == expected


def test_parts_can_be_excluded(make_nlp, tmp_path):
    component = make_nlp().get_pipe("ontolink_retriever")
    component.to_disk(tmp_path / "part", exclude=["space"])
    assert not (tmp_path / "part" / "space").exists()
    component.from_disk(tmp_path / "part", exclude=["space"])
    component.from_bytes(component.to_bytes(exclude=["space"]), exclude=["space"])


def test_an_unbuildable_component_cannot_be_saved(make_nlp, tmp_path):
    with pytest.raises(ConfigError, match="no ontology"):
        make_nlp(ontology=None).to_disk(tmp_path / "out")


def test_a_missing_space_is_refused(make_nlp, tmp_path):
    with pytest.raises(StateError):
        make_nlp(ontology=None).get_pipe("ontolink_retriever").from_disk(tmp_path)


@pytest.mark.parametrize("built", [True, False])
def test_pickle(make_nlp, built, results):
    nlp = make_nlp()
    expected = results(make_nlp()(TEXT))
    component = nlp.get_pipe("ontolink_retriever")
    if built:
        assert component.space
    copy = pickle.loads(pickle.dumps(component))
    assert isinstance(copy, OntologyRetriever)
    nlp.remove_pipe("ontolink_retriever")
    assert results(copy(nlp(TEXT))) == expected


def test_sourcing_and_renaming(make_nlp):
    nlp = make_nlp()
    target = make_nlp()
    target.remove_pipe("ontolink_retriever")
    target.add_pipe("ontolink_retriever", source=nlp)
    target.rename_pipe("ontolink_retriever", "linker")
    assert target.get_pipe("linker").name == "linker"
    assert target("BF").ents[0].kb_id_ == "T:1"


def test_results_survive_a_docbin(make_nlp, results):
    nlp = make_nlp()
    doc = nlp(TEXT)
    data = DocBin(store_user_data=True, docs=[doc]).to_bytes()
    (loaded,) = DocBin().from_bytes(data).get_docs(spacy.blank("en").vocab)
    assert results(loaded) == results(doc)
    assert results(Doc(spacy.blank("en").vocab).from_bytes(doc.to_bytes())) == results(doc)


def test_two_processes_equal_one_after_use_in_the_parent(make_nlp, results):
    nlp = make_nlp()
    expected = [results(nlp(text)) for text in TEXTS]
    assert [results(doc) for doc in nlp.pipe(TEXTS, n_process=2, batch_size=3)] == expected


def test_two_spawned_processes_equal_one(make_nlp, tmp_path):
    nlp = make_nlp()
    nlp.to_disk(tmp_path / "out")
    code = f"""
import multiprocessing, spacy
if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    nlp = spacy.load("out")
    expected = [doc.to_bytes() for doc in nlp.pipe({TEXTS!r})]
    assert [doc.to_bytes() for doc in nlp.pipe({TEXTS!r}, n_process=2, batch_size=3)] == expected
    print(expected[0].count(b"T:1") > 0)
"""
    (tmp_path / "script.py").write_text(code)
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=100
    )
    assert done.stdout.strip() == "True", done.stderr


@pytest.mark.parametrize("use", ["", '.add_pipe("ontolink_retriever")'])
def test_no_engine_is_imported_before_it_is_used(tmp_path, use):
    # spaCy imports the modules of all factories with the first pipeline, and thinc imports torch if it is there.
    code = f"""
import sys, spacy
before = set(sys.modules)
spacy.blank("en"){use}
heavy = "torch faiss transformers sentence_transformers vllm ray openai pyarrow sklearn lxml typer platformdirs"
print([name for name in heavy.split() if name in set(sys.modules) - before])
"""
    assert run_python(code, tmp_path).strip() == "[]"
