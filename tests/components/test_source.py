from pathlib import Path

import pytest

from spacy_ontolink.components.source import check_ontology, forget_folders, names_only, variables
from spacy_ontolink.errors import ConfigError


def test_ontology_files_become_absolute(tmp_path, monkeypatch):
    (tmp_path / "toy.obo").touch()
    monkeypatch.chdir(tmp_path)
    assert check_ontology("toy.obo") == check_ontology(["toy.obo"]) == [tmp_path / "toy.obo"]
    assert check_ontology(None) == check_ontology([]) == []
    with pytest.raises(ConfigError, match=r"No such file or folder: other\.obo"):
        check_ontology(["toy.obo", "other.obo"])


def test_absolute_paths_are_cut_to_names(tmp_path):
    block = {"@x": "a/b", "model": str(tmp_path / "MiniLM"), "parts": [{"path": str(tmp_path)}], "n": 1, "none": None}
    assert names_only(block) == {
        "@x": "a/b", "model": "./MiniLM", "parts": [{"path": f"./{Path(tmp_path).name}"}], "n": 1, "none": None
    }  # fmt: skip


def test_variables_lose_their_folders_and_others_keep_them():
    block = {"path": "${paths.ontology}", "parts": [{"model": "${own.models:dense}"}], "n": 1, "gone": "${paths.none}"}
    assert variables(block) == {"paths.ontology", "own.models:dense", "paths.none"}
    config = {
        "paths": {"root": "/data", "ontology": "${paths.root}/hp.obo", "train": "/data/train.spacy", "k": 3},
        "own": {"models": {"dense": "/models/MiniLM"}},
    }
    forget_folders(config, sorted(variables(block)))
    assert config == {
        "paths": {"root": "./data", "ontology": "${paths.root}/hp.obo", "train": "/data/train.spacy", "k": 3},
        "own": {"models": {"dense": "./MiniLM"}},
    }


def test_a_part_may_say_which_settings_are_no_paths_or_mean_nothing_elsewhere():
    server = {"@ontolink_llms": "spacy-ontolink.OpenAI.v1", "model": "/srv/qwen", "extra_body": {"lora": "/srv/lora"}}
    block = {"@ontolink_llms": "spacy-ontolink.CachedLLM.v1", "path": "/data/answers.sqlite", "llm": server}
    expected = {**block, "path": None, "llm": {**server, "extra_body": {"lora": "./lora"}}}
    assert names_only({"llms": [block]}) == {"llms": [expected]}
    assert "path" not in names_only({key: value for key, value in block.items() if key != "path"})
    gone = {"@ontolink_llms": "other.Gone.v1", "model": "/srv/qwen"}
    assert names_only(gone) == {**gone, "model": "./qwen"}
    assert variables({**server, "model": "${vars.model}", "endpoint": "${vars.server}"}) == {"vars.server"}


def test_no_model_is_looked_for_on_a_hub_under_what_is_left_of_a_path():
    from spacy_ontolink.models.folder import find_model

    with pytest.raises(ConfigError, match="No model folder"):
        find_model(names_only("/models/MiniLM"))
