from pathlib import Path

import pytest

from spacy_ontolink.cli.configs import find_config

CONFIGS = Path(__file__).parents[2] / "configs"


@pytest.mark.parametrize("given", ["light", "light.cfg", "configs/light.cfg"])
def test_the_librarys_own_are_found_from_anywhere(given, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert find_config(Path(given)) == CONFIGS / "light.cfg"
    (tmp_path / given).parent.mkdir(exist_ok=True)
    (tmp_path / given).touch()
    assert find_config(Path(given)) == Path(given)  # what is there goes first


@pytest.mark.parametrize("given", ["other.cfg", "elsewhere/light.cfg", "../light.cfg", "/light.cfg"])
def test_another_path_stays_what_it_is(given, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert find_config(Path(given)) == Path(given)


def test_commands_take_a_name(ontolink, toy, tmp_path, monkeypatch):
    monkeypatch.setenv("ONTOLINK_CACHE", str(tmp_path / "cache"))
    assert ontolink("build", toy, tmp_path / "out", "--config", "light").code == 0
    assert "ontolink_fuse" in (tmp_path / "out" / "config.cfg").read_text("utf-8")
    result = ontolink(
        "train", "retriever", "train_ngrams", "--paths.ontology", tmp_path / "none.obo", "-o", tmp_path / "e"
    )
    assert result.code == 2 and "none.obo" in result.err
