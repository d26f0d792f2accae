from pathlib import Path

import pytest

from spacy_ontolink.cli.configs import find_config

CONFIGS = Path(__file__).parents[2] / "configs"


@pytest.mark.parametrize("given", ["light", "light.cfg", "configs/light.cfg"])
def test_the_librarys_own_are_found_from_anywhere(given, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert find_config(Path(given)) == CONFIGS / "light.cfg"
    (tmp_path / "light").mkdir()  # such as what was built with it
    assert find_config(Path(given)) == CONFIGS / "light.cfg"
    (tmp_path / "light").rmdir()
    (tmp_path / given).parent.mkdir(exist_ok=True)
    (tmp_path / given).touch()
    assert find_config(Path(given)) == Path(given)  # what is there goes first


@pytest.mark.parametrize("given", ["elsewhere/light.cfg", "../light.cfg", "/light.cfg"])
def test_another_path_stays_what_it_is(given, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert find_config(Path(given)) == Path(given)


@pytest.mark.parametrize("given", ["lihgt", "other.cfg"])
def test_of_an_unknown_name_those_that_there_are_are_told(refused, toy, tmp_path, monkeypatch, given):
    monkeypatch.chdir(tmp_path)
    line = refused("build", toy, tmp_path / "out", "--config", given)
    assert f"{given} is no file" in line and "light, pilot" in line
    assert "light, pilot" in refused("train", "retriever", given, "-o", tmp_path / "out")


def test_build_takes_a_name(ontolink, toy, tmp_path, monkeypatch):
    monkeypatch.setenv("ONTOLINK_CACHE", str(tmp_path / "cache"))
    assert ontolink("build", toy, tmp_path / "out", "--config", "light").code == 0
    assert "ontolink_fuse" in (tmp_path / "out" / "config.cfg").read_text("utf-8")


def test_train_without_an_ontology(refused, tmp_path):
    line = refused("train", "retriever", "train_ngrams", "-o", tmp_path / "encoder")
    assert "train_ngrams.cfg names no ontology: give --paths.ontology FILE" in line


def test_train_takes_a_name(ontolink, tmp_path):
    pytest.importorskip("torch")
    missing = ("--paths.ontology", tmp_path / "none.obo")
    result = ontolink("train", "retriever", "train_ngrams", *missing, "-o", tmp_path / "encoder")
    assert result.code == 2 and "none.obo" in result.err
